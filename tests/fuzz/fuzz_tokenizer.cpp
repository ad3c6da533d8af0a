// The tokenizer reader on arbitrary JSON, and an accepted tokenizer on a text. The input is a tokenizer.json and, after
// a NUL byte (which JSON cannot contain), the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/text/unicode.h"
#include "tests/fuzz/heap_meter.h"
#include "tests/fuzz/require.h"
#include "vantage/tokenizer.h"

namespace {

void check(const vantage::Tokenizer& tokenizer, const vantage::Tokenizer::Encoding& encoding, std::size_t characters) {
    const std::size_t count = encoding.ids.size();
    require(encoding.tokens.size() == count && encoding.offsets.size() == count && encoding.type_ids.size() == count);
    for (const auto& [begin, end] : encoding.offsets) require(begin <= end && end <= characters);
    // Before decoding, because display() must also be bounded for tokens that decode() rejects.
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 16); ++i) {
        require(vantage::is_utf8(tokenizer.display(encoding.ids[i])));
        require(!tokenizer.has(encoding.ids[i]) || encoding.ids[i] < tokenizer.vocab_size());
        require(vantage::is_utf8(tokenizer.token_text(encoding.ids[i])));
        require(!tokenizer.is_special(encoding.ids[i]) || tokenizer.has(encoding.ids[i]));
        require(tokenizer.id_of(encoding.tokens[i]).value_or(-1) < tokenizer.vocab_size());
    }
    for (const bool skip_special : {false, true}) {
        const std::string text = tokenizer.decode(encoding.ids, skip_special);
        require(vantage::is_utf8(text));
        vantage::StreamDecoder stream(tokenizer, skip_special);
        std::string joined;
        for (const std::int32_t id : encoding.ids) {
            const std::string part = stream.push(id);
            require(vantage::is_utf8(part));
            joined += part;
        }
        require(joined + stream.finish() == text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const HeapMeter meter;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t nul = input.find('\0');
    const std::string_view text = nul == std::string_view::npos ? "Hello  wörld\n" : input.substr(nul + 1);
    try {
        const vantage::Tokenizer tokenizer = vantage::Tokenizer::parse(input.substr(0, nul), "fuzz.json");
        const std::size_t characters = vantage::code_points(vantage::repair_utf8(text)).size();
        check(tokenizer, tokenizer.encode(text, false), characters);
        check(tokenizer, tokenizer.encode(text, true), characters);
        check(tokenizer, tokenizer.encode_pair(text, "b"), std::max<std::size_t>(characters, 1));
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file);
        require_message(error);
    }
    meter.require_at_most(memory_for(size, 40));
    return 0;
}
