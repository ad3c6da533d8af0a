#include "runtime/serve/text_answer.h"

#include <algorithm>
#include <ctime>
#include <random>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/utf8.h"

namespace vantage::serve {

using namespace internal;

namespace {

constexpr std::size_t max_untaken = std::size_t{16} << 10;  // bytes of a stream, some 64 chunks

std::string random_id(const char* prefix) {
    std::random_device device;
    return format("{}{:08x}{:08x}{:08x}", prefix, device(), device(), device());
}

// Nine letters and digits, which is what Mistral's templates want.
std::string random_call_id() {
    constexpr std::string_view characters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::random_device device;
    std::uniform_int_distribution<std::size_t> draw(0, characters.size() - 1);
    std::string id(9, ' ');
    for (char& c : id) c = characters[draw(device)];
    return id;
}

const char* reason_of(Ending ending) {
    if (ending == Ending::dead_end) return "error";
    return ending == Ending::length || ending == Ending::context_full ? "length" : "stop";
}

std::string shown_bytes(const std::string& bytes) {
    if (repair_utf8(bytes) == bytes) return bytes;
    std::string text = "bytes:";
    for (const char byte : bytes) text += format("\\x{:02x}", static_cast<int>(static_cast<unsigned char>(byte)));
    return text;
}

Json byte_list(const std::string& bytes) {
    Json list = Json::array();
    for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
    return list;
}

std::size_t code_points(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

Json number_or_none(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

}  // namespace

TextAnswer::TextAnswer(const ServedModel& model, TextRequest request, std::shared_ptr<Reply> reply,
                       Reply::Headers headers, Metrics& metrics, std::string path)
    : model_(model),
      request_(std::move(request)),
      reply_(std::move(reply)),
      headers_(std::move(headers)),
      metrics_(metrics),
      path_(std::move(path)),
      came_(seconds_now()),
      id_(random_id(request_.is_chat ? "chatcmpl-" : "cmpl-")),
      created_(std::time(nullptr)),
      choices_(request_.prompts.size() * static_cast<std::size_t>(request_.choices),
               Choice(text::reply::ReplyParser(request_.reply, request_.expected))) {
    for (std::size_t i = 0; i < choices_.size(); ++i)
        if (request_.echo) choices_[i].text = request_.prompt_texts[i / static_cast<std::size_t>(request_.choices)];
}

std::vector<std::shared_ptr<GenerationRequest>> TextAnswer::generations(const std::string& owner) {
    std::vector<std::shared_ptr<const std::vector<std::int32_t>>> texts;
    for (const auto& prompt : request_.prompts)
        texts.insert(texts.end(), static_cast<std::size_t>(request_.choices),
                     std::make_shared<const std::vector<std::int32_t>>(prompt));
    model_.kept.begin(id_, owner, texts);
    std::vector<std::shared_ptr<GenerationRequest>> all;
    const std::shared_ptr<TextAnswer> self = shared_from_this();
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const auto per_prompt = static_cast<std::size_t>(request_.choices);
        auto one = std::make_shared<GenerationRequest>();
        one->prompt = request_.prompts[i / per_prompt];
        one->sampling = request_.sampling;
        one->sampling.seed = choice_seed(request_.sampling.seed, static_cast<std::int64_t>(i % per_prompt));
        one->text = request_.text;
        one->logprobs = request_.logprobs;
        one->owner = owner;
        one->on_token = [self, i](const DrawnToken& token) { self->on_token(i, token); };
        one->on_end = [self, i](const Outcome& outcome) { self->on_end(i, outcome); };
        if (request_.streams)
            one->behind = [self]() -> std::optional<double> {
                if (self->reply_->untaken() <= max_untaken) return std::nullopt;
                return self->reply_->stalled();
            };
        all.push_back(std::move(one));
    }
    return all;
}

ToldToken TextAnswer::told(const DrawnToken& token) const {
    const Tokenizer& tokenizer = model_.tokenizer;
    const auto bytes_of = [&](std::int32_t id) {
        return tokenizer.is_special(id) ? tokenizer.token_text(id) : tokenizer.token_bytes(id);
    };
    ToldToken one{.bytes = bytes_of(token.id), .logprob = token.logprob};
    one.text = shown_bytes(one.bytes);
    for (const TokenLogprob& other : token.top) one.top.emplace_back(bytes_of(other.id), other.logprob);
    return one;
}

void TextAnswer::note_prompt(std::size_t prompt, const std::vector<DrawnToken>& tokens) {
    const auto per_prompt = static_cast<std::size_t>(request_.choices);
    for (std::size_t i = prompt * per_prompt; i < (prompt + 1) * per_prompt; ++i)
        for (const DrawnToken& token : tokens) choices_[i].tokens.push_back(told(token));
}

void TextAnswer::begin() {
    if (!request_.streams) return;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        if (request_.is_chat) write_chunk(i, {{"role", "assistant"}, {"content", nullptr}}, "");
        if (request_.echo) write_chunk(i, choices_[i].text, "");
    }
}

void TextAnswer::open() {
    model_.kept.confirm(id_);
    if (!request_.streams) return;
    Reply::Headers headers = headers_;
    headers["Cache-Control"] = "no-cache";
    headers["X-Accel-Buffering"] = "no";
    reply_->begin_stream("text/event-stream", headers);
}

void TextAnswer::finish_without_tokens() {
    for (std::size_t i = 0; i < choices_.size(); ++i)
        on_end(i, {.ending = Ending::length,
                   .usage = {.prompt = std::ssize(request_.prompts[i / static_cast<std::size_t>(request_.choices)])}});
}

void TextAnswer::on_token(std::size_t choice, const DrawnToken& token) {
    if (failed_) return;
    Choice& c = choices_[choice];
    if (const double now = seconds_now(); token.id >= 0) {
        c.last == 0 ? metrics_.note_first_token(now - came_) : metrics_.note_gap(now - c.last);
        c.last = now;
        model_.kept.add(id_, choice, token.id);
    }
    if (request_.logprobs && token.id >= 0) c.tokens.push_back(told(token));
    if (!request_.is_chat) {
        c.text += token.text;
        if (request_.streams && (!token.text.empty() || request_.logprobs)) write_chunk(choice, token.text, "");
        return;
    }
    std::vector<Json> deltas = take_parts(choice, c.parser.push(token.text));
    if (!request_.streams) return;
    if (deltas.empty() && request_.logprobs) deltas.push_back({{"content", ""}});
    for (const Json& delta : deltas) write_chunk(choice, delta, "");
}

// Adds parts of a reply to it; as the deltas of chunks.
std::vector<Json> TextAnswer::take_parts(std::size_t choice, const std::vector<text::reply::ReplyPart>& parts) {
    using Kind = text::reply::ReplyPart::Kind;
    Choice& c = choices_[choice];
    std::vector<Json> deltas;
    for (const text::reply::ReplyPart& part : parts) {
        if (part.kind == Kind::content || (part.kind == Kind::reasoning && request_.reasoning_is_content)) {
            c.text += part.text;
            deltas.push_back({{"content", part.text}});
        } else if (part.kind == Kind::reasoning) {
            c.reasoning += part.text;
            deltas.push_back({{"reasoning_content", part.text}});
        } else {
            const bool begins = part.kind == Kind::call;
            if (begins) c.calls.push_back({.id = random_call_id(), .name = part.text});
            Json call = {{"index", c.calls.size() - 1}};
            if (begins) call["id"] = c.calls.back().id, call["type"] = "function";
            call["function"] = begins ? Json{{"name", part.text}, {"arguments", ""}} : Json{{"arguments", part.text}};
            if (!begins) c.calls.back().arguments += part.text;
            deltas.push_back({{"tool_calls", Json::array({std::move(call)})}});
        }
    }
    return deltas;
}

Json TextAnswer::message_json(const Choice& choice) {
    Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
    if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
    if (choice.calls.empty()) return message;
    if (choice.text.empty()) message["content"] = nullptr;
    message["tool_calls"] = Json::array();
    for (const ToldCall& call : choice.calls)
        message["tool_calls"].push_back({{"id", call.id},
                                         {"type", "function"},
                                         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    return message;
}

void TextAnswer::on_end(std::size_t choice, const Outcome& outcome) {
    ++ended_;
    if (failed_) return;
    if (outcome.error) return fail(*outcome.error);
    Choice& c = choices_[choice];
    c.reason = reason_of(outcome.ending);
    c.usage = outcome.usage;
    if (request_.is_chat) {
        const std::vector<Json> deltas = take_parts(choice, c.parser.finish());
        if (c.reason == "stop" && c.parser.ends_with_calls()) c.reason = "tool_calls";
        if (request_.streams)
            for (const Json& delta : deltas) write_chunk(choice, delta, "");
    }
    if (request_.streams) write_chunk(choice, request_.is_chat ? Json::object() : Json(""), c.reason);
    if (ended_ == choices_.size()) complete();
}

void TextAnswer::fail(const Error& error) {
    failed_ = true;
    const ApiError shown(error);
    metrics_.note_request(path_, shown.status);
    if (!request_.streams) return reply_->send(shown.status, "application/json", shown.text(), headers_);
    write_event(shown.json());
    reply_->write("data: [DONE]\n\n");
    reply_->finish();
}

Json TextAnswer::head(const char* object) const {
    return {{"id", id_},
            {"object", object},
            {"created", created_},
            {"model", model_.name},
            {"system_fingerprint", model_.fingerprint}};
}

// A prompt counts once, however many choices it has.
Json TextAnswer::usage_json() const {
    Usage sum;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const Usage& one = choices_[i].usage;
        sum.generated += one.generated;
        if (i % static_cast<std::size_t>(request_.choices) != 0) continue;
        sum.prompt += one.prompt;
        sum.cached += one.cached;
    }
    return {{"prompt_tokens", sum.prompt},
            {"completion_tokens", sum.generated},
            {"total_tokens", sum.prompt + sum.generated},
            {"prompt_tokens_details", {{"cached_tokens", sum.cached}}}};
}

// Those from `first` on; `offset` is where the first one begins in the text, and moves behind the last.
Json TextAnswer::logprobs_json(const Choice& choice, std::size_t first, std::size_t& offset) const {
    if (!request_.logprobs) return nullptr;
    if (request_.is_chat) {
        Json content = Json::array();
        for (std::size_t i = first; i < choice.tokens.size(); ++i) {
            const ToldToken& one = choice.tokens[i];
            Json top = Json::array();
            for (const auto& [bytes, logprob] : one.top)
                top.push_back({{"token", shown_bytes(bytes)}, {"logprob", logprob}, {"bytes", byte_list(bytes)}});
            content.push_back({{"token", one.text},
                               {"logprob", number_or_none(one.logprob)},
                               {"bytes", byte_list(one.bytes)},
                               {"top_logprobs", std::move(top)}});
        }
        return {{"content", std::move(content)}, {"refusal", nullptr}};
    }
    Json tokens = Json::array(), logprobs = Json::array(), tops = Json::array(), offsets = Json::array();
    for (std::size_t i = first; i < choice.tokens.size(); ++i) {
        const ToldToken& one = choice.tokens[i];
        tokens.push_back(one.text);
        logprobs.push_back(number_or_none(one.logprob));
        Json top = Json::object();
        for (const auto& [bytes, logprob] : one.top) top[shown_bytes(bytes)] = logprob;
        tops.push_back(one.logprob ? std::move(top) : Json(nullptr));
        offsets.push_back(offset);
        offset += code_points(one.bytes);
    }
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(logprobs)},
            {"top_logprobs", *request_.logprobs > 0 ? std::move(tops) : Json(nullptr)},
            {"text_offset", std::move(offsets)}};
}

