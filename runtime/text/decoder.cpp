#include "runtime/text/decoder.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/pattern.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/unicode.h"
#include "runtime/text/vocabulary.h"

namespace vantage::text {
namespace {

/// The last stage of every chain: collects the text.
class Collector : public DecoderStage {
public:
    explicit Collector(std::string& out) : out_(out) {}
    void push(std::string_view chunk, bool) override { out_ += chunk; }
    void finish() override {}

private:
    std::string& out_;
};

/// Without a decoder: puts a space between tokens.
class Spaced : public DecoderStage {
public:
    void push(std::string_view token, bool) override {
        if (!first_) next().push(" ", false);
        next().push(token, false);
        first_ = false;
    }

private:
    bool first_ = true;
};

/// Fuses all tokens into one text.
class Fuse : public DecoderStage {
public:
    void push(std::string_view chunk, bool) override { next().push(chunk, false); }
    void finish() override {
        next().push("", true);
        next().finish();
    }
};

/// A stage that takes each token as a whole.
class WholeTokens : public DecoderStage {
public:
    void push(std::string_view chunk, bool ends) final {
        token_ += chunk;
        if (ends) take(std::exchange(token_, {}));
    }

private:
    virtual void take(const std::string& token) = 0;
    std::string token_;
};

/// Maps letters to bytes and fuses them. Only the bytes of an incomplete last character are held back.
class ByteLevel : public WholeTokens {
public:
    void finish() override {
        next().push(bytes_.empty() ? std::string_view() : replacement_character, true);
        next().finish();
    }

private:
    void take(const std::string& token) override {
        bytes_ += bytes_of_letters(token).value_or(token);  // a token with other characters is kept
        std::size_t whole = bytes_.size() - std::min<std::size_t>(bytes_.size(), 3);
        while (whole < bytes_.size() && utf8_step(bytes_, whole).kind != Utf8Step::Kind::cut_off) ++whole;
        const std::string text = repair_utf8(std::string_view(bytes_).substr(0, whole));
        bytes_.erase(0, whole);
        if (!text.empty()) next().push(text, false);
    }
    std::string bytes_;
};

/// Converts a run of byte tokens such as <0xE2> to text, or to one U+FFFD per byte if the run is not valid UTF-8.
class ByteFallback : public WholeTokens {
public:
    void finish() override {
        end_run();
        next().finish();
    }

private:
    void take(const std::string& token) override {
        if (const std::optional<std::uint8_t> byte = byte_of_token(token)) {
            run_ += static_cast<char>(*byte);
        } else {
            end_run();
            next().push(token, true);
        }
    }
    void end_run() {
        if (run_.empty()) return;
        if (is_utf8(run_))
            next().push(run_, true);
        else
            for (std::size_t i = 0; i < run_.size(); ++i) next().push(replacement_character, true);
        run_.clear();
    }
    std::string run_;
};

/// Strips up to a number of characters from both ends of each token. Holds back what may be stripped from the end.
class Strip : public DecoderStage {
public:
    Strip(std::string content, std::size_t start, std::size_t stop)
        : content_(std::move(content)), start_(start), stop_(stop) {}

    void push(std::string_view chunk, bool ends) override {
        while (at_start_ && chunk.starts_with(content_) && taken_ < start_) {
            chunk.remove_prefix(content_.size());
            ++taken_;
        }
        at_start_ = at_start_ && chunk.empty();
        hold(chunk);
        if (!ends) return;
        held_ = taken_ = 0;  // at most `stop_` characters are held
        next().push("", true);
        at_start_ = true;
    }

private:
    /// Passes on everything except up to `stop_` trailing content characters.
    void hold(std::string_view chunk) {
        std::size_t size = chunk.size(), count = 0;
        while (count < stop_ && chunk.substr(0, size).ends_with(content_)) {
            size -= content_.size();
            ++count;
        }
        if (size > 0) {
            release(held_);
            next().push(chunk.substr(0, size), false);
            held_ = count;
        } else {
            held_ += count;
            if (held_ > stop_) release(held_ - stop_);
        }
    }
    void release(std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) text += content_;
        if (!text.empty()) next().push(text, false);
        held_ -= count;
    }

