#include "runtime/inspect/head_statistics.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "runtime/base/log.h"
#include "vantage/error.h"

namespace vantage {

namespace {

constexpr int queries_skipped = 3;
constexpr int links_compared = 4;  // that a head's strongest link is measured against, itself included

double at(std::span<const float> row, int key) { return static_cast<double>(row[static_cast<std::size_t>(key)]); }

double entropy_of(std::span<const float> row) {
    double entropy = 0;
    for (const float p : row)
        if (p > 0) entropy -= static_cast<double>(p) * std::log(static_cast<double>(p));
    return std::max(0.0, entropy);  // not −0, nor −1e-17
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
/// Letters, digits, and everything that is not ASCII: bytes of a character that a token may hold only in part.
bool is_letter(char c) {
    return !is_ascii(c) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool has_letters(const std::string& text) { return std::any_of(text.begin(), text.end(), is_letter); }

}  // namespace

std::vector<bool> words_among(std::span<const std::string> token_texts) {
    std::vector<bool> words;
    bool letters_before = false;
    for (const std::string& text : token_texts) {
        const bool letters = has_letters(text);
        // scripts beyond ASCII may have no spaces between words
        words.push_back(letters && (!letters_before || text.front() == ' ' || !is_ascii(text.front())));
        letters_before = letters;
    }
    return words;
}

HeadReader::HeadReader(const TokenSequence& text) : text_(text), received_(text.ids.size()) {
    std::unordered_map<std::int32_t, int> last;
    for (int i = 0; i < text.size(); ++i) {
        const auto [place, is_new] = last.try_emplace(text.ids[static_cast<std::size_t>(i)], -1);
        same_before_.push_back(place->second);
        place->second = i;
    }
    sums_.tokens = text.size();
    sums_.first_query = std::max(0, std::min(queries_skipped, sums_.tokens - 1));
}

void HeadReader::add(std::span<const float> row) {
    const int query = next_;
    if (query >= sums_.tokens || row.size() <= static_cast<std::size_t>(query))
        throw Error(ErrorKind::usage, format("attention of %d tokens: row %d with %zu weights does not fit",
                                             sums_.tokens, query, row.size()));
    ++next_;
    if (query < sums_.first_query) return;
    row = row.first(static_cast<std::size_t>(query) + 1);  // what is behind the query is masked
    add_means(query, row);
    add_repeats(query, row);
    add_far_reads(query, row);
}

void HeadReader::add_means(int query, std::span<const float> row) {
    const double entropy = entropy_of(row);
    sums_.entropy += entropy;
    sums_.relative_entropy += query > 0 ? entropy / std::log(query + 1.0) : 0;
    const auto largest = std::max_element(row.begin(), row.end());
    sums_.largest += static_cast<double>(*largest);
    if (*largest > sums_.strongest.weight) sums_.strongest = {query, static_cast<int>(largest - row.begin()), *largest};
    sums_.first += at(row, 0);
    sums_.previous += query > 0 ? at(row, query - 1) : 0;
    sums_.self += at(row, query);
}

void HeadReader::add_repeats(int query, std::span<const float> row) {
    bool repeats = false;
    for (int same = same_before_[static_cast<std::size_t>(query)]; same >= 0;
         same = same_before_[static_cast<std::size_t>(same)]) {
        if (same + 2 >= query) continue;
        repeats = true;
        sums_.duplicate += at(row, same);
        sums_.induction += at(row, same + 1);
        const float weight = row[static_cast<std::size_t>(same) + 1];
        if (weight > sums_.strongest_induction.weight) sums_.strongest_induction = {query, same + 1, weight};
    }
    if (repeats) ++sums_.repeats;
}

/// Far keys are neither the first token, nor the one before the query, nor the query itself.
void HeadReader::add_far_reads(int query, std::span<const float> row) {
    FarReads far{.query = query, .best = {}};
    for (int key = 1; key < query - 1; ++key) {
        const float weight = row[static_cast<std::size_t>(key)];
        received_[static_cast<std::size_t>(key)] += static_cast<double>(weight);
        if (!text_.is_word(query) || !text_.is_word(key) || !(weight > far.best.back().weight)) continue;
        far.best.back() = {query, key, weight};
        for (std::size_t i = candidates - 1; i > 0 && far.best[i].weight > far.best[i - 1].weight; --i)
            std::swap(far.best[i], far.best[i - 1]);
    }
    far_.push_back(far);
}

/// By how much this query reads the key more than the other queries do for which it is far.
double HeadReader::specific(const Read& read) const {
    const int others = sums_.tokens - std::max(sums_.first_query, read.key + 2) - 1;
    const double weight = static_cast<double>(read.weight);
    const double usual = others > 0 ? (received_[static_cast<std::size_t>(read.key)] - weight) / others : 0;
    return std::max(0.0, weight - usual);
}

void HeadReader::find_outstanding(HeadStatistics& result) const {
    std::vector<std::pair<double, Read>> links;  // the most specific one of each query
    for (const FarReads& far : far_) {
        std::pair<double, Read> best{0, {}};
        for (const Read& read : far.best)
            if (read.key >= 0 && specific(read) > best.first) best = {specific(read), read};
        links.push_back(best);
    }
    const std::size_t compared = std::min<std::size_t>(links_compared, links.size());
    std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(compared), links.end(),
                      [](const auto& a, const auto& b) { return a.first > b.first; });
    double sum = 0;
    for (std::size_t i = 0; i < compared; ++i) sum += links[i].first;
    if (sum <= 0) return;
    const double share = links[0].first / sum;
    result.standing_out = links[0].first * share * share;
    result.outstanding = links[0].second;
}

HeadStatistics HeadReader::finished() const {
    if (next_ != sums_.tokens)
        throw Error(ErrorKind::usage, format("attention of %d tokens: only %d rows are there", sums_.tokens, next_));
    HeadStatistics s = sums_;
    const double queries = std::max(1, s.tokens - s.first_query), repeats = std::max(1, s.repeats);
    for (double* sum : {&s.entropy, &s.relative_entropy, &s.largest, &s.first, &s.previous, &s.self}) *sum /= queries;
    s.induction /= repeats;
    s.duplicate /= repeats;
    find_outstanding(s);
    return s;
}

HeadStatistics head_statistics(std::span<const float> weights, const TokenSequence& text) {
    const std::size_t tokens = text.ids.size();
    if (weights.size() != tokens * tokens)
        throw Error(ErrorKind::usage, format("attention of %zu tokens: %zu weights are given, wanted %zu", tokens,
                                             weights.size(), tokens * tokens));
    HeadReader reader(text);
    for (std::size_t i = 0; i < tokens; ++i) reader.add(weights.subspan(i * tokens, tokens));
    return reader.finished();
}

}  // namespace vantage
