// What the viewer's data is compared with: weights that are made in double from the rows that the model left, and cells
// that are made of those.
#pragma once

#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/attention_rules.h"
#include "test_device.h"
#include "tests/host/watchdog.h"
#include "viewer/data/view_data.h"

namespace view_reference {

using namespace vantage;
using namespace vantage::view;

inline std::vector<double> downloaded(const TapSource::Data& data) {
    std::vector<std::byte> bytes(data.type->bytes());
    gpu::download(test_device().state(), data.buffer, 0, bytes);
    return widen(*data.type, bytes).data;
}

/// p_ij in double, by the formula and the rules of the layer.
inline std::vector<double> weights_of(const LiveModel& live, const HeadId& head, std::int64_t n) {
    const TapSource& source = live.source(head.layer, head.kind);
    const std::vector<double> q = downloaded(source.q), k = downloaded(source.k), lse = downloaded(source.lse);
    const AttentionRules rules(source.attrs);
    const std::int64_t heads = source.q.type->shape[1], kv_heads = source.k.type->shape[1], d = source.q.type->shape[2];
    const double scale = source.attrs.number("scale", 1 / std::sqrt(static_cast<double>(d)));
    const std::vector<double> blocks = rules.block > 0 ? downloaded(source.block_mask) : std::vector<double>();
    const auto times = [&](std::int64_t i, std::int64_t j) {  // that key j counts for query i
        return blocks.empty() ? 1 : at(blocks, i / rules.block * source.block_mask.type->shape[-1] + j / rules.block);
    };
    std::vector<double> p(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            if (!rules.sees(i, j) || times(i, j) <= 0) continue;
            double dot = 0;
            for (std::int64_t e = 0; e < d; ++e)
                dot += scale * at(q, (i * heads + head.head) * d + e) *
                       k[static_cast<std::size_t>((j * kv_heads + head.head / (heads / kv_heads)) * d + e)];
            if (rules.softcap > 0) dot = rules.softcap * std::tanh(dot / rules.softcap);
            p[static_cast<std::size_t>(i * n + j)] =
                times(i, j) * std::exp(dot - lse[static_cast<std::size_t>(i * heads + head.head)]);
        }
    return p;
}

/// The mass and the peak of the cell whose first row and key these are, 2^level each way, of a causal layer without
/// rules.
inline std::pair<double, double> cell_of(const LiveModel& live, const HeadId& head, std::int64_t row, std::int64_t key,
                                         int level, std::int64_t n) {
    const TapSource& source = live.source(head.layer, head.kind);
    static std::map<std::pair<const void*, std::int64_t>, std::vector<double>> kept;
    const auto data = [&](const TapSource::Data& from) -> const std::vector<double>& {
        std::vector<double>& all = kept[{&from, n}];
        if (all.empty()) all = downloaded(from);
        return all;
    };
    const std::vector<double>&q = data(source.q), &k = data(source.k), &lse = data(source.lse);
    const std::int64_t heads = source.q.type->shape[1], kv_heads = source.k.type->shape[1], d = source.q.type->shape[2];
    const double scale = source.attrs.number("scale", 1 / std::sqrt(static_cast<double>(d)));
    const std::int64_t size = std::int64_t{1} << level;
    double sum = 0, peak = 0;
    for (std::int64_t i = row; i < std::min(row + size, n); ++i)
        for (std::int64_t j = key; j < std::min(key + size, i + 1); ++j) {
            double dot = 0;
            for (std::int64_t e = 0; e < d; ++e)
                dot += scale * at(q, (i * heads + head.head) * d + e) *
                       k[static_cast<std::size_t>((j * kv_heads + head.head / (heads / kv_heads)) * d + e)];
            const double p = std::exp(dot - lse[static_cast<std::size_t>(i * heads + head.head)]);
            sum += p, peak = std::max(peak, p);
        }
    return {sum / static_cast<double>(std::min(size, n - row)), peak};
}

/// Waits, as a window's loop would, until the model has come to an end.
inline void wait_for_end(const LiveModel& live, std::uint64_t run = 1) {
    test::Watchdog watchdog("the end of the model's run");
    while (true) {
        const Version version = live.version();
        if (version.run == run && (version.activity == Activity::ended || version.activity == Activity::failed)) break;
        watchdog.look(version.number);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    INFO((live.error() ? live.error()->message : std::string()));
    REQUIRE(live.version().activity == Activity::ended);
}

inline Wanted all_of(const HeadId& head, std::int64_t n, double cells) {
    const auto all = static_cast<double>(n);
    return {.head = head, .part = {0, all, 0, all}, .pixels_high = cells, .pixels_wide = cells};
}

/// Largest differences of mass and peak from those of the weights [n, n], a cell of 2^level each way.
inline std::pair<double, double> worst(const MapCells& map, const std::vector<double>& p, std::int64_t n) {
    const std::int64_t size = std::int64_t{1} << map.level;
    double mass_off = 0, peak_off = 0;
    for (std::int64_t r = 0; r < map.rows; ++r)
        for (std::int64_t c = 0; c < map.columns; ++c) {
            double sum = 0, peak = 0;
            const std::int64_t row = map.first_row + r * size, end = std::min(row + size, n);
            for (std::int64_t i = row; i < end; ++i)
                for (std::int64_t j = map.first_column + c * size; j < std::min(map.first_column + (c + 1) * size, n);
                     ++j) {
                    sum += p[static_cast<std::size_t>(i * n + j)];
                    peak = std::max(peak, p[static_cast<std::size_t>(i * n + j)]);
                }
            const auto at = static_cast<std::size_t>(r * map.columns + c);
            mass_off =
                std::max(mass_off, std::abs(static_cast<double>(map.mass[at]) - sum / static_cast<double>(end - row)));
            peak_off = std::max(peak_off, std::abs(static_cast<double>(map.peak[at]) - peak));
        }
    return {mass_off, peak_off};
}

// Sums of f32 products and exp: the weights themselves have an error of some 1e-6.
inline constexpr double tolerance = 1e-5;

}  // namespace view_reference
