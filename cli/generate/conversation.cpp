#include "cli/generate/conversation.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/utf8.h"
#include "runtime/models/config.h"
#include "runtime/session/chat_format.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

using text::jinja::OrderedJson;

/// Whether a template writes a conversation as if these messages were not before it.
bool leaves_out(const text::ChatFormat& format, OrderedJson messages) {
    const OrderedJson question = {{"role", "user"}, {"content", "text"}};
    try {
        messages.push_back(question);
        return render_messages(format, messages, true) == render_messages(format, OrderedJson::array({question}), true);
    } catch (const Error&) {
        return false;  // a template that needs more fails at the first turn
    }
}

OrderedJson message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

}  // namespace

Conversation::Conversation(Generator generator, text::ChatFormat format, const std::string& system)
    : system_(OrderedJson::array()), format_(std::move(format)), generator_(std::move(generator)) {
    if (!system.empty()) system_.push_back(message("system", repair_utf8(system)));
    if (!system.empty() && leaves_out(format_, system_))
        throw usage_error("chat: --system has no effect: the chat template leaves out system messages");
    messages_ = system_;
}

void Conversation::reset() { messages_ = system_; }

std::vector<std::int32_t> Conversation::tokens() {
    const Session& session = generator_.session();
    std::vector<std::int32_t> ids =
        encode_for(session.context(), session.model().tokenizer(), render_messages(format_, messages_, true), false)
            .ids;
    if (std::ssize(ids) >= session.context())
        throw usage_error("the conversation has {} tokens, but the context has {}; start again with /reset{}",
                          ids.size(), session.context(),
                          session.context() < session.model().info().context ? ", or use a larger --ctx" : "");
    return ids;
}

Conversation::Turn Conversation::say(const std::string& text, const std::function<void(const std::string&)>& on_text) {
    const OrderedJson before = messages_;
    try {
        messages_.push_back(message("user", repair_utf8(text)));
        Turn turn = reply(on_text);
        if (turn.reply.empty() && turn.ending == "interrupted")
            messages_ = before;
        else
            messages_.push_back(message("assistant", turn.reply));
        return turn;
    } catch (...) {
        messages_ = before;
        throw;
    }
}

Conversation::Turn Conversation::reply(const std::function<void(const std::string&)>& on_text) {
    const std::vector<std::int32_t> ids = tokens(), &there = generator_.session().tokens();
    Turn turn;
    turn.prompt_tokens = std::ssize(ids);
    if (config_of(generator_.session().model()).kind !=
        ModelKind::encoder_decoder)  // its encoder reads the whole text again
        turn.kept_tokens = std::min(std::ranges::mismatch(there, ids).in1 - there.begin(),
                                    std::ssize(ids) - 1);  // the last one runs again, for its logits
    try {
        turn.ending = name_of(generator_.generate(ids, [&](const Token& token) {
            turn.generated_tokens += token.id >= 0 ? 1 : 0;
            turn.reply += token.text;
            on_text(token.text);
            return true;
        }));
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted || !take_interrupt()) throw;
        turn.ending = "interrupted";
    }
    return turn;
}

}  // namespace vantage::cli
