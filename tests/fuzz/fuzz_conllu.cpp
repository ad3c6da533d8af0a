// The reader of annotated sentences on arbitrary bytes: words and relations must be in the sentence, or it throws
// bad_file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/inspect/dependencies.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        bool related = false;
        for (const vantage::Sentence& sentence :
             vantage::parse_conllu({reinterpret_cast<const char*>(data), size}, "fuzz")) {
            const auto words = static_cast<int>(sentence.words.size());
            std::size_t end = 0;
            for (const auto& [first, last] : sentence.words) {
                require(first >= end && last > first && last <= sentence.text.size());
                end = last;
            }
            for (const vantage::Sentence::Relation& relation : sentence.relations) {
                related = true;
                require(relation.dependent >= 0 && relation.dependent < words && relation.head >= 0 &&
                        relation.head < words && relation.head != relation.dependent && !relation.name.empty());
            }
        }
        require(related);
    } catch (const vantage::Error& error) {
        require(error.kind() == vantage::ErrorKind::bad_file);
        require_message(error);
    }
    return 0;
}
