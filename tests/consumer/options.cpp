// Options by name, each some members only: silent with -Wextra, because every member has a default.
#include <vantage/vantage.h>

using namespace vantage;

CompileOptions compile_options() { return {.profile = true, .submission_seconds = 0.5}; }
MatmulOptions matmul_options() { return {.transpose_b = true, .int8_operands = true}; }
AttentionOptions attention_options() { return {.causal = true, .softcap = 30, .block_size = 0}; }
RopeOptions rope_options() { return {.interleaved = true}; }
RopeScaling rope_scaling() { return {.type = "linear", .factors = {1}}; }
SamplingOptions sampling_options() { return {.top_k = 4}; }
Gating gating() { return {.limit = 7}; }
Sampling sampling() { return {.top_k = 4}; }
SessionOptions session_options() { return {.inspect = true}; }
LoadOptions load_options() { return {.weights = DType::f16}; }
RecordAttention record() { return {.layers = {1, 2}}; }
