// Grammars: the first byte chooses GBNF, a regular expression or a JSON schema; behind it are the grammar, a NUL byte,
// and a text. What the grammar takes token by token must be what it takes byte by byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/grammar/grammar_access.h"
#include "runtime/text/grammar/token_mask.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"
#include "tests/host/small_tokenizer.h"
#include "vantage/grammar.h"

namespace {

using namespace vantage;
using text::grammar::Matcher;

Grammar read_grammar(std::uint8_t kind, std::string_view rules) {
    switch (kind % 3) {
        case 0: return Grammar::gbnf(rules);
        case 1: return Grammar::regex(rules);
        default: return Grammar::json_schema(rules);
    }
}

// Byte-level, so that every text has tokens.
const std::shared_ptr<const text::grammar::VocabularyTree>& vocabulary() {
    static const auto made = [] {
        const Tokenizer tokenizer =
            Tokenizer::load(VANTAGE_ROOT "/tests/data/oracle/tokenizers/gpt2_bytebpe/tokenizer.json");
        return std::make_shared<const text::grammar::VocabularyTree>(tokenizer, tokenizer.vocab_size());
    }();
    return made;
}

// Follows the first tokens that the mask allows, beginning where the text says.
void walk(const Grammar& grammar, std::string_view text) {
    text::grammar::TokenMask mask(grammar, vocabulary());
    std::vector<std::int32_t> tokens;
    std::string made;
    constexpr std::size_t most_tokens = 24;
    for (const char choice : text.substr(0, most_tokens)) {
        const std::vector<bool>& may_follow = mask.allowed();
        const auto from = may_follow.begin() + static_cast<std::uint8_t>(choice) % 100;
        const auto token = std::find(from, may_follow.end(), true);
        if (token == may_follow.end()) break;
        tokens.push_back(static_cast<std::int32_t>(token - may_follow.begin()));
        made += vocabulary()->bytes(tokens.back());
        mask.follow(tokens);
        Matcher matcher(GrammarAccess::network(grammar));
        require(matcher.step(matcher.start(), made) != Matcher::dead);
        require(matcher.may_end(matcher.step(matcher.start(), made)) == mask.may_end());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static_cast<void>(vocabulary());
    const HeapMeter meter;
    if (size == 0) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1),
        rules = input.substr(0, input.find('\0')), text = input.substr(std::min(rules.size() + 1, input.size()));
    allowed({ErrorKind::usage}, [&] {
        const Grammar grammar = read_grammar(data[0], rules);
        static_cast<void>(grammar.accepts(text));
        walk(grammar, text);
    });
    meter.require_at_most(std::size_t{256} << 20);
    return 0;
}
