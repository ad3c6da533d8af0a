// The rows of `vantage heads`: the statistics of each head by name, and what --ablate, --values, --rank, --permute,
// --rollout and --flow add.
#pragma once

#include "cli/heads/head_permutation.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"
#include "runtime/inspect/attention_flow.h"

namespace vantage::cli {

/// Attention weighted by the norm of the values (Kobayashi et al. 2020).
struct ValueReads {
    double first = 0;            ///< share of the first token in Σ p ‖W_O v‖
    Read strongest;              ///< the largest p ‖W_O v‖
    Read strongest_unprojected;  ///< the largest p ‖v‖
};

/// Effective ranks (effective_rank.h).
struct HeadRanks {
    double attention = 0;  ///< of the weights A [queries, keys]
    double output = 0;     ///< of the head's output A V [queries, width of the head]
};

struct HeadRow {
    HeadId place;
    const HeadStatistics* numbers = nullptr;
    HeadPattern pattern;
    double salience = 0;                       ///< see salient_head.h
    std::optional<double> loss_change;         ///< with --ablate
    std::optional<double> gradient = {};       ///< with --gradients
    std::optional<ValueReads> values;          ///< with --values
    std::optional<HeadRanks> ranks = {};       ///< with --rank
    std::optional<Permutation> permuted = {};  ///< with --permute
};

/// The name of a statistic in JSON and CSV, and in tables, documents and --sort.
struct KeyNames {
    std::string data, shown;
};

/// "encoder", "decoder", "cross".
const char* part_name(const Model& model, AttentionKind kind);

/// The heads of one attention kind.
struct HeadsPart {
    HeadSurvey survey;
    std::vector<HeadRow> rows;  ///< sorted
    std::optional<SquareMatrix> rollout = {}, flow = {};
    const char* name() const;
};

/// The results of `heads` for one input.
struct HeadsReport {
    const Model& model;
    std::string precision;
    bool stable = false;  ///< SessionOptions::is_stable
    AttentionVariant variant = {};
    std::vector<HeadsPart> parts;  ///< three for an encoder–decoder, else one
    KeyNames sorted_by;
    std::optional<double> loss = {};       ///< with --ablate and --gradients: before any head is removed
    std::optional<ModelImage> image = {};  ///< the input image of a vision model
    std::vector<std::string> files = {};
    /// As --mask-heads spells it: "1.0", or "d1.0" if there are several parts.
    std::string head_name(const HeadId& place) const;
    /// The five most salient heads of all parts, in descending order, each with its part.
    std::vector<std::pair<const HeadsPart*, SalientHead>> salient_heads() const;
};

/// All heads of one kind, ordered by layer.
HeadsPart heads_part(Session& session, std::size_t tokens, AttentionKind kind);
/// Computes the value norms on the device and sets `values` of each row.
void add_value_reads(HeadsPart& part);
/// Computes singular values on the host and sets `ranks` of each row.
void add_ranks(HeadsPart& part);

/// The statistics of a head with their keys in CSV, JSON and --sort. NaN: not defined.
std::vector<std::pair<const char*, double>> numbers_of(const HeadRow& row);
/// Keys of --sort, as shown: "head" (model order) and those of numbers_of.
std::vector<std::string> sort_keys();
/// Both names of a key, which may be given by either. Only "salience" and "separators" differ in JSON and CSV.
KeyNames names_of_key(const std::string& key);
/// Which statistics are measured that need an option.
struct Measured {
    bool ablate = false, gradients = false, values = false, rank = false, permute = false;
};
/// Throws usage for a statistic that is not computed ("loss_change" without --ablate).
void check_sort_key(const std::string& key, const Measured& measured);
/// Descending; rows without a defined value come last.
void sort_rows(std::vector<HeadRow>& rows, const std::string& key);

}  // namespace vantage::cli
