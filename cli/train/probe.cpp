#include "cli/train/probe.h"

#include <algorithm>
#include <random>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"

namespace vantage::cli {

Session& Probe::read() {
    const InterruptsDeferred whole;  // an interrupted session would show part of the text
    if (std::exchange(step_, trainer_.step()) == trainer_.step()) return *session_;
    Model model = trainer_.model();
    if (session_)
        session_->restart();
    else
        session_.emplace(model,
                         SessionOptions{.context = std::ssize(tokens_), .record_attention = RecordAttention::all()});
    session_->append(tokens_);
    session_->run();
    return *session_;
}

namespace {
constexpr std::int64_t max_probe = 128;
}

std::vector<std::int32_t> probe_tokens(const std::string& text, const internal::ModelConfig& config,
                                       const Tokenizer* tokenizer, std::int64_t context) {
    if (config.kind == ModelKind::encoder_decoder || config.sees() ||
        config.attending_layers(AttentionKind::self).empty())
        throw usage_error("--log-heads and --watch are for models whose attention reads one text, and {} is none",
                          config.architecture);
    const std::int64_t allowed = config.context > 0 ? config.context : max_probe;
    const std::int64_t most = std::min({context, allowed, max_probe});
    std::vector<std::int32_t> ids;
    if (!text.empty()) {
        if (tokenizer == nullptr) throw usage_error("--probe needs a tokenizer");
        if (repair_utf8(text) != text) throw usage_error("--probe is not UTF-8");
        ids = tokenizer->encode(text).ids;
        if (std::ssize(ids) > most)
            log(LogLevel::warning, "--probe has {} tokens: its first {} are read", ids.size(), most);
        ids.resize(std::min<std::size_t>(ids.size(), static_cast<std::size_t>(most)));
    } else {
        std::mt19937_64 random(0);
        for (std::int64_t i = 0; i < most / 2; ++i)
            ids.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(config.vocab)));
        ids.insert(ids.end(), ids.begin(), ids.begin() + most / 2);
    }
    if (ids.size() < 4) throw usage_error("--log-heads and --watch need 4 tokens to read, got {}", ids.size());
    return ids;
}

}  // namespace vantage::cli
