#include "cli/demo/steps_page.h"

#include <algorithm>
#include <cmath>

#include "cli/shared/generation_options.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/model_input.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/translation.h"
#include "runtime/base/errors.h"
#include "runtime/session/head_steps.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

constexpr int widest_steps = 100, step_label = 14, step_number = 6;

struct Steps {
    const Model& model;
    HeadId head;
    ModelInput input;
    std::vector<std::string> queries, keys;  // labels
    std::vector<std::int32_t> query_ids, key_ids;
    HeadSteps numbers;
    std::optional<AttentionStages> stages;  // not of cross-attention
    int reader = 0;                         // the query whose row is read aloud
};

/// Five columns: "-1.23", "12.3", "-123".
std::string number_text(double value) {
    const double size = std::abs(value);
    if (size < 0.005) return "0.00";
    const std::string text = format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
    return column_width(text) <= step_number - 1 ? text : format("{:.0e}", value);
}

class StepsPage {
public:
    explicit StepsPage(const Steps& steps) : s_(steps), columns_(std::clamp(Page::columns(), 40, widest_steps)) {}

    void print() const {
        const HeadSteps& n = s_.numbers;
        const std::string turn = n.rotated ? ", rotated by position" : "";
        print_title();
        print_ids();
        features("x", n.x, s_.queries, "what the layer's projections read");
        features("Q = x W_Q" + turn, n.q, s_.queries, "what a token looks for");
        features("K = x W_K" + turn, n.k, s_.keys, "what a token offers");
        features("V = x W_V", n.v, s_.keys, "what a token hands over");
        scores("S = Q Kᵀ", n.scores, "how well a query (row) and a key (column) fit");
        print_scaled();
        weights("A = softmax, row by row", n.weights, "shares of a query's attention; a row sums to 1");
        features("Y = A V", n.output, s_.queries, "the head's output");
        print_line("{}", page_.dim(format("  the device's own output differs by {:.1g} at most", n.difference)));
        print_stages();
    }

private:
    void heading(const std::string& name, const std::string& about) const {
        const bool fits = column_width(name) + 2 + column_width(about) <= columns_;
        print_line("\n{}{}{}", page_.bold(name), fits ? "  " : "\n  ", page_.dim(about));
    }

    void print_title() const {
        const ModelInfo& info = s_.model.info();
        print_line("{} {}", page_.bold("One head, step by step"),
                   page_.dim(format("· {} on {}", info.name, s_.model.device().caps().name)));
        print_line("{}", page_.dim(format("head {} of {} layers × {} heads, width {}, computed in f32",
                                          name_of(s_.head), info.layers_of(s_.head.kind).size(),
                                          info.heads_of(s_.head.kind), s_.numbers.q.shape()[1])));
    }

