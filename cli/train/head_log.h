// What the heads of a model attend to while it learns: heads.jsonl, heads.png and heads.svg beside log.jsonl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/line_file.h"
#include "runtime/inspect/head_pattern.h"
#include "runtime/train/run_files.h"
#include "vantage/session.h"

namespace vantage::cli {

/// A head that begins to attend to the previous token or to what followed the same token before (HeadPattern).
struct HeadChange {
    std::int64_t layer = 0;
    int head = 0;
    HeadPattern pattern;
};

class HeadLog : NotCopied {
public:
    /// In a folder that is there. Goes on behind `step` steps: what an earlier run wrote of later ones is dropped.
    HeadLog(const std::string& folder, std::int64_t step);
    /// The patterns of the heads before the first step, where no earlier run has logged any.
    void begin(Session& probe);
    /// Measures all heads on what the session has read, and returns those whose pattern is a new one.
    std::vector<HeadChange> add(std::int64_t step, Session& probe);
    /// The last step that was measured; -1: there is none.
    std::int64_t measured() const;
    /// Draws the shares until now.
    void draw() const;

private:
    std::string folder_;
    internal::LoggedHeads heads_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> patterns_;  ///< the last ones, by layer and head
    std::optional<internal::LineFile> lines_;
};

}  // namespace vantage::cli
