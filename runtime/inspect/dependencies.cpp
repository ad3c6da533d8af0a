#include "runtime/inspect/dependencies.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"

namespace vantage::internal {

namespace {

constexpr std::size_t columns_of_line = 10;
enum ConlluColumn : std::size_t {
    id_column = 0,
    form_column = 1,
    head_column = 6,
    relation_column = 7,
    misc_column = 9
};

std::size_t code_points(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> columns;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find('\t', begin), line.size());
        columns.push_back(line.substr(begin, end - begin));
        begin = end + 1;
    }
    return columns;
}

/// A whole number, 0 or more; −1 for another text.
int number_in(std::string_view text) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

class Reader {
public:
    explicit Reader(const std::string& name) : name_(name) {}

    void take_line(std::string_view line) {
        ++line_;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.starts_with('#')) return;
        if (line.empty()) return end_sentence();
        const std::vector<std::string_view> columns = split(line);
        if (columns.size() != columns_of_line)
            fail("has {} columns separated by tabs, but CoNLL-U has {}", columns.size(), columns_of_line);
        if (repair_utf8(line) != line) fail("is not UTF-8");
        if (columns[id_column].find('.') != std::string_view::npos) return;  // an empty node, which is not in the text
        if (columns[form_column].empty()) fail("has no FORM (column 2)");
        if (const std::size_t dash = columns[id_column].find('-'); dash != std::string_view::npos)
            return begin_multiword(columns, dash);
        take_word(columns);
    }

    std::vector<Sentence> finish() {
        end_sentence();
        if (std::ranges::all_of(sentences_, [](const Sentence& s) { return s.relations.empty(); }))
            throw bad_file_error("{}: no relations between words, expected a file in the format CoNLL-U", name_);
        return std::move(sentences_);
    }

private:
    template <class... Arguments>
    [[noreturn]] void fail(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) const {
        throw bad_file_error("{}:{}: the line {}", name_, line_, format(text, arguments...));
    }

    void add_to_text(const std::vector<std::string_view>& columns) {
        if (sentence_.words.empty()) sentence_.line = line_;
        const std::size_t begin = length_;
        sentence_.text += columns[form_column];
        length_ += code_points(columns[form_column]);
        sentence_.words.emplace_back(begin, length_);
        if (columns[misc_column].find("SpaceAfter=No") != std::string_view::npos) return;
        sentence_.text += ' ', ++length_;
    }

    void begin_multiword(const std::vector<std::string_view>& columns, std::size_t dash) {
        const int first = number_in(columns[id_column].substr(0, dash)),
                  last = number_in(columns[id_column].substr(dash + 1));
        if (first != static_cast<int>(word_of_.size()) + 1 || last <= first)
            fail("has the ID {}, expected {}-N with a larger N", in_quotes(std::string(columns[id_column])),
                 word_of_.size() + 1);
        add_to_text(columns);
        multiword_end_ = last;
    }

    void take_word(const std::vector<std::string_view>& columns) {
        const int id = static_cast<int>(word_of_.size()) + 1;
        if (number_in(columns[id_column]) != id)
            fail("has the ID {}, expected {}", in_quotes(std::string(columns[id_column])), id);
        if (id > multiword_end_) add_to_text(columns);
        word_of_.push_back(static_cast<int>(sentence_.words.size()) - 1);
        const int head = number_in(columns[head_column]);
        if (head < 0)
            fail("has the HEAD {} (column 7), expected a number", in_quotes(std::string(columns[head_column])));
        if (columns[relation_column].empty()) fail("has no DEPREL (column 8)");
        found_.push_back({line_, head, std::string(columns[relation_column])});
    }

    void end_sentence() {
        const int count = static_cast<int>(word_of_.size());
        for (int id = 1; id <= count; ++id) {
            const auto& [line, head, name] = at(found_, id - 1);
            if (head > count)
                throw bad_file_error("{}:{}: the line has the HEAD {}, but the sentence has {} words", name_, line,
                                     head, count);
            const int dependent = at(word_of_, id - 1), of = head > 0 ? at(word_of_, head - 1) : dependent;
            if (of != dependent) sentence_.relations.push_back({dependent, of, name});
        }
        if (!sentence_.words.empty() && length_ > sentence_.words.back().second) sentence_.text.pop_back();
        if (!sentence_.words.empty()) sentences_.push_back(std::move(sentence_));
        sentence_ = {}, word_of_.clear(), found_.clear();
        length_ = 0, multiword_end_ = 0;
    }

    std::string name_;
    int line_ = 0;
    std::vector<Sentence> sentences_;
    Sentence sentence_;
    std::size_t length_ = 0;    ///< of its text, in code points
    std::vector<int> word_of_;  ///< by ID − 1
    int multiword_end_ = 0;     ///< the last ID of the multiword token that began last
    struct Found {
        int line, head;
        std::string name;
    };
    std::vector<Found> found_;  ///< by ID − 1
};

}  // namespace