    void print_ids() const {
        heading("tokens", "pieces of the text and their numbers in the vocabulary");
        const auto line = [&](const std::vector<std::string>& labels, const std::vector<std::int32_t>& ids) {
            std::string text = " ";
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const std::string entry = format(" {} {}", labels[i], ids[i]);
                if (column_width(text + entry) > columns_) {
                    print_line("{}", text);
                    text = " ";
                }
                text += entry + (i + 1 < ids.size() ? "," : "");
            }
            print_line("{}", text);
        };
        if (s_.head.kind == AttentionKind::cross) print_line("{}", page_.dim("  keys, the encoder's text:"));
        line(s_.keys, s_.key_ids);
        if (s_.head.kind != AttentionKind::cross) return;
        print_line("{}", page_.dim("  queries, the decoder's text:"));
        line(s_.queries, s_.query_ids);
    }

    std::string label(const std::string& text) const { return align_left(shortened(text, step_label - 2), step_label); }
    std::size_t fitting() const { return static_cast<std::size_t>((columns_ - step_label) / step_number); }

    /// Rows of tokens; the first columns only.
    void features(const std::string& name, const Array& matrix, const std::vector<std::string>& rows,
                  const std::string& about) const {
        const std::int64_t width = matrix.shape()[1],
                           shown = std::min<std::int64_t>(
                               width, std::ssize(rows) > 0 ? static_cast<std::int64_t>(fitting()) : 0);
        heading(format("{} [{}, {}]", name, matrix.shape()[0], width),
                about + (shown < width ? format("; the first {} columns", shown) : ""));
        for (std::int64_t i = 0; i < matrix.shape()[0]; ++i) {
            std::string line = label(at(rows, i));
            for (std::int64_t d = 0; d < shown; ++d)
                line += align_right(number_text(static_cast<double>(matrix(i, d))), step_number);
            print_line("{}", line);
        }
    }

    /// Rows of queries, columns of keys; as many blocks as the keys need.
    template <class Cell>
    void by_key(std::span<const int> rows, const Cell& cell) const {
        for (std::size_t first = 0; first < s_.keys.size(); first += fitting()) {
            const std::size_t end = std::min(first + fitting(), s_.keys.size());
            std::string line(step_label, ' ');
            for (std::size_t j = first; j < end; ++j)
                line += align_right(shortened(s_.keys[j], step_number - 1), step_number);
            print_line("{}", page_.dim(line));
            for (const int row : rows) {
                line = label(at(s_.queries, row));
                for (std::size_t j = first; j < end; ++j) line += cell(row, static_cast<int>(j));
                print_line("{}", line);
            }
        }
    }
    std::vector<int> all_rows() const {
        std::vector<int> rows;
        for (int i = 0; i < std::ssize(s_.queries); ++i) rows.push_back(i);
        return rows;
    }

    void scores(const std::string& name, const Array& matrix, const std::string& about) const {
        heading(format("{} [{}, {}]", name, matrix.shape()[0], matrix.shape()[1]), about);
        by_key(all_rows(), [&](int i, int j) {
            const double value = static_cast<double>(matrix(i, j));
            return align_right(std::isinf(value) ? "·" : number_text(value), step_number);
        });
    }
    std::string share_cell(double share) const {
        return " " + on_share(page_, share, align_right(share_text(share), step_number - 1));
    }
    void weights(const std::string& name, const Array& matrix, const std::string& about) const {
        heading(format("{} [{}, {}]", name, matrix.shape()[0], matrix.shape()[1]), about);
        by_key(all_rows(), [&](int i, int j) {
            const bool hidden = std::isinf(s_.numbers.ruled(i, j));
            return hidden ? align_right("·", step_number) : share_cell(static_cast<double>(matrix(i, j)));
        });
    }

    void print_scaled() const {
        const HeadSteps& n = s_.numbers;
        const double root = 1 / std::sqrt(static_cast<double>(n.q.shape()[1]));
        const bool usual = std::abs(n.scale - root) < 1e-9 * root;
        const std::string name = usual ? format("S / √{}", n.q.shape()[1]) : format("S · {:.4g}", n.scale);
        const bool hides = std::ranges::any_of(n.ruled, [](float score) { return std::isinf(score); });
        if (!n.plain_rules) {
            std::vector<float> scaled(n.scores.begin(), n.scores.end());
            for (float& one : scaled) one = static_cast<float>(static_cast<double>(one) * n.scale);
            scores(name, {n.scores.shape(), std::move(scaled)}, "scaled");
        }
        scores((n.plain_rules ? name : "with the model's soft-cap, biases or sinks") + (hides ? ", masked" : ""),
               n.ruled, hides ? "· hides a key from a query" : "every query sees every key");
    }

    void print_stages() const {
        if (!s_.stages) return;
        const std::string token = at(s_.queries, s_.reader);
        heading("Four stages of attention", format("weights of “{}” as each step of freedom is added", token));
        const std::pair<const char*, const Array*> stages[] = {{"1 x·x", &s_.stages->raw},
                                                               {"2 Wx·Wx", &s_.stages->metric},
                                                               {"3 q·k", &s_.stages->matched},
                                                               {"4 scaled, v", &s_.stages->full}};
        for (std::size_t first = 0; first < s_.keys.size(); first += fitting()) {
            const std::size_t end = std::min(first + fitting(), s_.keys.size());
            std::string line(step_label, ' ');
            for (std::size_t j = first; j < end; ++j)
                line += align_right(shortened(s_.keys[j], step_number - 1), step_number);
            print_line("{}", page_.dim(line));
            for (const auto& [name, matrix] : stages) {
                line = label(name);
                for (std::size_t j = first; j < end; ++j)
                    line += share_cell(static_cast<double>((*matrix)(s_.reader, static_cast<std::int64_t>(j))));
                print_line("{}", line);
            }
        }
        for (const char* what : {"1 nothing learned: similar tokens, most of all itself; the sum is over the x",
                                 "2 one learned metric W = W_Q for both sides: symmetric scores; over the x",
                                 "3 queries and keys apart: looking for is not offering; over the x",
                                 "4 divided by √d, and values of their own: Y = A V, this head"})
            print_line("{}", page_.dim(std::string("  ") + what));
    }

    const Steps& s_;
    const Page page_;
    int columns_;
};

Json matrix_json(const Array& matrix) {
    Json rows = Json::array();
    for (std::int64_t i = 0; i < matrix.shape()[0]; ++i) {
        const Array row = matrix.row(i);
        Json& line = rows.emplace_back(Json::array());
        for (const float value : row) line.push_back(std::isinf(value) ? Json() : Json(value));
    }
    return rows;
}

