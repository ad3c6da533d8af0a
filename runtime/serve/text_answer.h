// The answer to a TextRequest: one object, or a stream of chunks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/serve/http_server.h"
#include "runtime/serve/metrics.h"
#include "runtime/serve/text_request.h"

namespace vantage::serve {

/// One token in `logprobs`: its text (bytes that are no UTF-8 as OpenAI writes them, "bytes:\xe2") and alternatives.
struct ToldToken {
    std::string text;
    std::string bytes;
    std::optional<double> logprob = {};
    std::vector<std::pair<std::string, double>> top = {};
};

/// Collects what the scheduler draws for all choices of a request and writes it to the client. Its generations keep it;
/// they call it in the scheduler's thread, one at a time. Model and metrics must outlive it.
class TextAnswer : public std::enable_shared_from_this<TextAnswer> {
public:
    TextAnswer(const ServedModel& model, TextRequest request, std::shared_ptr<Reply> reply, Reply::Headers headers,
               Metrics& metrics, std::string path);

    const TextRequest& request() const { return request_; }
    /// The generations of all choices, prompt by prompt, whose tokens are kept. They refer to this answer.
    std::vector<std::shared_ptr<GenerationRequest>> generations(const std::string& owner);
    /// With `echo` and `logprobs`: what is known of the tokens of a prompt, before anything is generated.
    void note_prompt(std::size_t prompt, const std::vector<DrawnToken>& tokens);
    /// Begins a stream with what comes before the first token. Before the generations are submitted.
    void begin();
    /// After they were submitted: the client sees that the stream has begun, and the tokens are kept.
    void open();
    /// They were not.
    void forget() { model_.kept.forget(id_); }
    /// Nothing is generated (max_tokens 0): the answer is complete.
    void finish_without_tokens();

private:
    /// Of a function, as OpenAI's API has them.
    struct ToldCall {
        std::string id, name, arguments;
    };
    struct Choice {
        explicit Choice(text::reply::ReplyParser reply) : parser(std::move(reply)) {}

        text::reply::ReplyParser parser;  ///< of chats
        std::string text, reasoning;
        std::vector<ToldCall> calls;
        std::vector<ToldToken> tokens;
        std::size_t told = 0;  ///< of the tokens, those that are in chunks already
        std::size_t offset = 0;
        std::string reason;  ///< such as "stop" or "length"; empty while it goes on
        Usage usage;
        double last = 0;  ///< when its last token was drawn
    };

    void on_token(std::size_t choice, const DrawnToken& token);
    void on_end(std::size_t choice, const Outcome& outcome);
    std::vector<Json> take_parts(std::size_t choice, const std::vector<text::reply::ReplyPart>& parts);
    static Json message_json(const Choice& choice);
    void fail(const Error& error);
    void complete();
    ToldToken told(const DrawnToken& token) const;
    Json head(const char* object) const;
    Json logprobs_json(const Choice& choice, std::size_t first, std::size_t& offset) const;
    void write_chunk(std::size_t choice, const Json& content, const std::string& reason);
    void write_event(const Json& chunk);
    Json usage_json() const;

    const ServedModel& model_;
    const TextRequest request_;
    const std::shared_ptr<Reply> reply_;
    const Reply::Headers headers_;
    Metrics& metrics_;
    const std::string path_;
    const double came_;
    const std::string id_;
    const std::int64_t created_;
    std::vector<Choice> choices_;
    std::size_t ended_ = 0;
    bool failed_ = false;
};

}  // namespace vantage::serve
