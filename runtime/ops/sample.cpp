// The next token of each sequence, drawn on the device by the parameters in its step.
//   bias -> penalty -> temperature -> top-k -> softmax -> top-p -> min-p -> draw;  tokens[end] = token, end += 1
// Random numbers are counted by seed and place (Salmon et al. 2011), so a run repeats exactly.
#include "runtime/ops/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/sampling.h"
#include "runtime/ops/step.h"
#include "shaders/params/sample.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::sample {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &logits = call.in(logits_), &tokens = call.in(tokens_);
    require_step(call, step_);
    const std::int64_t sequences = sequences_of(call, step_);
    call.require(
        is_float(logits.dtype) && logits.shape.rank() == 2 && logits.shape[0] == sequences && logits.shape[1] > 0,
        operand_is(call, logits_) + format(", but must be floats [{}, vocabulary]", sequences));
    call.require(tokens.dtype == DType::i32 && is_row_of_each(call, tokens_, step_),
                 operand_is(call, tokens_) + ", but must be i32 [context], of each sequence");
    if (call.has(seen_))
        call.require(call.in(seen_).dtype == DType::u32 && is_row_of_each(call, seen_, step_) &&
                         call.in(seen_).shape[-1] * 32 >= logits.shape[1],
                     operand_is(call, seen_) + ", but must be u32 with a bit for each column of logits " +
                         logits.text() + ", of each sequence");
    if (call.has(bias_))
        call.require(call.in(bias_).dtype == DType::f32 && is_row_of_each(call, bias_, step_) &&
                         call.in(bias_).shape[-1] == logits.shape[1],
                     operand_is(call, bias_) + ", but must be f32 with a number for each column of logits " +
                         logits.text() + ", of each sequence");
    return {tokens, call.in(step_)};
}

/// Logits from which nothing is drawn: one is NaN or +inf, or all are -inf.
bool are_no_answer(std::span<const double> logits) {
    const auto wrong = [](double x) { return std::isnan(x) || x == std::numeric_limits<double>::infinity(); };
    return std::ranges::any_of(logits, wrong) ||
           std::ranges::none_of(logits, [](double x) { return std::isfinite(x); });
}

// The token of sequence b.
std::size_t draw(const OpCall& call, std::span<const HostTensor> in, std::int64_t b) {
    const std::int64_t vocab = call.in(logits_).shape[1], words = call.has(seen_) ? call.in(seen_).shape[-1] : 0;
    const double* logits = in[logits_].data.data() + b * vocab;
    std::vector<double> x(logits, logits + vocab);
    const HostTensor& step = in[step_];
    if (call.has(bias_) && word(step, STEP_BIASED, b) != 0)
        for (std::int64_t i = 0; i < vocab; ++i) {
            const double added = in[bias_][sequence_of(step, b) * vocab + i];
            at(x, i) = static_cast<double>(static_cast<float>(at(x, i)) + static_cast<float>(added));  // as the kernel
        }
    const double penalty = number(step, STEP_PENALTY, b);
    for (std::size_t i = 0; i < x.size() && call.has(seen_); ++i) {
        const auto bits =
            static_cast<std::uint32_t>(in[seen_][sequence_of(step, b) * words + static_cast<std::int64_t>(i / 32)]);
        if ((bits >> (i % 32) & 1u) != 0) x[i] = x[i] > 0 ? x[i] / penalty : x[i] * penalty;
    }
    const SamplingRule rule{.temperature = number(step, STEP_TEMPERATURE, b),
                            .top_k = static_cast<std::uint32_t>(word(step, STEP_TOP_K, b)),
                            .top_p = number(step, STEP_TOP_P, b),
                            .min_p = number(step, STEP_MIN_P, b)};
    const auto whole = [&](int i) { return static_cast<std::uint32_t>(word(step, i, b)); };
    return sampling_draw(sampling_weights(x, rule),
                         sampling_random(whole(STEP_SEED_LOW), whole(STEP_SEED_HIGH), whole(STEP_END)));
}

