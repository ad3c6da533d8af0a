// Statistics of all heads of a growing text. New rows are summed on the device (op head_statistics), a few per head at
// a time; the means are kept here.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/graph/op_def.h"
#include "viewer/data/row_checkpoints.h"
#include "viewer/data/view_data.h"
#include "viewer/data/view_sources.h"
#include "viewer/data/view_work.h"

namespace vantage::view {

/// What a row of statistics is of.
struct RowKind {
    bool counted = true;   ///< it sees enough keys to be meaningful
    bool repeats = false;  ///< an earlier token is the same
    bool apart = false;    ///< the keys are another text
    bool image = false;    ///< token 0 is the class token, which has no place, the others are patches
    bool has_sink = false;
};

/// Running means of rows.
class HeadSums {
public:
    /// The next row, as shaders/params/head_statistics.h lists it.
    void add(std::span<const float> row, const RowKind& kind);
    HeadMeans numbers() const;
    std::span<const OffRow> off_rows() const { return off_rows_; }

private:
    HeadMeans numbers_;
    std::array<double, head_statistic_count> sums_{};
    std::array<std::int64_t, head_statistic_count> counts_{};
    double offset_ = 0;  ///< sum of the rows' mean offsets
    std::vector<OffRow> off_rows_;
};

class HeadBoard {
public:
    HeadBoard(gpu::DeviceState& device, const LiveModel& live, const ViewSources& sources);

    /// Takes the results of a finished batch. Returns whether statistics changed.
    bool collect();
    /// Of another run there are no numbers yet; back in time those that were kept.
    void follow(const Version& version, const ShownRows& shown);
    /// Adds rows to the batch until the statistics are those of the rows shown; the layer with the fewest rows first.
    void advance(const LiveTokens& tokens, const Version& version, const ShownRows& shown, ViewWork& work);
    std::span<const HeadMeans> numbers() const { return numbers_; }
    /// Rows of a head, in order, that do not sum to 1; empty for a learned sink.
    std::span<const OffRow> off_rows(std::size_t head) const;
    std::uint64_t rows_summed() const { return rows_summed_; }
    /// Whether the statistics are of other rows than those shown.
    bool incomplete(const Version& version, const ShownRows& shown) const;

private:
    struct LayerState {
        const ViewSources::Layer* layer;
        std::size_t first_head;  // its number in LiveModel::heads()
        std::int64_t rows = 0;   // summed or pending
        std::vector<HeadSums> sums = {};
        RowCheckpoints<std::vector<HeadSums>> kept = {};
    };
    void show_numbers(const LayerState& layer);
    void begin(std::uint64_t run);
    void write_tokens(const LiveTokens& tokens, const Version& version);
    gpu::Buffer& tokens_of(AttentionKind kind);
    Launch launch_of(const ViewSources::Layer& layer, std::int64_t first_row, std::int64_t rows,
                     std::int64_t keys) const;
    void launch(LayerState& state, std::int64_t rows, std::int64_t keys, ViewWork& work, double products);

    gpu::DeviceState& device_;
    std::vector<LayerState> layers_;
    std::vector<HeadMeans> numbers_;
    std::vector<bool> repeats_;                                  // by token of the model's own text
    std::unordered_map<std::int32_t, std::size_t> first_place_;  // of a token in it
    std::size_t cross_keys_ = 0;                                 // rows of the keys' tokens before those of the queries
    gpu::Buffer result_, tokens_, source_tokens_, cross_tokens_;
    /// Patches in a row of the image that the layer's queries and keys are; 0: they are none.
    std::int64_t columns_of(AttentionKind kind) const { return kind == patches_ ? columns_ : 0; }
    std::int64_t columns_;
    AttentionKind patches_;
    std::uint64_t run_ = 0, rows_summed_ = 0;
    // what is on its way
    LayerState* pending_ = nullptr;
    std::uint64_t pending_run_ = 0;
    std::int64_t pending_first_ = 0, pending_rows_ = 0;
};

}  // namespace vantage::view
