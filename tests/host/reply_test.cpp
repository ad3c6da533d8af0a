// Replies of chat models: reasoning and calls of functions, in the forms that chat templates themselves write.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/session/chat_style.h"
#include "runtime/text/grammar/formats.h"
#include "runtime/text/grammar/grammar_access.h"
#include "runtime/text/grammar/token_mask.h"
#include "runtime/text/reply/reply_grammar.h"
#include "runtime/text/reply/reply_parser.h"

using namespace vantage;
using namespace vantage::text::reply;
using internal::ChatStyle;
using internal::GrammarAccess;
using internal::OrderedJson;
using text::grammar::Matcher;
using Kind = ReplyPart::Kind;

namespace {

/// The tokenizer of the built-in model, with some tokens more.
Tokenizer tokenizer_with(const std::vector<std::string>& special) {
    const std::string path = VANTAGE_ROOT "/assets/models/mini-world/tokenizer.json";
    OrderedJson file = OrderedJson::parse(internal::read_file(path));
    int id = Tokenizer::load(path).vocab_size();
    for (const std::string& text : special)
        file["added_tokens"].push_back({{"id", id++},
                                        {"content", text},
                                        {"special", true},
                                        {"single_word", false},
                                        {"lstrip", false},
                                        {"rstrip", false},
                                        {"normalized", false}});
    return Tokenizer::parse(file.dump(), "test");
}

ChatStyle style_of(const std::string& name, const Tokenizer& tokenizer) {
    text::ChatFormat chat{text::ChatTemplate::parse(
                              internal::read_file(VANTAGE_TEST_DATA "/data/chat/templates/" + name + ".jinja"), name),
                          OrderedJson{{"bos_token", "<s>"}, {"eos_token", "</s>"}}};
    return {std::move(chat), tokenizer};
}

CallableFunction function_of(const std::string& name, const std::string& schema) {
    return {name, std::make_shared<const text::grammar::Network>(
                      text::grammar::json_schema_network(OrderedJson::parse(schema)))};
}
std::vector<CallableFunction> two_functions() {
    return {function_of("weather", R"({"type": "object", "properties": {"city": {"type": "string"}, "days":
                                    {"type": "integer"}}, "required": ["city"]})"),
            function_of("time_now", R"({"type": "object", "properties": {}})")};
}
OrderedJson call_of(const std::string& name, const OrderedJson& arguments) {
    return {{"id", "a1b2c3d4e"}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}
const OrderedJson weather_question = {{"role", "user"}, {"content", "How is the weather?"}};
OrderedJson told_tools() {
    OrderedJson all = OrderedJson::array();
    for (const char* name : {"weather", "time_now"})
        all.push_back(
            {{"type", "function"},
             {"function", {{"name", name}, {"description", "It tells."}, {"parameters", {{"type", "object"}}}}}});
    return all;
}

/// What the template writes of a reply: what a model is trained to write.
std::string written_reply(const ChatStyle& chat, const OrderedJson& reply) {
    const std::string before = render_chat(chat, OrderedJson::array({weather_question}), told_tools(),
                                           OrderedJson::object(), true),
                      all = render_chat(chat, OrderedJson::array({weather_question, reply}), told_tools(),
                                        OrderedJson::object(), false);
    CAPTURE(before, all);
    REQUIRE(all.starts_with(before));
    return all.substr(before.size());
}

/// Parts in a row, whose texts of one kind may have come in pieces.
std::vector<ReplyPart> joined(const std::vector<ReplyPart>& parts) {
    std::vector<ReplyPart> all;
    for (const ReplyPart& part : parts) {
        const bool goes_on = !all.empty() && all.back().kind == part.kind && part.kind != Kind::call;
        if (goes_on)
            all.back().text += part.text;
        else
            all.push_back(part);
    }
    return all;
}

/// All at once, byte by byte, and in random pieces: always the same.
std::vector<ReplyPart> parsed(const ReplyFormat& format, ReplyExpectation expected, const std::string& text) {
    std::vector<ReplyPart> first;
    for (unsigned seed = 0; seed < 8; ++seed) {
        std::mt19937 random(seed);
        ReplyParser parser(format, expected);
        std::vector<ReplyPart> parts;
        const auto add = [&](const std::vector<ReplyPart>& more) {
            parts.insert(parts.end(), more.begin(), more.end());
        };
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t length = seed == 0 ? text.size() : seed == 1 ? 1 : 1 + random() % 9;
            add(parser.push(std::string_view(text).substr(at, length)));
            at += length;
        }
        add(parser.finish());
        if (seed == 0) first = joined(parts);
        CHECK(joined(parts) == first);
    }
    return first;
}