    std::string content_;
    std::size_t start_, stop_;
    std::size_t taken_ = 0, held_ = 0;
    bool at_start_ = true;
};

/// Protects against replacements that each double the text and so exhaust memory.
void check_growth(std::size_t size, std::size_t fed, const std::string& file) {
    constexpr std::size_t factor = 64, allowance = 65536;
    if (size > factor * fed + allowance)
        throw bad_file_error("{}: \"decoder\" makes the text {} times longer than its tokens; is the file damaged?",
                             file, factor);
}

/// Replaces all matches in a text.
std::string with_replaced(std::string_view text, const std::vector<Match>& matches, std::string_view content) {
    std::string out;
    std::size_t at = 0;
    for (const Match& match : matches) {
        out.append(text, at, match.begin - at);
        out += content;
        at = match.end;
    }
    return out.append(text, at, text.size() - at);
}

/// Replaces matches in each token. A one-character pattern is replaced chunk by chunk. Otherwise the token is held back
/// until it is complete, which in fused text means all of it.
class Replace : public DecoderStage {
public:
    struct Rule {
        Finder find;
        std::string content;
        bool by_chunk;
        std::string name;  // of the file
    };
    Replace(const Rule& rule, const DecoderBudget& budget) : rule_(rule), budget_(budget) {}

    void push(std::string_view chunk, bool ends) override {
        if (rule_.by_chunk || (ends && token_.empty())) return next().push(replaced(chunk), ends);
        token_ += chunk;
        if (!ends) return;
        next().push(replaced(token_), true);
        token_.clear();
    }

private:
    std::string replaced(std::string_view text) const {
        const std::vector<Match> matches = rule_.find(text);
        check_growth(text.size() + matches.size() * rule_.content.size(), budget_.fed, rule_.name);
        return with_replaced(text, matches, rule_.content);
    }

    const Rule& rule_;
    const DecoderBudget& budget_;
    std::string token_;
};

/// A token with the prefix continues a word. Any other starts one, with a space before it unless it is the first.
struct WordPieceRule {
    std::string prefix;
    bool cleanup;  ///< removes spaces before punctuation and contractions

