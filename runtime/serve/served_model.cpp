#include "runtime/serve/served_model.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "runtime/base/checksum.h"
#include "runtime/base/format.h"
#include "runtime/base/log.h"
#include "runtime/base/program.h"
#include "runtime/base/version.h"
#include "runtime/models/config.h"
#include "runtime/serve/api_error.h"
#include "runtime/session/chat_format.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::serve {

using namespace internal;

namespace {

std::optional<ChatStyle> chat_of(const Model& model, const std::string& wanted) {
    if (config_of(model).kind == ModelKind::encoder) return std::nullopt;
    try {
        return std::optional<ChatStyle>(std::in_place, chat_format_of(model, wanted), model.tokenizer());
    } catch (const Error& error) {
        if (!wanted.empty()) throw;
        log(LogLevel::info, "no chat: {}", error.what());
        return std::nullopt;
    }
}

std::string fingerprint_of(const Model& model, const SchedulerOptions& options) {
    const Caps& device = model.device().caps();
    const ModelInfo& info = model.info();
    return format(
        "fp_{:08x}",
        checksum(format("{} {} {} {} {} {} {} {} {} {}", build_facts().version, build_facts().commit, info.name,
                        info.weight_types, info.weight_bytes, device.name, device.driver, device.driver_version,
                        name_of(options.session.precision), options.session.is_stable() ? 0 : options.slots)));
}

}  // namespace

ServedModel::ServedModel(const Model& loaded, const std::string& id, const std::string& chat_template, Pooling pool,
                         SchedulerOptions options, std::size_t kept_answers, double kept_seconds)
    : info(loaded.info()),
      config(config_of(loaded)),
      tokenizer(loaded.tokenizer()),
      sampling(recommended_sampling(loaded)),
      name(id.empty() ? loaded.info().name : id),
      created(std::time(nullptr)),
      fingerprint(fingerprint_of(loaded, options)),
      chat(chat_of(loaded, chat_template)),
      pooling(pool),
      session_options(options.session),
      kept(kept_answers, kept_seconds),
      scheduler(loaded, std::move(options)) {
    session_options.rope_context = std::max(session_options.rope_context, scheduler.context());
}

const ChatStyle& ServedModel::chat_style() const {
    if (!chat)
        throw ApiError(
            400, format("{} has no chat template; use /v1/completions, or start the server with --template", name));
    return *chat;
}

std::vector<std::int32_t> ServedModel::encoded(std::string_view text, bool add_special) const {
    return encode_for(scheduler.context(), tokenizer, text, add_special).ids;
}

}  // namespace vantage::serve
