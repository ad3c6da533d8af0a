// Packed documents, beyond what the cases of the ops test: the work that they save.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/conform/case_runner.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/attention_backward.h"
#include "test_device.h"

using namespace vantage;
using namespace vantage::internal;

namespace {

constexpr std::int64_t packed_tokens = 512;  // a document of 128, one of 256 and one of 128
std::int64_t document_of(std::int64_t token) { return token < 128 ? 0 : token < 384 ? 1 : 2; }

/// Of an element of a tensor [packed_tokens, ..].
std::int64_t token_of(const HostTensor& x, std::size_t element) {
    return static_cast<std::int64_t>(element) / (std::ssize(x.data) / packed_tokens);
}

/// Runs the op on three documents. The second one is NaN, except 64 tokens at each end, because a tile may contain the
/// end of a document. A tile that is not skipped spreads the NaN: masked pairs have a weight of 0, and 0 · NaN is NaN.
void check_skips(PreparedCase prepared, const Kernel& kernel) {
    prepared.call.attrs = attrs_for(kernel, prepared.call.attrs);
    if (!eligible(kernel, prepared.call, test_device().caps())) return;
    INFO(prepared.call.op->name << " by " << kernel.name);
    for (HostTensor& x : prepared.inputs)
        for (std::size_t i = 0; is_float(x.type.dtype) && i < x.data.size(); ++i)
            if (token_of(x, i) >= 192 && token_of(x, i) < 320) x.data[i] = std::numeric_limits<double>::quiet_NaN();
    int spread = 0, own = 0;
    for (const HostTensor& x : run_call(test_device(), prepared.call, prepared.inputs, kernel))
        for (std::size_t i = 0; i < x.data.size(); ++i)
            if (std::isnan(x.data[i])) ++(document_of(token_of(x, i)) == 1 ? own : spread);
    CHECK(spread == 0);
    CHECK(own > 0);
}

}  // namespace

TEST_CASE("tiles that packed documents do not share are skipped, forward and backward", "[attention][train]") {
    const Attrs attrs = GENERATE(Attrs{{"packed", true}}, Attrs{{"packed", true}, {"causal", true}});
    const Shape rows{packed_tokens, 2, 32}, keys{packed_tokens, 1, 32};
    std::vector<double> ids;
    for (std::int64_t i = 0; i < packed_tokens; ++i) ids.push_back(static_cast<double>(document_of(i)));
    Case forward{.name = "forward", .attrs = attrs}, backward{.name = "backward", .attrs = attrs};
    forward.inputs = {floats(rows), floats(keys), floats(keys)};
    forward.inputs.resize(11);
    forward.inputs[ops::attention::segments_] = list_of(DType::i32, ids);
    backward.inputs = {floats(rows), floats(rows), floats(keys), floats(keys), floats(rows)};
    backward.inputs.resize(14);
    backward.inputs[ops::attention_backward::lse_] = floats({packed_tokens, 2});
    backward.inputs[ops::attention_backward::segments_] = list_of(DType::i32, ids);
    for (const Kernel& kernel : attention_op.kernels) check_skips(prepare(attention_op, forward, {}), kernel);
    for (const Kernel& kernel : attention_backward_op.kernels)
        check_skips(prepare(attention_backward_op, backward, {}), kernel);
}