void draw_next(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out, std::int64_t b) {
    const std::int64_t context = call.in(tokens_).shape[-1];
    double* step = out[next_step_].data.data() + sequence_of(in[step_], b) * STEP_WORDS;
    const auto whole = [&](int i) { return static_cast<std::int64_t>(step[i]); };
    const std::int64_t end = whole(STEP_END), valid = whole(STEP_VALID), limit = std::min(whole(STEP_LIMIT), context);
    if (step[STEP_DONE] != 0 || valid == 0 || whole(STEP_POSITION) + valid != end) return;
    if (end >= limit) {
        step[STEP_DONE] = 2;
        return;
    }
    const double* logits = in[logits_].data.data() + b * call.in(logits_).shape[1];
    if (are_no_answer({logits, static_cast<std::size_t>(call.in(logits_).shape[1])})) {
        step[STEP_DONE] = STEP_NO_ANSWER;
        return;
    }
    const auto token = static_cast<double>(draw(call, in, b));
    out[next_tokens_][sequence_of(in[step_], b) * context + end] = token;
    step[STEP_END] = static_cast<double>(end + 1);
    step[STEP_DONE] = end + 1 >= limit ? 2 : 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(whole(STEP_END_TOKENS), STEP_WORDS - STEP_END_TOKEN); ++i)
        if (step[STEP_END_TOKEN + i] == token) step[STEP_DONE] = 1;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::int64_t b = 0; b < sequences_of(call, step_); ++b) draw_next(call, in, out, b);
}

Cost cost(const OpCall& call) {  // the parameters are known to the device only: as many passes as there can be
    const double cells = static_cast<double>(call.in(logits_).shape.elements());
    return {30 * cells, 44 * cells, 12};
}

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    Launch l{
        .shader = shader,
        .spec = params::SampleConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call.in(logits_).dtype)},
        .operands = {in(logits_), update(next_tokens_), update(next_step_), in(seen_), in(bias_)},
        .groups = {u32(sequences_of(call, step_)), 1, 1}};
    const auto columns = [&](int i) { return u32(call.has(i) ? call.in(i).shape[-1] : 0); };
    return l.with(
        params::SampleParams{.vocab = columns(logits_), .token_count = columns(tokens_), .seen_words = columns(seen_)});
}

struct Draw {
    std::int64_t vocab = 997;
    float temperature = 0.8f, top_p = 1, min_p = 0, penalty = 1;
    double top_k = 0, seed = 1, end = 9, limit = 16, done = 0, waiting = 0, biased = 0;
    std::vector<double> end_tokens;
};

Case case_of(const char* name, const Draw& d) {
    Case::Input step = step_of_case({{STEP_POSITION, d.end - 2 - d.waiting},
                                     {STEP_VALID, 2},
                                     {STEP_END, d.end},
                                     {STEP_KEYS, d.end - d.waiting},
                                     {STEP_DONE, d.done},
                                     {STEP_LIMIT, d.limit},
                                     {STEP_SEED_LOW, d.seed},
                                     {STEP_SEED_HIGH, 0x9e3779b9u},
                                     {STEP_TEMPERATURE, bits_of(d.temperature)},
                                     {STEP_TOP_K, d.top_k},
                                     {STEP_TOP_P, bits_of(d.top_p)},
                                     {STEP_MIN_P, bits_of(d.min_p)},
                                     {STEP_PENALTY, bits_of(d.penalty)},
                                     {STEP_BIASED, d.biased},
                                     {STEP_END_TOKENS, static_cast<double>(d.end_tokens.size())}});
    std::copy(d.end_tokens.begin(), d.end_tokens.end(), step.given.begin() + STEP_END_TOKEN);
    std::vector<double> seen(static_cast<std::size_t>((d.vocab + 31) / 32), 0x5a5a0f0f);
    const Case::Input logits{.type = TensorType{Shape{1, d.vocab}}, .high = 2};
    const Case::Input bits = d.penalty == 1 ? Case::Input{} : list_of(DType::u32, seen);
    std::vector<double> bias(static_cast<std::size_t>(d.vocab));
    for (std::int64_t i = 0; i < d.vocab; i += 7)
        at(bias, i) = i % 3 == 0 ? -std::numeric_limits<double>::infinity() : static_cast<double>(i % 5) - 1.5;
    Case::Input biases;
    if (d.biased != 0) {
        biases = filled_with(TensorType{Shape{d.vocab}}, bias);
        biases.fixed_type = true;
    }
    return {.name = name, .inputs = {logits, integers_below({16}, d.vocab), step, bits, biases}};
}

