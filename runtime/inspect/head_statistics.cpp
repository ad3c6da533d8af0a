#include "runtime/inspect/head_statistics.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "runtime/base/log.h"
#include "shaders/params/head_statistics.h"
#include "vantage/error.h"

namespace vantage {

namespace {

constexpr int queries_skipped = 3;
constexpr std::size_t links_compared = 4;  // that a head's strongest link is measured against, itself included

/// One head's part of a layer's tables.
struct HeadView {
    std::span<const float> rows, keys;
    int head, heads, tokens;
    double row(int query, int number) const {
        return static_cast<double>(rows[static_cast<std::size_t>((query * heads + head) * ROW_NUMBERS + number)]);
    }
    double key(int at, int number) const {
        return static_cast<double>(keys[static_cast<std::size_t>((number * heads + head) * tokens + at)]);
    }
    Read read(int query, int number) const {
        return {query, static_cast<int>(row(query, number + 1)), static_cast<float>(row(query, number))};
    }
};

void keep_larger(Read& best, const Read& read) {
    if (read.key >= 0 && read.weight > best.weight) best = read;
}

/// By query: an earlier token is the same and further back than 2, so that what came next is not the token before.
std::vector<bool> repeating(const TokenSequence& text) {
    std::unordered_map<std::int32_t, int> first;
    std::vector<bool> repeats;
    for (int i = 0; i < text.size(); ++i)
        repeats.push_back(first.try_emplace(text.ids[static_cast<std::size_t>(i)], i).first->second < i - 2);
    return repeats;
}

void add_row(HeadStatistics& sums, const HeadView& view, int query) {
    const double entropy = std::max(0.0, view.row(query, ROW_ENTROPY));  // not −0, nor −1e-17
    const double visible = view.row(query, ROW_VISIBLE);
    sums.entropy += entropy;
    sums.relative_entropy += visible > 1 ? entropy / std::log(visible) : 0;
    sums.effective += std::exp(entropy);
    sums.largest += view.row(query, ROW_LARGEST);
    for (const auto& [sum, number] : {std::pair{&sums.distance, ROW_DISTANCE},
                                      {&sums.first, ROW_FIRST},
                                      {&sums.previous, ROW_PREVIOUS},
                                      {&sums.self, ROW_SELF},
                                      {&sums.next, ROW_NEXT},
                                      {&sums.near, ROW_NEAR},
                                      {&sums.delimiters, ROW_DELIMITERS},
                                      {&sums.total, ROW_TOTAL}})
        *sum += view.row(query, number);
    keep_larger(sums.strongest, view.read(query, ROW_LARGEST));
}

/// By how much this query reads the key more than the other queries do for which it is far.
double specific(const HeadView& view, const Read& read) {
    const double others = view.key(read.key, KEY_FAR_SEEN) - 1, weight = static_cast<double>(read.weight);
    const double usual = others > 0 ? (view.key(read.key, KEY_FAR_RECEIVED) - weight) / others : 0;
    return std::max(0.0, weight - usual);
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
    std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(compared), links.end(),
                      [](const auto& a, const auto& b) { return a.first > b.first; });
    double sum = 0;
    for (std::size_t i = 0; i < compared; ++i) sum += links[i].first;
    if (sum <= 0) return;
    const double share = links[0].first / sum;
    result.standing_out = links[0].first * share * share;
    result.outstanding = links[0].second;
}

void find_received(HeadStatistics& result, const HeadView& view) {
    double most = 0;
    for (int key = 0; key < result.tokens; ++key) {
        const double seen = view.key(key, KEY_SEEN), mean = seen > 0 ? view.key(key, KEY_RECEIVED) / seen : 0;
        result.received.push_back(mean);
        if (key > 0 && 2 * seen >= result.tokens && mean > most) most = mean, result.most_received = key;
    }
}

HeadStatistics numbers_of(const HeadView& view, const std::vector<bool>& repeats, int first_query) {
    HeadStatistics s;
    s.tokens = view.tokens;
    s.first_query = first_query;
    for (int query = 0; query < view.tokens; ++query) {
        s.previous_score += view.row(query, ROW_PREVIOUS);
        s.duplicate_score += view.row(query, ROW_DUPLICATE);
        s.induction_score += view.row(query, ROW_INDUCTION);
        s.total += view.row(query, ROW_TOTAL);
    }
    const double weight = std::exchange(s.total, 0);
    for (double* score : {&s.previous_score, &s.duplicate_score, &s.induction_score})
        *score = weight > 0 ? *score / weight : 0;
    for (int query = first_query; query < view.tokens; ++query) {
        add_row(s, view, query);
        if (!repeats[static_cast<std::size_t>(query)]) continue;
        ++s.repeats;
        s.duplicate += view.row(query, ROW_REPEATED);
        s.induction += view.row(query, ROW_COPIED);
        keep_larger(s.strongest_induction, view.read(query, ROW_COPY));
    }
    for (double* sum : {&s.entropy, &s.relative_entropy, &s.effective, &s.largest, &s.distance, &s.first, &s.previous,
                        &s.self, &s.next, &s.near, &s.delimiters, &s.total})
        *sum /= std::max(1, s.tokens - s.first_query);
    for (double* sum : {&s.induction, &s.duplicate}) *sum /= std::max(1, s.repeats);
    find_outstanding(s, view);
    find_received(s, view);
    return s;
}

}  // namespace

std::vector<HeadStatistics> head_statistics(std::span<const float> rows, std::span<const float> keys,
                                            const TokenSequence& text, int heads, bool causal) {
    const auto each = static_cast<std::size_t>(text.size()) * static_cast<std::size_t>(heads);
    if (rows.size() != each * ROW_NUMBERS || keys.size() != each * KEY_NUMBERS)
        throw Error(ErrorKind::usage,
                    format("head statistics of %d tokens and %d heads: %zu and %zu numbers do not fit", text.size(),
                           heads, rows.size(), keys.size()));
    const int first_query = causal ? std::clamp(text.size() - 1, 0, queries_skipped) : 0;
    const std::vector<bool> repeats = repeating(text);
    std::vector<HeadStatistics> all;
    for (int head = 0; head < heads; ++head)
        all.push_back(numbers_of({rows, keys, head, heads, text.size()}, repeats, first_query));
    return all;
}

}  // namespace vantage
