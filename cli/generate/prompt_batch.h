// Several prompts of `vantage run` in a batch.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/generation_options.h"
#include "vantage/batch.h"

namespace vantage::cli {

/// The lines of a text without their ends (\n or \r\n). A final line end does not begin another line.
std::vector<std::string> lines_of(const std::string& text);

class PromptBatch {
public:
    /// At most `together` prompts run at a time. Without --ctx, the context is what the longest prompt needs.
    PromptBatch(const Model& model, std::vector<std::string> prompts, GenerationOptions options, std::int64_t together);
    /// Writes each text below its prompt, or one line of JSON per text. After Ctrl-C or an error it writes the
    /// incomplete texts, but not as JSON.
    SessionStats run(bool json);
    /// How many texts have tokens: the first of each is drawn by the run of its prompt.
    std::int64_t texts() const { return texts_; }
    std::vector<DispatchTiming> take_timings() { return batch_.take_timings(); }

private:
    /// Prompts [first, first + count).
    void run_some(std::size_t first, std::size_t count, bool json);
    void write(std::size_t prompt, const Completion& completion, bool json) const;

    std::vector<std::string> prompts_;
    std::vector<std::vector<std::int32_t>> ids_;
    GenerationOptions options_;
    Batch batch_;
    std::int64_t texts_ = 0;
};

}  // namespace vantage::cli