std::vector<Sentence> parse_conllu(std::string_view text, const std::string& name) {
    Reader reader(name);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        reader.take_line(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return reader.finish();
}

std::vector<std::vector<int>> tokens_of_words(const Sentence& sentence,
                                              std::span<const std::pair<std::size_t, std::size_t>> tokens) {
    std::vector<std::vector<int>> words;
    for (const auto& [begin, end] : sentence.words) {
        words.emplace_back();
        for (std::size_t t = 0; t < tokens.size(); ++t)
            if (std::max(tokens[t].first, begin) < std::min(tokens[t].second, end))
                words.back().push_back(static_cast<int>(t));
    }
    return words;
}

std::vector<double> word_attention(std::span<const float> weights, std::size_t tokens,
                                   std::span<const std::vector<int>> words) {
    std::vector<double> attention(words.size() * words.size());
    for (std::size_t from = 0; from < words.size(); ++from)
        for (std::size_t to = 0; to < words.size(); ++to) {
            double sum = 0;
            for (const int query : words[from])
                for (const int key : words[to])
                    sum += static_cast<double>(
                        weights[static_cast<std::size_t>(query) * tokens + static_cast<std::size_t>(key)]);
            if (sum > 0) attention[from * words.size() + to] = sum / static_cast<double>(words[from].size());
        }
    return attention;
}

std::vector<int> predicted_heads(std::span<const double> attention, std::size_t words, bool to_head) {
    std::vector<int> heads;
    for (std::size_t word = 0; word < words; ++word) {
        int best = -1;
        double largest = 0;
        for (std::size_t other = 0; other < words; ++other) {
            const double weight = attention[to_head ? word * words + other : other * words + word];
            if (other != word && weight > largest) largest = weight, best = static_cast<int>(other);
        }
        heads.push_back(best);
    }
    return heads;
}

std::pair<int, int> RelationScore::best_offset() const {
    const auto worse = [](const auto& a, const auto& b) {
        return std::pair(a.second, -std::abs(a.first)) < std::pair(b.second, -std::abs(b.first));
    };
    return offsets.empty() ? std::pair(0, 0) : std::pair<int, int>(*std::ranges::max_element(offsets, worse));
}

void RelationScores::count(const Sentence& sentence, int heads) {
    for (const Sentence::Relation& relation : sentence.relations) {
        const auto note = [&](RelationScore& score) {
            score.to_head.resize(static_cast<std::size_t>(heads));
            score.from_head.resize(static_cast<std::size_t>(heads));
            ++score.count;
            ++score.offsets[relation.head - relation.dependent];
        };
        note(by_name[relation.name]);
        if (relation.name != "punct") note(all);
    }
}

void RelationScores::add(const Sentence& sentence, int head, std::span<const double> attention) {
    const std::vector<int> to_head = predicted_heads(attention, sentence.words.size(), true),
                           from_head = predicted_heads(attention, sentence.words.size(), false);
    for (const Sentence::Relation& relation : sentence.relations) {
        const auto note = [&](RelationScore& score) {
            at(score.to_head, head) += at(to_head, relation.dependent) == relation.head ? 1 : 0;
            at(score.from_head, head) += at(from_head, relation.dependent) == relation.head ? 1 : 0;
        };
        note(by_name[relation.name]);
        if (relation.name != "punct") note(all);
    }
}

}  // namespace vantage::internal
