#include "cli/bench/bench_quality.h"

#include <algorithm>

#include "cli/shared/commands.h"
#include "cli/shared/progress.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/bench/quality.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/session/weight_types.h"

namespace vantage::cli {

namespace {

/// The validation text of the built-in model: documents separated by blank lines, each after an end token, as in
/// training.
std::vector<std::int32_t> validation_text(const Model& model) {
    const std::string text = read_file(built_in_model() + "/valid.txt");
    const auto end = static_cast<std::int32_t>(config_of(model).end_tokens.front());
    std::vector<std::int32_t> ids;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find("\n\n", at), text.size());
        std::string document = text.substr(at, next - at);
        if (document.ends_with('\n')) document.pop_back();  // of the file
        ids.push_back(end);
        const std::vector<std::int32_t> more = model.tokenizer().encode(document, false).ids;
        ids.insert(ids.end(), more.begin(), more.end());
        at = next + 2;
    }
    return ids;
}

std::vector<std::int32_t> text_of(const Model& model, const QualityOptions& o) {
    if (o.text.empty() && !common().model.empty())
        throw usage_error("bench model: --quality needs a text for this model; give --text FILE");
    std::vector<std::int32_t> ids =
        o.text.empty() ? validation_text(model) : model.tokenizer().encode(read_file(o.text), true).ids;
    if (std::ssize(ids) > o.tokens) ids.resize(static_cast<std::size_t>(o.tokens));
    return ids;
}

void require_decoder(const Model& model) {
    if (config_of(model).kind != ModelKind::decoder)
        throw usage_error("bench model: --quality needs a decoder, but {} is {}", model.info().name,
                          model.info().architecture);
}

// For the logits of the reference, which stay until the end.
void require_memory(std::int64_t tokens, std::int64_t vocabulary) {
    constexpr double max_bytes = 8e9;
    const double bytes = 4.0 * static_cast<double>(tokens) * static_cast<double>(vocabulary);
    if (bytes > max_bytes)
        throw usage_error(
            "bench model: --quality keeps the logits of {} tokens, {:.0f} GB; at most {:.0f} GB are "
            "allowed: give fewer --tokens",
            tokens, bytes / 1e9, max_bytes / 1e9);
}

void add_note(Report& report, std::int64_t tokens, std::int64_t window) {
    report.note(
        format("quality: {} tokens of a text in windows of {}; nats: mean of -ln p(token); perplexity: exp(nats); "
               "kl_nats: mean KL divergence of the next-token distributions from those of f32; same_top: share of "
               "positions with the same most probable next token.",
               tokens, window));
}

struct Storage {
    std::string name;
    DType weights;
    SessionOptions session;
};

bool quantizes_cache(const ModelConfig& config) {
    return !config.attending_layers(AttentionKind::self).empty() && config.kv_heads * config.head_width % 32 == 0;
}

// The first is the reference.
std::vector<Storage> wanted_storages() {
    std::vector<Storage> all = {{"f32", DType::f32, {.precision = Precision::f32}}};
    if (const std::string& wanted = common().weights; !wanted.empty()) {
        const DType type = weight_types.at(wanted);
        if (type != DType::f32) all.push_back({weight_type_name(type), type, {.precision = Precision::f16}});
        return all;
    }
    for (const char* name : {"f16", "q8", "q6_k", "q5_k", "q4_k", "q4"})
        all.push_back({name, weight_types.at(name), {.precision = Precision::f16}});
    for (const auto& [name, type] : {std::pair{"cache q8", DType::q8_0}, {"cache q4", DType::q4_0}})  // caches alone
        all.push_back({name, DType::f32, {.precision = Precision::f32, .cache = type}});
    return all;
}

}  // namespace

void add_quality_rows(Report& report, const Device& device, const QualityOptions& o) {
    const std::string directory = model_folder();
    const std::vector<Storage> storages = wanted_storages();
    std::vector<std::int32_t> ids;
    std::int64_t window = o.window, runs = 0;
    double reference_nats = 0;
    ReferenceLogits reference;
    Progress progress("measuring quality");
    for (const Storage& storage : storages) {  // one model at a time on the device
        const Model model = Model::load(device, directory, {.weights = storage.weights});
        if (runs == 0) {
            require_decoder(model);
            if (window == 0) window = std::min<std::int64_t>(model.info().context, 512);
            ids = text_of(model, o);
            require_memory(std::ssize(ids), config_of(model).vocab);
        }
        if (storage.session.cache && !quantizes_cache(config_of(model))) {
            report.note(
                format("{}: not possible, because its rows of keys are no multiple of 32 features", storage.name));
            continue;
        }
        const Quality quality = measure_quality(
            model, storage.session, ids, window, reference,
            [&](std::int64_t done, std::int64_t of) { progress.show(runs * of + done, of * std::ssize(storages)); });
        if (runs++ == 0) {
            reference_nats = quality.nats;
            add_note(report, quality.tokens, window);
        }
        report.row()
            .set("model", model.info().name)
            .set("test", std::string("quality ") + storage.name)
            .set("weights", model.info().weight_types)
            .set("weights_mib", static_cast<double>(model.info().weight_bytes) / 0x1p20)
            .set("perplexity", quality.perplexity())
            .set("nats", quality.nats)
            .set("nats_more", quality.nats - reference_nats)
            .set("kl_nats", quality.divergence)
            .set("same_top", quality.same_top)
            .set("tokens", quality.tokens, ShowIn::data_only)
            .set("window", window, ShowIn::data_only);
    }
}

}  // namespace vantage::cli