void TextAnswer::write_event(const Json& chunk) {
    reply_->write("data: " + chunk.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n");
}

void TextAnswer::write_chunk(std::size_t choice, const Json& content, const std::string& reason) {
    Choice& c = choices_[choice];
    Json chunk = head(request_.is_chat ? "chat.completion.chunk" : "text_completion"),
         part = {{"index", choice},
                 {request_.is_chat ? "delta" : "text", content},
                 {"logprobs", nullptr},
                 {"finish_reason", reason.empty() ? Json(nullptr) : Json(reason)}};
    if (c.told < c.tokens.size()) part["logprobs"] = logprobs_json(c, std::exchange(c.told, c.tokens.size()), c.offset);
    chunk["choices"] = Json::array({std::move(part)});
    if (request_.include_usage) chunk["usage"] = nullptr;
    if (!reason.empty()) chunk["vantage"] = {{"seed", static_cast<std::int64_t>(request_.sampling.seed)}};
    write_event(chunk);
}

void TextAnswer::complete() {
    metrics_.note_request(path_, 200);
    metrics_.note_end(seconds_now() - came_);
    if (request_.streams) {
        if (request_.include_usage) {
            Json chunk = head(request_.is_chat ? "chat.completion.chunk" : "text_completion");
            chunk["choices"] = Json::array();
            chunk["usage"] = usage_json();
            write_event(chunk);
        }
        reply_->write("data: [DONE]\n\n");
        return reply_->finish();
    }
    Json answer = head(request_.is_chat ? "chat.completion" : "text_completion"), list = Json::array();
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        const Choice& c = choices_[i];
        std::size_t offset = 0;
        Json one = {{"index", i}};
        if (request_.is_chat)
            one["message"] = message_json(c);
        else
            one["text"] = c.text;
        one["logprobs"] = logprobs_json(c, 0, offset);
        one["finish_reason"] = c.reason;
        list.push_back(std::move(one));
    }
    answer["choices"] = std::move(list);
    answer["usage"] = usage_json();
    answer["vantage"] = {{"seed", static_cast<std::int64_t>(request_.sampling.seed)}};
    reply_->send(200, "application/json", answer.dump(-1, ' ', false, Json::error_handler_t::replace), headers_);
}

}  // namespace vantage::serve