    std::string text_of(std::string_view token, bool first) const {
        const bool continues = !first && token.starts_with(prefix);
        if (continues) token.remove_prefix(prefix.size());
        std::string text = (first || continues ? "" : " ") + std::string(token);
        static constexpr std::pair<const char*, const char*> short_forms[] = {
            {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
            {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
        if (cleanup)
            for (const auto& [wanted, content] : short_forms)
                text = with_replaced(text, find_string(text, wanted), content);
        return text;
    }
};

class WordPieceStage : public WholeTokens {
public:
    explicit WordPieceStage(WordPieceRule rule) : rule_(std::move(rule)) {}

private:
    void take(const std::string& token) override {
        next().push(rule_.text_of(token, std::exchange(first_, false)), true);
    }
    WordPieceRule rule_;
    bool first_ = true;
};

/// Replaces the space symbol by a space. In the first token it is dropped, unless encoding adds none.
class MetaspaceStage : public DecoderStage {
public:
    explicit MetaspaceStage(Metaspace options) : options_(std::move(options)) {}
    void push(std::string_view chunk, bool ends) override {
        const bool dropped = first_ && options_.prepend != Metaspace::Prepend::never;
        const std::string text = with_replaced(chunk, find_string(chunk, options_.replacement), dropped ? "" : " ");
        first_ = first_ && !ends;
        next().push(text, ends);
    }

private:
    Metaspace options_;
    bool first_ = true;
};

// ---- the chain ------------------------------------------------------------------------------------------------------

/// A stage without settings.
template <class Stage>
Decoder::Make plain() {
    return [](const DecoderBudget&) { return std::make_unique<Stage>(); };
}

std::optional<std::string> bytes_of_fallback(const std::string& token, std::size_t) {
    const std::optional<std::uint8_t> byte = byte_of_token(token);
    return byte ? std::optional(std::string(1, static_cast<char>(*byte))) : std::nullopt;
}

Decoder::Make make_strip_decoder(const JsonFields& fields) {
    const std::string content = one_character(fields, "content");
    const auto start = static_cast<std::size_t>(fields.optional_integer("start", 0).value_or(0));
    const auto stop = static_cast<std::size_t>(fields.optional_integer("stop", 0).value_or(0));
    return [=](const DecoderBudget&) { return std::make_unique<Strip>(content, start, stop); };
}

Decoder::Make make_replace_decoder(const JsonFields& fields, const std::optional<std::string>& plain_text) {
    const bool one = plain_text && !plain_text->empty() && character_at(*plain_text, 0).bytes == plain_text->size();
    const auto rule = std::make_shared<const Replace::Rule>(
        Replace::Rule{make_finder(fields), fields.text("content"), one, fields.name()});
    return [rule](const DecoderBudget& budget) { return std::make_unique<Replace>(*rule, budget); };
}

}  // namespace

Decoder::Decoder() { stages_.push_back(plain<Spaced>()); }

Decoder::Decoder(const JsonFields& fields, const std::string& word_end) {
    if (!word_end.empty() && fields.optional_text("type") == "ByteLevel") {
        std::string space;
        append_utf8(space, letter_of(' '));
        const Json replace{{"pattern", {{"String", word_end}}}, {"content", space}};
        stages_.push_back(make_replace_decoder({replace, fields.name()}, word_end));
        add_rule(word_end, space, fields.name());
    }
    add(fields);
}

void Decoder::add(const JsonFields& fields) {
    const std::string kind = fields.one_of(
        "type", {"Sequence", "ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace", "Metaspace", "WordPiece"});
    if (kind == "Sequence") {
        for (std::size_t i = 0; i < fields.list("decoders").size(); ++i) add(fields.element("decoders", i));
    } else if (kind == "ByteLevel") {
        stages_.push_back(plain<ByteLevel>());
        rules_.push_back({[](const std::string& token, std::size_t) { return bytes_of_letters(token); }, true});
    } else if (kind == "ByteFallback") {
        stages_.push_back(plain<ByteFallback>());
        rules_.push_back({bytes_of_fallback, true});
    } else if (kind == "Fuse") {
        stages_.push_back(plain<Fuse>());
    } else if (kind == "Strip") {
        stages_.push_back(make_strip_decoder(fields));
    } else if (kind == "Replace") {
        const std::optional<std::string> plain_text = fields.object("pattern").optional_text("String");
        stages_.push_back(make_replace_decoder(fields, plain_text));
        if (plain_text) add_rule(*plain_text, fields.text("content"), fields.name());
    } else if (kind == "WordPiece") {
        const WordPieceRule rule{fields.text("prefix"), fields.optional_flag("cleanup").value_or(true)};
        stages_.emplace_back([rule](const DecoderBudget&) { return std::make_unique<WordPieceStage>(rule); });
        rules_.push_back({[rule](const std::string& token, std::size_t) { return rule.text_of(token, false); }, false});
    } else {
        const Metaspace options = read_metaspace(fields);
        stages_.emplace_back([options](const DecoderBudget&) { return std::make_unique<MetaspaceStage>(options); });
        add_rule(options.replacement, " ", fields.name());
    }
}

void Decoder::add_rule(const std::string& wanted, const std::string& content, const std::string& file) {
    const auto apply = [=](const std::string& token, std::size_t fed) {
        const std::vector<Match> matches = find_string(token, wanted);
        check_growth(token.size() + matches.size() * content.size(), fed, file);
        return std::optional(with_replaced(token, matches, content));
    };
    rules_.push_back({apply, false});
}

std::string Decoder::token_bytes(std::string_view token) const {
    std::string text(token);
    for (const TokenRule& rule : rules_) {
        std::optional<std::string> changed = rule.apply(text, token.size());
        if (!changed) continue;
        text = std::move(*changed);
        if (rule.is_final) break;
    }
    return text;
}

DecoderStream::DecoderStream(const Decoder& decoder) {
    for (const Decoder::Make& make : decoder.stages_) stages_.push_back(make(budget_));
    stages_.push_back(std::make_unique<Collector>(out_));
    for (std::size_t i = 0; i + 1 < stages_.size(); ++i) stages_[i]->connect(stages_[i + 1].get());
}

void DecoderStream::push(std::string_view token) {
    budget_.fed += token.size();
    stages_.front()->push(token, true);
}

void DecoderStream::finish() { stages_.front()->finish(); }

std::string DecoderStream::take() { return std::exchange(out_, {}); }

}  // namespace vantage::text