/// The bytes of a text in a grammar: special tokens are not their characters.
std::string in_grammar(const std::string& text, const Tokenizer& tokenizer) {
    std::string bytes;
    for (const MarkPiece& piece : mark_pieces(text, tokenizer))
        bytes += piece.token ? text::grammar::special_token_bytes(*piece.token) : piece.text;
    return bytes;
}
bool accepts(const Grammar& grammar, const std::string& bytes) {
    Matcher matcher(GrammarAccess::network(grammar));
    return matcher.may_end(matcher.step(matcher.start(), bytes));
}

const std::vector<std::string> gptoss_tokens{"<|channel|>", "<|message|>",   "<|start|>",
                                             "<|end|>",     "<|constrain|>", "<|call|>"};

}  // namespace

TEST_CASE("calls that a chat template writes are read, and their grammar takes them", "[reply][serve]") {
    struct Family {
        const char *chat_template, *family, *end;
        bool several;
        std::vector<std::string> special;
    };
    const Family families[] = {
        {"qwen25", "Hermes and Qwen", "<|im_end|>\n", true, {"<|im_start|>", "<|im_end|>"}},
        {"qwen3", "Hermes and Qwen", "<|im_end|>\n", true, {"<think>", "</think>"}},
        {"mistral3", "Mistral", "</s>", true, {"[TOOL_CALLS]"}},
        {"mistral3", "Mistral", "</s>", true, {}},
        {"llama31", "Llama 3", "<|eot_id|>", false, {}},
        {"chatml", "Hermes and Qwen", "<|im_end|>\n", true, {}},
        {"gemma", "Hermes and Qwen", "<end_of_turn>\n", true, {}},
    };
    for (const Family& one : families) {
        CAPTURE(one.chat_template);
        const Tokenizer tokenizer = tokenizer_with(one.special);
        const ChatStyle chat = style_of(one.chat_template, tokenizer);
        REQUIRE(chat.reply.calls);
        CHECK(chat.reply.calls->family == one.family);
        CHECK(chat.object_arguments);
        const OrderedJson arguments = {{"city", "Zürich \"}"}, {"days", 3}};
        OrderedJson calls = OrderedJson::array({call_of("weather", arguments)});
        if (one.several) calls.push_back(call_of("time_now", OrderedJson::object()));
        std::string reply = written_reply(chat, {{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}});
        REQUIRE(reply.ends_with(one.end));
        reply.resize(reply.size() - std::string_view(one.end).size());
        if (reply.find(", \"id\"") != std::string::npos)  // which models may leave out
            for (std::size_t at = 0; (at = reply.find(", \"id\": \"a1b2c3d4e\"")) != std::string::npos;)
                reply.erase(at, std::string_view(", \"id\": \"a1b2c3d4e\"").size());
        CAPTURE(reply);
        const std::vector<ReplyPart> parts = parsed(chat.reply, {.functions = {"weather", "time_now"}}, reply);
        REQUIRE(parts.size() >= 2);
        std::size_t at = parts.front().kind == Kind::reasoning ? 1 : 0;
        CHECK(parts[at] == ReplyPart{Kind::call, "weather"});
        CHECK(OrderedJson::parse(parts[at + 1].text) == arguments);
        if (one.several) {
            REQUIRE(parts.size() == at + 4);
            CHECK(parts[at + 2] == ReplyPart{Kind::call, "time_now"});
            CHECK(parts[at + 3] == ReplyPart{Kind::arguments, "{}"});
        }
        const std::string bytes = in_grammar(reply, tokenizer);
        ReplyRules wanted{.functions = two_functions()};
        const Grammar may = reply_grammar(chat.reply, tokenizer, wanted).value();
        CHECK(accepts(may, bytes));
        CHECK(accepts(may, "It is fine [today], <b>2 < 3</b>."));
        CHECK(accepts(may, ""));
        wanted.must_call = true;
        const Grammar must = reply_grammar(chat.reply, tokenizer, wanted).value();
        CHECK(accepts(must, bytes));
        CHECK(!accepts(must, "It is fine."));
        CHECK(!accepts(must, bytes.substr(0, bytes.size() - 1)));
        std::string other = bytes, wrong = bytes;
        other.replace(other.find("weather"), 7, "whether");
        wrong.replace(wrong.find("city"), 4, "town");
        CHECK(!accepts(must, other));
        CHECK(!accepts(may, other));
        CHECK(!accepts(must, wrong));
        wanted.may_call_often = false;
        CHECK(accepts(reply_grammar(chat.reply, tokenizer, wanted).value(), bytes) == !one.several);
    }
}