// Sequences of one vocabulary in one run, each with parameters and an end of its own.
Case together(const char* name, const std::vector<Case>& sequences) {
    Case all = sequences.front();
    all.name = name;
    for (std::size_t i = 0; i < all.inputs.size(); ++i) {
        Case::Input& input = all.inputs[i];
        if (!input.type) continue;  // absent from all of them
        const std::int64_t columns = input.type->shape[-1];
        input.type->shape = Shape{static_cast<std::int64_t>(sequences.size()), columns};
        input.given.clear();
        for (const Case& one : sequences)
            input.given.insert(input.given.end(), one.inputs[i].given.begin(), one.inputs[i].given.end());
    }
    return all;
}

// Sequences with these logits.
Case with_logits(const char* name, const std::vector<double>& logits, double temperature) {
    Case one = case_of(name, {.vocab = std::ssize(logits), .temperature = static_cast<float>(temperature)});
    one.inputs[logits_] = filled_with(TensorType{Shape{1, std::ssize(logits)}}, logits);
    return one;
}

Case in_reverse(const char* name, Case sequences) {
    sequences.name = name;
    sequences.inputs[step_] = reversed_lanes(sequences.inputs[step_]);
    return sequences;
}

// The second has a row of biases that its step does not use.
Case biased_beside_another() {
    Case both = together("bias of one",
                         {case_of("", {.temperature = 0, .biased = 1}), case_of("", {.temperature = 0, .biased = 1})});
    at(both.inputs[step_].given, STEP_WORDS + STEP_BIASED) = 0;
    return both;
}

std::vector<Case> cases() {
    const Case three = together(
        "3 sequences", {case_of("", {.temperature = 1.1f, .top_p = 0.95f, .penalty = 1.3f, .top_k = 40, .seed = 5}),
                        case_of("", {.temperature = 0, .penalty = 1.5f, .end = 15}),
                        case_of("", {.penalty = 1.1f, .seed = 6, .end = 12, .waiting = 1})});
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    return {
        case_of("temperature", {}),
        case_of("top-k, top-p, min-p, penalty",
                {.temperature = 1.1f, .top_p = 0.95f, .min_p = 0.02f, .penalty = 1.3f, .top_k = 40, .seed = 4e9}),
        case_of("bias and penalty", {.temperature = 0.9f, .penalty = 1.2f, .seed = 9, .biased = 1}),
        case_of("greedy with bias", {.vocab = 5003, .temperature = 0, .biased = 1}),
        biased_beside_another(),
        case_of("greedy with penalty", {.vocab = 5003, .temperature = 0, .penalty = 1.5f}),
        case_of("top-p of many", {.vocab = 50257, .temperature = 3, .top_p = 0.9f, .seed = 7}),
        case_of("end token", {.vocab = 3, .end = 15, .end_tokens = {0, 1, 2}}),
        case_of("context full", {.vocab = 5, .end = 15, .limit = 20}),
        case_of("nothing fits", {.vocab = 5, .end = 9, .limit = 9}),
        case_of("done", {.vocab = 5, .done = 1}),
        case_of("prompt goes on", {.vocab = 5, .waiting = 4}),
        three,
        in_reverse("3 sequences in reverse", three),
        with_logits("NaN", {1, 2, nan, 3, -1}, 0.8),
        with_logits("NaN, greedy", {nan, 1, 2}, 0),
        with_logits("+inf", {1, inf, 0}, 0),
        with_logits("only -inf", {-inf, -inf, -inf}, 0.8),
        with_logits("-inf cannot be drawn", {-inf, 1, -inf, -3}, 0.8),
    };
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"sample_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"sample">}};

const OpDef sample_op = define_op("sample",
                                  "tokens[end++] ~ bias, penalty, temperature, top-k, softmax, top-p, min-p; counted "
                                  "random numbers (Salmon et al. 2011)",
                                  operand_names, infer, reference, cost, kernels, cases, of_integers,
                                  {.step = step_, .context_rows = {tokens_}, .alias = {tokens_, step_}});

}  // namespace internal::ops::sample

SampleResult sample(Tensor logits, Tensor tokens, Tensor step, Tensor seen, Tensor bias, SourceLocation where) {
    const std::vector<Tensor> next = add_call(logits.graph(), sample_op, {logits, tokens, step, seen, bias}, {}, where);
    return {next[ops::sample::next_tokens_], next[ops::sample::next_step_]};
}

}  // namespace vantage
