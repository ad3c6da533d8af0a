#include "runtime/text/reply/reply_grammar.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/text/grammar/grammar_access.h"
#include "runtime/text/unicode.h"

namespace vantage::text::reply {

using namespace internal;
using namespace grammar;

namespace {

class ReplyMaker {
public:
    ReplyMaker(const ReplyFormat& format, const Tokenizer& tokenizer, const ReplyRules& wanted)
        : format_(format), tokenizer_(tokenizer), wanted_(wanted) {}

    Network network() {
        const Rule root = rules_.declare("reply");
        rules_.define(root, format_.has_channels ? channels() : rules_.sequence({reasoning(), body()}));
        return rules_.build(root);
    }

private:
    Part marked(std::string_view text) {
        std::vector<Part> parts;
        for (const MarkPiece& piece : mark_pieces(text, tokenizer_))
            parts.push_back(piece.token ? rules_.special_token(*piece.token) : rules_.text(piece.text));
        return rules_.sequence(std::move(parts));
    }
    Part any_text() { return rules_.repeat(rules_.one_of({{0, last_code_point}}), 0, {}); }
    Part line_ends() { return rules_.repeat(rules_.text("\n"), 0, 4); }

    // ---- text before a mark ----

    // A text that does not contain `mark`; then the mark and `after`, or, where that is allowed, the end. By the
    // automaton of Knuth, Morris and Pratt 1977: state k is a text that ends with the first k characters of the mark.
    // Where the mark is a special token, the same characters as text are not allowed either: readers could not tell.
    Part text_until(std::string_view mark, Part after, bool may_end) {
        const std::u32string wanted = to_code_points(mark);
        const std::vector<MarkPiece> pieces = mark_pieces(mark, tokenizer_);
        const bool is_token = pieces.size() == 1 && pieces.front().token;
        std::vector<Rule> states;
        for (std::size_t k = 0; k < wanted.size(); ++k) states.push_back(rules_.declare("text"));
        for (std::size_t k = 0; k < wanted.size(); ++k) {
            std::vector<Part> ways;
            const std::u32string seen = wanted.substr(0, k);
            CharRanges taken;
            for (const char32_t next : wanted) {
                const std::size_t to = longest_end(seen + next, wanted);
                const CharRange one{next, next};
                if (to == 0 || std::ranges::count(taken, one) > 0) continue;
                taken.push_back(one);
                const Part then = to < wanted.size() ? rules_.use(states[to]) : is_token ? rules_.never() : after;
                ways.push_back(rules_.sequence({rules_.one_of({one}), then}));
            }
            ways.push_back(rules_.sequence({rules_.one_of(complement(normalised(taken))), rules_.use(states[0])}));
            if (is_token) ways.push_back(rules_.sequence({rules_.special_token(*pieces.front().token), after}));
            if (may_end) ways.push_back(rules_.nothing());
            rules_.define(states[k], rules_.choice(std::move(ways)));
        }
        return rules_.use(states.front());
    }
    static std::u32string to_code_points(std::string_view text) {
        std::u32string codes;
        for (const auto [code, begin, end] : Characters{text}) codes += code;
        return codes;
    }
    // How many of the first characters of `mark` `text` ends with.
    static std::size_t longest_end(const std::u32string& text, const std::u32string& mark) {
        std::size_t length = std::min(text.size(), mark.size());
        while (text.compare(text.size() - length, length, mark, 0, length) != 0) --length;
        return length;
    }

    // ---- replies without channels ----

    Part reasoning() {
        if (!format_.reasons) return rules_.nothing();
        const Part block = text_until(think_end, line_ends(), false);
        if (wanted_.in_reasoning) return block;
        return rules_.optional(rules_.sequence({line_ends(), marked(think_begin), block}));
    }

    Part content() { return wanted_.content ? rules_.embedded(GrammarAccess::network(*wanted_.content)) : any_text(); }