TEST_CASE("a text before calls is content, and what only looks like a call is, too", "[reply][serve]") {
    const Tokenizer tokenizer = tokenizer_with({});
    const ChatStyle chat = style_of("qwen25", tokenizer);
    const std::string one = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"a\"}}\n</tool_call>";
    const std::vector<ReplyPart> called{{Kind::call, "weather"}, {Kind::arguments, "{\"city\": \"a\"}"}};
    const auto with_text = [&](const std::string& text) {
        std::vector<ReplyPart> all = called;
        all.insert(all.begin(), {Kind::content, text});
        return all;
    };
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, "\n\n" + one + "\n") == called);
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, one.substr(0, one.size() - 3)) ==
          called);  // cut short
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, one + "\n<tool_call>\n{\"na") == called);
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, one + "\nDone.") ==
          std::vector<ReplyPart>{called[0], called[1], {Kind::content, "Done."}});
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, "I look.\n" + one) == with_text("I look."));
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, "a <tool_ca <tool " + one) ==
          with_text("a <tool_ca <tool"));
    for (const std::string text :
         {"", " ", "a", " 1 < 2 \n", "<tool_call", "<tool_call> no", "<tool_call>\n{\"name", "use \n<tool_call> x"}) {
        std::string content;
        for (const ReplyPart& part : parsed(chat.reply, {.functions = {"weather", "time_now"}}, text)) {
            CHECK(part.kind == Kind::content);
            content += part.text;
        }
        CHECK(content == text);
        CHECK(parsed(chat.reply, {}, text + one) == std::vector<ReplyPart>{{Kind::content, text + one}});
    }
    const Grammar may = reply_grammar(chat.reply, tokenizer, {.functions = two_functions()}).value();
    CHECK(accepts(may, "I look.\n" + one));
    CHECK(accepts(may, "<tool_ca <tool_<tool_cal" + one));
    CHECK(accepts(may, one + "\n" + one));
    CHECK(!accepts(may, one + one));
    CHECK(!accepts(may, "<tool_call> no"));
    CHECK(!accepts(may, "a <tool_<tool_call>"));
}

TEST_CASE("reasoning comes apart from the answer", "[reply][serve]") {
    const Tokenizer tokenizer = tokenizer_with({});
    const ChatStyle chat = style_of("qwen3", tokenizer);
    const std::vector<ReplyPart> wanted{{Kind::reasoning, "First\nthis."}, {Kind::content, "Yes. "}};
    CHECK(parsed(chat.reply, {}, "<think>\nFirst\nthis.\n</think>\n\nYes. ") == wanted);
    CHECK(parsed(chat.reply, {.in_reasoning = true}, "\nFirst\nthis.\n</think>\n\nYes. ") == wanted);
    CHECK(parsed(chat.reply, {}, "<think>\n\n</think>\n\nYes.") == std::vector<ReplyPart>{{Kind::content, "Yes."}});
    CHECK(parsed(chat.reply, {}, "<think>cut </thi") == std::vector<ReplyPart>{{Kind::reasoning, "cut </thi"}});
    CHECK(parsed(chat.reply, {}, "<thin") == std::vector<ReplyPart>{{Kind::content, "<thin"}});
    CHECK(parsed(chat.reply, {}, "No. <think>") == std::vector<ReplyPart>{{Kind::content, "No. <think>"}});
    ReplyRules rules{.content = Grammar::regex("[0-9]+")};
    const Grammar free = reply_grammar(chat.reply, tokenizer, rules).value();
    CHECK(accepts(free, "42"));
    CHECK(accepts(free, "<think>\nSix times 7 </b>\n</think>\n\n42"));
    CHECK(!accepts(free, "<think>42"));
    CHECK(!accepts(free, "so 42"));
    rules.in_reasoning = true;
    const Grammar inside = reply_grammar(chat.reply, tokenizer, rules).value();
    CHECK(accepts(inside, "\nSix times 7\n</think>\n\n42"));
    CHECK(!accepts(inside, "42"));
    CHECK(!reply_grammar(chat.reply, tokenizer, {}).has_value());
}