void print_json(const Steps& s) {
    const HeadSteps& n = s.numbers;
    const auto tokens = [](const std::vector<std::string>& labels, const std::vector<std::int32_t>& ids) {
        Json all = Json::array();
        for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({{"id", ids[i]}, {"text", labels[i]}});
        return all;
    };
    Json all = {{"schema_version", 2},
                {"model", s.model.info().name},
                {"device", s.model.device().caps().name},
                {"head", name_of(s.head)},
                {"queries", tokens(s.queries, s.query_ids)},
                {"keys", tokens(s.keys, s.key_ids)},
                {"rotated", n.rotated},
                {"scale", n.scale},
                {"x", matrix_json(n.x)},
                {"q", matrix_json(n.q)},
                {"k", matrix_json(n.k)},
                {"v", matrix_json(n.v)},
                {"scores", matrix_json(n.scores)},
                {"masked_scores", matrix_json(n.ruled)},  // null where a key is hidden
                {"weights", matrix_json(n.weights)},
                {"output", matrix_json(n.output)},
                {"largest_difference", n.difference}};
    if (s.stages)
        all["stages"] = {{"raw", matrix_json(s.stages->raw)},
                         {"metric", matrix_json(s.stages->metric)},
                         {"matched", matrix_json(s.stages->matched)},
                         {"full", matrix_json(s.stages->full)}};
    write_json(all);
}

AttentionKind part_named(const std::string& part, const Model& model) {
    const ModelKind kind = config_of(model).kind;
    const std::string own = kind == ModelKind::decoder ? "decoder" : "encoder";
    if (kind != ModelKind::encoder_decoder) {
        if (!part.empty() && part != own)
            throw usage_error("demo: {} is no encoder–decoder; its attention is its {}'s own", model.info().name, own);
        return AttentionKind::self;
    }
    return part == "cross" ? AttentionKind::cross : part == "decoder" ? AttentionKind::self : AttentionKind::encoder;
}

/// The text's tokens; of an encoder–decoder also the text that it writes.
ModelInput input_of(const StepsOptions& o, const Model& model, const SessionOptions& options) {
    if (config_of(model).sees())
        throw usage_error("demo: --steps needs a model that reads text, but {} reads images", model.info().name);
    ModelInput input = read_input("demo", {.prompt = o.prompt, .from_prompt = true}, model);
    if (!input.source.empty()) input.ids = generated_for(model, input, max_written, options);
    input.ids.resize(
        std::min<std::size_t>(input.ids.size(), input.source.empty() ? input.ids.size() : max_steps_tokens));
    if (input.longest() > max_steps_tokens)
        throw usage_error("demo: --steps shows at most {} tokens, but the text has {}; shorten it", max_steps_tokens,
                          input.longest());
    return input;
}

/// The query that gives the most to one key other than itself and the first; the last query where none does.
int reading_query(const Array& weights) {
    int found = static_cast<int>(weights.shape()[0]) - 1;
    float largest = 0;
    for (std::int64_t i = 0; i < weights.shape()[0]; ++i)
        for (std::int64_t j = 1; j < weights.shape()[1]; ++j)
            if (j != i && weights(i, j) > largest) largest = weights(i, j), found = static_cast<int>(i);
    return found;
}

Steps steps_of(const Model& model, const StepsOptions& o) {
    require_steps(model);
    SessionOptions options{.precision = Precision::f32, .masked_heads = masked_heads(o.masked)};
    Steps s{.model = model,
            .head = {.kind = part_named(o.part, model)},
            .input = input_of(o, model, options),
            .queries = {},
            .keys = {},
            .query_ids = {},
            .key_ids = {},
            .numbers = {},
            .stages = {}};
    SessionOptions recording = options;
    recording.context = s.input.longest(), recording.record_attention = RecordAttention::all();
    Session session(model, recording);
    begin(session, s.input);
    session.run();
    const HeadSurvey survey(session, s.input.ids.size(), s.head.kind);
    const auto salient = survey.salient();
    s.head.layer = o.layer.value_or(salient ? salient->layer : survey.layers().front()),
    s.head.head = o.head.value_or(salient ? salient->head : 0);
    s.keys = token_labels(survey.texts()), s.queries = token_labels(survey.query_texts());
    s.key_ids = survey.input().keys.ids, s.query_ids = survey.input().reading().ids;
    s.numbers = head_steps(model, options, replay_input(s.input), s.head);
    if (s.head.kind != AttentionKind::cross) s.stages = attention_stages(s.numbers);
    s.reader = reading_query(s.numbers.weights);
    return s;
}

}  // namespace

void show_steps(const Model& model, const StepsOptions& options) {
    const Steps steps = steps_of(model, options);
    options.json ? print_json(steps) : StepsPage(steps).print();
}

}  // namespace vantage::cli
