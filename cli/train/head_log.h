// What the heads of a model attend to while it learns: heads.jsonl, heads.png and heads.svg beside log.jsonl.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/base/internal.h"
#include "runtime/inspect/head_pattern.h"
#include "runtime/models/config.h"
#include "runtime/train/run_files.h"
#include "vantage/model.h"

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
    /// `probe`: the tokens that the heads read.
    HeadLog(const std::string& folder, std::int64_t step, std::vector<std::int32_t> probe);
    ~HeadLog();
    /// The patterns of the heads before the first step, where no earlier run has logged any.
    void begin(const Model& model);
    /// Measures all heads on the probe, and returns those whose pattern is a new one.
    std::vector<HeadChange> add(std::int64_t step, const Model& model);
    /// Draws the shares until now.
    void draw() const;

private:
    std::string folder_;
    std::vector<std::int32_t> probe_;
    internal::LoggedHeads heads_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> patterns_;  ///< the last ones, by layer and head
    std::FILE* file_ = nullptr;
};

/// The tokens that the heads of a model read: those of a text; without one drawn tokens, twice in a row, in which
/// induction heads find each token of the second half in the first (Olsson et al. 2022). At most `context`, what the
/// model allows, and 128. Throws usage for a model that does not read one text, or that has no attention.
std::vector<std::int32_t> probe_tokens(const std::string& text, const internal::ModelConfig& config,
                                       const Tokenizer* tokenizer, std::int64_t context);

}  // namespace vantage::cli
