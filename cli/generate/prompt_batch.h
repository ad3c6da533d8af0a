// Several prompts of `vantage run`, some at a time in the same runs.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/generation_options.h"
#include "vantage/batch.h"

namespace vantage::cli {

/// The lines of a text, without what ends them; nothing behind the last end of a line.
std::vector<std::string> lines_of(const std::string& text);

class PromptBatch {
public:
    /// At most `together` of the prompts run at a time. Without a context of its own each sequence gets what the longest needs.
    PromptBatch(const Model& model, std::vector<std::string> prompts, GenerationOptions options, std::int64_t together);
    /// Writes each text under its prompt, or a line of JSON for each. After Ctrl-C, or an error, what there is of
    /// them; not as JSON.
    SessionStats run(bool json);
    std::vector<DispatchTiming> take_timings() { return batch_.take_timings(); }

private:
    /// Prompts [first, first + count).
    void run_some(std::size_t first, std::size_t count, bool json);
    void write(std::size_t prompt, const Completion& completion, bool json) const;

    std::vector<std::string> prompts_;
    std::vector<std::vector<std::int32_t>> ids_;
    GenerationOptions options_;
    Batch batch_;
};

}  // namespace vantage::cli