TEST_CASE("channels of gpt-oss are reasoning, answers and calls", "[reply][serve]") {
    const Tokenizer tokenizer = tokenizer_with(gptoss_tokens);
    const ChatStyle chat = style_of("gptoss", tokenizer);
    REQUIRE(chat.reply.has_channels);
    CHECK(chat.has_functions);
    CHECK(chat.reply.marks.size() == gptoss_tokens.size());
    const std::string analysis = "<|channel|>analysis<|message|>They ask.<|end|><|start|>assistant",
                      answer = "<|channel|>final<|message|>It rains.";
    CHECK(parsed(chat.reply, {}, analysis + answer) ==
          std::vector<ReplyPart>{{Kind::reasoning, "They ask."}, {Kind::content, "It rains."}});
    const OrderedJson reply = {{"role", "assistant"},
                               {"content", ""},
                               {"tool_calls", OrderedJson::array({call_of("weather", {{"city", "a"}})})}};
    const std::string written = written_reply(chat, reply);
    const std::vector<ReplyPart> called{{Kind::call, "weather"}, {Kind::arguments, "{\"city\": \"a\"}"}};
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, written) == called);
    const std::string as_trained =
        "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"a\"}";
    CHECK(parsed(chat.reply, {.functions = {"weather", "time_now"}}, as_trained + "<|call|>") == called);
    const Grammar may = reply_grammar(chat.reply, tokenizer, {.functions = two_functions()}).value();
    const Grammar json = reply_grammar(chat.reply, tokenizer, {.content = Grammar::json_object()}).value();
    const auto bytes = [&](const std::string& text) { return in_grammar(text, tokenizer); };
    CHECK(accepts(may, bytes(analysis + answer)));
    CHECK(accepts(may, bytes(analysis + as_trained)));
    CHECK(accepts(may, bytes(analysis + written.substr(0, written.size() - 8))));
    CHECK(!accepts(may, bytes(analysis)));
    CHECK(!accepts(may, bytes(analysis + "<|channel|>commentary to=functions.other<|message|>{}")));
    CHECK(!accepts(may, "It rains."));
    CHECK(accepts(json, bytes(analysis + "<|channel|>final<|message|>{\"a\": 1}")));
    CHECK(accepts(json, bytes("<|channel|>final <|constrain|>json<|message|>{\"a\": 1}")));
    CHECK(!accepts(json, bytes(answer)));
}

