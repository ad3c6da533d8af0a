// Documents of training data: read from text and .jsonl files, tokenised, one after the other.
//   text            documents are separated by <|endoftext|>, or by blank lines; without one the file is a document
//   .jsonl          a JSON object a line: {"text"}, {"messages": [{"role", "content"}, …]}, {"prompt", "completion"} or
//                   {"instruction", "input", "output"}. Of conversations and prompts only what the model is to say
//                   counts: the replies of the assistant, the completion, the output
//   .bin            token ids of llm.c (256 i32 of header, magic 20240520 with u16 or 20240801 with u32) or of nanoGPT
//                   (u16, no header); a document ends at the tokenizer's end token
//   .safetensors    tokens i32, and optionally mask, 1 where a token counts, and documents i64, where each begins
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/chat_template.h"
#include "vantage/tokenizer.h"

namespace vantage::internal {

struct DocumentOptions {
    const Tokenizer* tokenizer = nullptr;        ///< of files with text
    std::optional<text::ChatFormat> chat = {};   ///< of files with messages
    std::optional<std::int32_t> end_token = {};  ///< ends a document that does not end with it
    std::int64_t vocabulary = 0;                 ///< ids are below it
    bool blank_lines = false;                    ///< separate the documents of texts
    bool strict = false;                         ///< a line that cannot be read is an error
};

struct DocumentCounts {
    std::int64_t documents = 0;
    std::int64_t skipped = 0;        ///< lines that could not be read
    std::string first_skipped = {};  ///< why, of the first
};

/// Ids of a document, or of its next part; `ends`: the document is complete.
using TakeTokens = std::function<void(std::span<const std::int32_t> ids, bool ends)>;

/// Whether the documents of this file are those of a text: it is neither .jsonl nor .bin nor .safetensors.
bool is_text_file(const std::string& path);

/// Calls `take` with the documents of a file, their ids flagged with not_a_target (token_file.h); `progress` with the
/// share of the file that is done. Throws bad_file naming file and line for what cannot be read; of a .jsonl up to
/// ten lines and one in 1000 are skipped unless `strict`. Throws interrupted after Ctrl-C.
DocumentCounts read_documents(const std::string& path, const DocumentOptions& options, const TakeTokens& take,
                              const std::function<void(double)>& progress = {});

/// Calls `take` with the texts of a file's documents, or with parts of them that end with a line. Of messages it is
/// their contents, one by one. As read_documents, but throws bad_file for files with token ids.
DocumentCounts read_texts(const std::string& path, const DocumentOptions& options,
                          const std::function<void(const std::string& text)>& take,
                          const std::function<void(double)>& progress = {});

/// Calls `take` with each line of a .jsonl that is not blank, and with its name "FILE:LINE". Throws interrupted after
/// Ctrl-C.
void read_json_lines(const std::string& path,
                     const std::function<void(const std::string& line, const std::string& name)>& take,
                     const std::function<void(double)>& progress = {});

}  // namespace vantage::internal
