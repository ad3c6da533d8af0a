#include "runtime/inspect/head_statistics.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "shaders/params/head_statistics.h"

namespace vantage::internal {

namespace {

constexpr int queries_skipped = 3;
constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t links_compared = 4;  // including the strongest one

/// The part of one head in the tables of a layer.
struct HeadView {
    std::span<const float> rows, keys;
    int head, heads, queries, key_count;
    double row(int query, int number) const {
        return static_cast<double>(at(rows, (query * heads + head) * ROW_NUMBERS + number));
    }
    double key(int at, int number) const {
        return static_cast<double>(keys[static_cast<std::size_t>((number * heads + head) * key_count + at)]);
    }
    Read read(int query, int number) const {
        return {query, static_cast<int>(row(query, number + 1)), static_cast<float>(row(query, number))};
    }
};

void keep_larger(Read& best, const Read& read) {
    if (read.key >= 0 && read.weight > best.weight) best = read;
}

/// By query: whether the same token occurs more than 2 positions before, so that what followed it is not the previous
/// token.
std::vector<bool> repeating(const TokenSequence& text) {
    std::unordered_map<std::int32_t, int> first;
    std::vector<bool> repeats;
    for (int i = 0; i < text.size(); ++i)
        repeats.push_back(first.try_emplace(at(text.ids, i), i).first->second < i - 2);
    return repeats;
}

bool has_repetition(const TokenSequence& text) {
    return std::unordered_set<std::int32_t>(text.ids.begin(), text.ids.end()).size() < text.ids.size();
}

void add_row(HeadStatistics& sums, const HeadView& view, int query) {
    const double entropy = std::max(view.row(query, ROW_ENTROPY), 0.0);  // not −0, nor −1e-17; NaN stays
    const double visible = view.row(query, ROW_VISIBLE);
    sums.entropy += entropy;
    sums.relative_entropy += visible > 1 ? entropy / std::log(visible) : 0;
    sums.effective += std::exp(entropy);
    sums.largest += std::isnan(view.row(query, ROW_TOTAL)) ? not_defined : view.row(query, ROW_LARGEST);
    for (const auto& [sum, number] : {std::pair{&sums.first, ROW_FIRST},
                                      {&sums.previous, ROW_PREVIOUS},
                                      {&sums.self, ROW_SELF},
                                      {&sums.next, ROW_NEXT},
                                      {&sums.separators, ROW_DELIMITERS},
                                      {&sums.total, ROW_TOTAL}})
        *sum += view.row(query, number);
    keep_larger(sums.strongest, view.read(query, ROW_LARGEST));
}

/// Distances. In images only those between patches count.
void find_distances(HeadStatistics& result, const HeadView& view, bool image) {
    int counted = 0;
    for (int query = std::max(result.first_query, image ? 1 : 0); query < result.tokens; ++query) {
        const double placed = image ? view.row(query, ROW_TOTAL) - view.row(query, ROW_FIRST) : 1;
        result.near += view.row(query, ROW_NEAR);
        result.distance += view.row(query, ROW_DISTANCE) / std::max(placed, 1e-30);
        ++counted;
    }
    for (double* sum : {&result.near, &result.distance}) *sum /= counted;
}

/// The Gaussian with the mean and the second moment of the distances. Of a row with a sink, what is on keys counts.
void fit_gaussian(HeadStatistics& result, const HeadView& view) {
    double squared = 0;
    for (int query = result.first_query; query < result.tokens; ++query) {
        const double total = std::max(view.row(query, ROW_TOTAL), 1e-30);
        result.offset += view.row(query, ROW_OFFSET) / total;
        squared += view.row(query, ROW_SQUARED) / total;
    }
    const int counted = std::max(1, result.tokens - result.first_query);
    result.offset /= counted;
    const double variance = squared / counted - result.offset * result.offset;
    result.sigma = std::isnan(variance) ? not_defined : std::sqrt(std::max(variance, 0.0));
}

/// Sets to NaN what this attention kind or this text does not define.
void drop_undefined(HeadStatistics& result, const HeadTexts& texts, bool repeats) {
    const auto drop = [](std::initializer_list<double*> numbers) {
        for (double* number : numbers) *number = not_defined;
    };
    if (!texts.in_line()) drop({&result.previous, &result.next, &result.previous_score, &result.offset, &result.sigma});
    if (texts.queries) drop({&result.self, &result.distance, &result.near});
    if (texts.keys.separators.empty()) drop({&result.separators});
    if (!repeats || !texts.in_line()) drop({&result.duplicate_score, &result.induction_score});
}

/// How much more this query attends to the key than the other queries for which the key is distant.
double specific(const HeadView& view, const Read& read) {
    const double others = view.key(read.key, KEY_FAR_SEEN) - 1, weight = static_cast<double>(read.weight);
    const double mean_of_others = others > 0 ? (view.key(read.key, KEY_FAR_RECEIVED) - weight) / others : 0;
    return std::max(0.0, weight - mean_of_others);
}

void find_outstanding(HeadStatistics& result, const HeadView& view) {
    std::vector<std::pair<double, Read>> links;  // the most specific one of each query
    for (int query = result.first_query; query < result.tokens; ++query) {
        std::pair<double, Read> best{0, {}};
        for (int i = 0; i < ROW_LINK_COUNT; ++i) {
            const Read read = view.read(query, ROW_LINKS + 2 * i);
            if (read.key >= 0 && specific(view, read) > best.first) best = {specific(view, read), read};
        }
        links.push_back(best);
    }
    const std::size_t compared = std::min(links_compared, links.size());
    std::ranges::partial_sort(links, links.begin() + static_cast<std::ptrdiff_t>(compared), std::greater(),
                              &std::pair<double, Read>::first);
    double sum = 0;
    for (std::size_t i = 0; i < compared; ++i) sum += links[i].first;
    if (sum <= 0) return;
    const double share = links[0].first / sum;
    result.standing_out = links[0].first * share * share;
    result.outstanding = links[0].second;
}

void find_received(HeadStatistics& result, const HeadView& view) {
    double max_mean = 0;
    for (int key = 0; key < view.key_count; ++key) {
        const double seen = view.key(key, KEY_SEEN), mean = seen > 0 ? view.key(key, KEY_RECEIVED) / seen : 0;
        result.received.push_back(mean);
        if (key > 0 && 2 * seen >= result.tokens && mean > max_mean) max_mean = mean, result.argmax_received = key;
    }
}

HeadStatistics numbers_of(const HeadView& view, const std::vector<bool>& repeats, int first_query, bool image) {
    HeadStatistics s;
    s.tokens = view.queries;
    s.first_query = first_query;
    for (int query = 0; query < s.tokens; ++query) {
        s.previous_score += view.row(query, ROW_PREVIOUS);
        s.duplicate_score += view.row(query, ROW_DUPLICATE);
        s.induction_score += view.row(query, ROW_INDUCTION);
        s.total += view.row(query, ROW_TOTAL);
    }
    const double weight = std::exchange(s.total, 0);
    for (double* score : {&s.previous_score, &s.duplicate_score, &s.induction_score})
        *score = weight > 0 ? *score / weight : 0;
    for (int query = first_query; query < s.tokens; ++query) {
        add_row(s, view, query);
        if (!at(repeats, query)) continue;
        ++s.repeats;
        s.duplicate += view.row(query, ROW_REPEATED);
        s.induction += view.row(query, ROW_COPIED);
        keep_larger(s.strongest_induction, view.read(query, ROW_COPY));
    }
    for (double* sum : {&s.entropy, &s.relative_entropy, &s.effective, &s.largest, &s.first, &s.previous, &s.self,
                        &s.next, &s.separators, &s.total})
        *sum /= std::max(1, s.tokens - s.first_query);
    for (double* sum : {&s.induction, &s.duplicate}) *sum /= std::max(1, s.repeats);
    find_distances(s, view, image);
    fit_gaussian(s, view);
    find_outstanding(s, view);
    find_received(s, view);
    return s;
}

}  // namespace

std::vector<HeadStatistics> head_statistics(std::span<const float> rows, std::span<const float> keys,
                                            const HeadTexts& texts, int heads) {
    const TokenSequence& reading = texts.reading();
    const int queries = reading.size(), key_count = texts.keys.size();
    const auto each = [&](int tokens, std::size_t numbers) {
        return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(heads) * numbers;
    };
    if (rows.size() != each(queries, ROW_NUMBERS) || keys.size() != each(key_count, KEY_NUMBERS))
        throw usage_error("head statistics: {} tokens and {} heads do not match tables of {} and {} values", queries,
                          heads, rows.size(), keys.size());
    const int first_query = texts.causal ? std::clamp(queries - 1, 0, queries_skipped) : 0;
    const std::vector<bool> repeats =
        texts.in_line() ? repeating(reading) : std::vector<bool>(static_cast<std::size_t>(queries));
    const bool any_again = has_repetition(reading);
    std::vector<HeadStatistics> all;
    for (int head = 0; head < heads; ++head) {
        all.push_back(
            numbers_of({rows, keys, head, heads, queries, key_count}, repeats, first_query, texts.columns > 0));
        drop_undefined(all.back(), texts, any_again);
    }
    return all;
}

}  // namespace vantage::internal