TEST_CASE("a mask allows special tokens where a grammar has them, and nowhere else", "[reply][grammar]") {
    const Tokenizer tokenizer = tokenizer_with({"[TOOL_CALLS]"});
    const int mark = tokenizer.id_of("[TOOL_CALLS]").value(), end = tokenizer.id_of("<|endoftext|>").value();
    const ChatStyle chat = style_of("mistral3", tokenizer);
    CHECK(chat.reply.marks == std::vector<std::int32_t>{mark});
    const Grammar may = reply_grammar(chat.reply, tokenizer, {.functions = two_functions()}).value();
    const auto vocabulary = std::make_shared<const text::grammar::VocabularyTree>(tokenizer, tokenizer.vocab_size());
    text::grammar::TokenMask mask(may, vocabulary);
    const auto allowed = [&](int token) { return mask.allowed()[static_cast<std::size_t>(token)]; };
    std::vector<std::int32_t> tokens;
    const auto add = [&](const std::string& text) {
        for (const std::int32_t id : tokenizer.encode(text, false).ids) tokens.push_back(id);
        mask.follow(tokens);
    };
    CHECK(allowed(mark));
    CHECK(!allowed(end));
    CHECK(mask.may_end());
    add("I look.");
    CHECK(allowed(mark));
    tokens.push_back(mark);
    mask.follow(tokens);
    CHECK(!allowed(mark));
    CHECK(!mask.may_end());
    add("[{\"name\": \"time_now\", \"arguments\": {");
    CHECK(mask.any_allowed());
    const std::size_t before = tokens.size();
    add("}}]");
    CHECK(mask.may_end());
    CHECK(!mask.any_allowed());
    tokens.resize(before);
    tokens.push_back(end);  // which may not follow: the text has ended before it was whole
    mask.follow(tokens);
    CHECK(!mask.any_allowed());
    CHECK(!mask.may_end());
}

TEST_CASE("a JSON text that begins as a call does is no call, and no text is lost", "[reply][serve]") {
    const Tokenizer tokenizer = tokenizer_with({});
    const ChatStyle llama = style_of("llama31", tokenizer), gptoss = style_of("gptoss", tokenizer),
                    hermes = style_of("qwen25", tokenizer);
    const ReplyExpectation expected{.functions = {"weather", "time_now"}};
    for (const std::string text :
         {R"({"name": "Bob", "age": 3})", R"({"name": "wea)", R"({"name": "weather)", R"( {"a)", "{"}) {
        CAPTURE(text);
        CHECK(parsed(llama.reply, expected, text) == std::vector<ReplyPart>{{Kind::content, text}});
    }
    CHECK(parsed(llama.reply, expected, R"({"name": "weather", "parameters": {"city": "a"}})").size() == 2);
    CHECK(parsed(gptoss.reply, {}, "It rains.") == std::vector<ReplyPart>{{Kind::content, "It rains."}});
    ReplyParser cut(hermes.reply, expected);
    cut.push("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"a");
    CHECK(!cut.ends_with_calls());
    cut.push("\"}}");
    CHECK(cut.ends_with_calls());
}

TEST_CASE("bytes that stand for a special token are no text of other tokens", "[reply][grammar]") {
    const Tokenizer tokenizer = tokenizer_with({"[TOOL_CALLS]"});
    const ChatStyle chat = style_of("mistral3", tokenizer);
    const ReplyRules wanted{.functions = two_functions(), .must_call = true};
    const text::grammar::TokenMask mask(
        reply_grammar(chat.reply, tokenizer, wanted).value(),
        std::make_shared<const text::grammar::VocabularyTree>(tokenizer, tokenizer.vocab_size()));
    const auto mark = static_cast<std::size_t>(tokenizer.id_of("[TOOL_CALLS]").value());
    for (std::size_t token = 0; token < mask.allowed().size(); ++token)
        if (token != mark && mask.allowed()[token])
            CHECK(tokenizer.token_bytes(static_cast<std::int32_t>(token)) == "\n");
    CHECK(mask.allowed()[mark]);
}

TEST_CASE("a grammar has each of many functions once", "[reply][grammar]") {
    const Tokenizer tokenizer = tokenizer_with({"[TOOL_CALLS]"});
    ReplyRules wanted;
    for (int i = 0; i < 128; ++i)
        wanted.functions.push_back(function_of("a_function_with_a_name_of_some_length_" + std::to_string(i),
                                               R"({"type": "object", "properties": {"city": {"type": "string"},
                                                   "days": {"type": "integer"}}})"));
    for (const char* name : {"mistral3", "qwen25", "llama31", "gptoss"}) {
        CAPTURE(name);
        const ChatStyle chat = style_of(name, tokenizer);
        const Grammar may = reply_grammar(chat.reply, tokenizer, wanted).value();
        CHECK(GrammarAccess::network(may)->nodes.size() < 80'000);
    }
}
