#include "viewer/data/hovered_weight.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/base/at.h"

namespace vantage::view {

HoveredWeight::HoveredWeight(gpu::DeviceState& device)
    : result_(gpu::allocate(device, HOVERED_WEIGHT_WORDS * sizeof(std::uint32_t), gpu::MemoryKind::readback,
                            "view.probe")) {}

void HoveredWeight::ask(const HeadId& head, const ViewSources::Layer& layer, std::int64_t query, std::int64_t key,
                        const Extent& extent, std::uint64_t run, ViewWork& work) {
    work.add(Work::hovered_weight, layer.kernel("view_hovered_weight"),
             params::ViewHoveredWeightParams{.source = address_words(layer.address),
                                             .result = address_words(result_.address()),
                                             .head = u32(head.head),
                                             .row = u32(query),
                                             .key = u32(key),
                                             .keys = u32(extent.own_keys)},
             {1, 1, 1}, static_cast<double>(extent.own_keys * layer.sizes.d));
    asked_ = CellReading{.head = head, .query = query, .key = key, .run = run};
}

bool HoveredWeight::collect() {
    if (!asked_) return false;
    std::uint32_t words[HOVERED_WEIGHT_WORDS];
    std::memcpy(words, result_.mapped(), sizeof words);
    const auto number = [&](int i) { return std::bit_cast<float>(words[i]); };
    CellReading reading = *std::exchange(asked_, std::nullopt);
    reading.weight = number(PROBE_WEIGHT), reading.logit = number(PROBE_LOGIT);
    reading.rank = 1 + words[PROBE_LARGER];
    reading.row_sum = number(PROBE_SUM), reading.entropy = number(PROBE_ENTROPY);
    reading.effective = std::exp(reading.entropy);
    for (int i = 0; i < PROBE_TOP_COUNT; ++i)
        if (const std::uint32_t key = words[PROBE_TOP + 2 * i + 1]; key != UINT32_MAX)
            reading.top.push_back({key, number(PROBE_TOP + 2 * i)});
    reading_ = std::move(reading);
    ++readings_;
    return true;
}

}  // namespace vantage::view
