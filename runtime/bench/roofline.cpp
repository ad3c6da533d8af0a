#include "runtime/bench/roofline.h"

#include "runtime/base/format.h"
#include "runtime/picture/shown_text.h"

namespace vantage::internal {

Roofline roofline_of(const Report& report, const Roofs& roofs) {
    Roofline r{.title = "Roofline of " + roofs.device, .caption = {}, .roofs = {}, .points = {}};
    const double cache = roofs.cache_gb_per_s();
    r.roofs.push_back({"main memory", roofs.main_memory_gb_per_s(), true});
    if (cache > 1.1 * roofs.main_memory_gb_per_s()) r.roofs.push_back({"cache", cache, true});
    for (const char* element : {"f16", "bf16", "s8"})
        if (const double rate = roofs.arithmetic_gflops(Arithmetic::matrix, element); rate > 0)
            r.roofs.push_back({std::string("matrices ") + element, rate, false});
    for (const auto& [name, rate] :
         {std::pair{"f32", roofs.f32_gflops}, {"f16", roofs.f16_gflops}, {"int8 dot", roofs.int8_gops}})
        if (rate > 0) r.roofs.push_back({name, rate, false});
    std::size_t without = 0;
    for (const ReportRow& row : report.rows) {
        const double flops = row.number("flops"), bytes = row.number("bytes"), gflops = row.number("gflops");
        if (row.text("kernel").empty() || row.number("time_us") <= 0) continue;
        if (flops <= 0 || bytes <= 0 || gflops <= 0) {
            ++without;
            continue;
        }
        constexpr int longest = 44;
        const bool chosen = row.text("chosen") == "*";
        r.points.push_back({row.text("op"),
                            shortened(row.text("op") + " " + (chosen ? row.text("case") : row.text("kernel")), longest),
                            flops / bytes, gflops, chosen});
    }
    r.caption = roofs.driver + " " + roofs.driver_version + format("; {} kernels", r.points.size());
    if (without > 0) r.caption += format(", without {} that only move data", without);
    return r;
}

}  // namespace vantage::internal