    Part body() {
        if (wanted_.functions.empty()) return content();
        const CallSyntax& syntax = format_.calls.value();
        define_calls();
        if (wanted_.must_call) return rules_.sequence({line_ends(), marked(syntax.mark), rules_.use(calls_)});
        if (wanted_.content)
            return rules_.choice({content(), rules_.sequence({marked(syntax.mark), rules_.use(calls_)})});
        if (!syntax.is_bare()) return text_until(syntax.mark, rules_.use(calls_), true);
        CharRanges begins = complement(normalised({{'{', '{'}, {' ', ' '}, {'\n', '\n'}}));
        return rules_.sequence({line_ends(), rules_.choice({rules_.nothing(), rules_.use(calls_),
                                                            rules_.sequence({rules_.one_of(begins), any_text()})})});
    }

    // Rules, so that a network has each function once. Mistral's mark may have a space behind it.
    void define_calls() {
        const CallSyntax& syntax = format_.calls.value();
        const Rule one = rules_.declare("call"), more = rules_.declare("calls");
        calls_ = rules_.declare("calls");
        std::vector<Part> ways;
        for (const CallableFunction& function : wanted_.functions)
            ways.push_back(rules_.sequence(
                {rules_.text(function.name), marked(syntax.middle), rules_.embedded(function.arguments)}));
        rules_.define(one, rules_.sequence({rules_.choice(std::move(ways)), marked(syntax.close)}));
        std::vector<Part> ends{marked(syntax.last)};
        if (wanted_.may_call_often && syntax.between)
            ends.push_back(
                rules_.sequence({marked(*syntax.between), marked(syntax.open), rules_.use(one), rules_.use(more)}));
        rules_.define(more, rules_.choice(std::move(ends)));
        const std::string opening = syntax.opening();
        rules_.define(calls_, rules_.sequence({syntax.is_bare() ? rules_.nothing() : rules_.optional(rules_.text(" ")),
                                               marked(std::string_view(opening).substr(syntax.mark.size())),
                                               rules_.use(one), rules_.use(more)}));
    }

    // ---- gpt-oss ----
    // Source: https://cookbook.openai.com/articles/openai-harmony

    // Any number of parts for the reader of the reasoning, then the answer or a call.
    Part channels() {
        const Part next = marked("<|end|><|start|>assistant");
        const Rule before = rules_.declare("part"), end = rules_.declare("end");
        const auto part = [&](std::string_view head) {
            return rules_.sequence({marked(head), any_text(), next, rules_.use(end)});
        };
        rules_.define(
            before, rules_.choice({part("<|channel|>analysis<|message|>"), part("<|channel|>commentary<|message|>")}));
        std::vector<Part> ends{rules_.use(before)};
        if (!wanted_.must_call)
            ends.push_back(
                rules_.sequence({marked("<|channel|>final"), wanted_.content ? json_type() : rules_.nothing(),
                                 marked("<|message|>"), content()}));
        for (const CallableFunction& function : wanted_.functions) {
            const std::string name = "functions." + function.name;
            const Part arguments =
                rules_.sequence({json_type(), marked("<|message|>"), rules_.embedded(function.arguments)});
            ends.push_back(rules_.sequence({marked("<|channel|>commentary to=" + name), arguments}));
            ends.push_back(rules_.sequence({marked(" to=" + name + "<|channel|>commentary"), arguments}));
        }
        rules_.define(end, rules_.choice(std::move(ends)));
        return rules_.use(end);
    }
    Part json_type() {
        return rules_.optional(
            rules_.choice({marked(" <|constrain|>json"), marked("<|constrain|>json"), rules_.text(" json")}));
    }

    const ReplyFormat& format_;
    const Tokenizer& tokenizer_;
    const ReplyRules& wanted_;
    RuleBuilder rules_;
    Rule calls_ = 0;  // what stands behind the mark that calls begin with
};

}  // namespace

std::optional<Grammar> reply_grammar(const ReplyFormat& format, const Tokenizer& tokenizer, const ReplyRules& wanted) {
    if (wanted.functions.empty() && !wanted.content) return std::nullopt;
    if (wanted.functions.empty() && !format.reasons && !format.has_channels) return wanted.content;
    return GrammarAccess::grammar(ReplyMaker(format, tokenizer, wanted).network());
}

}  // namespace vantage::text::reply
