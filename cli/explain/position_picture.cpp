#include "cli/explain/position_picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_roles.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/embedding.h"
#include "runtime/ops/rope.h"
#include "runtime/picture/png.h"
#include "runtime/session/model_access.h"
#include "vantage/ops.h"

namespace vantage::cli {

namespace {

constexpr double full_turn = 2 * std::numbers::pi;

MatrixPanel panel_of(std::string title, std::string rows_name, std::string columns_name, std::int64_t rows,
                     std::int64_t columns) {
    return {.title = std::move(title),
            .rows_name = std::move(rows_name),
            .columns_name = std::move(columns_name),
            .rows = static_cast<int>(rows),
            .columns = static_cast<int>(columns),
            .value = {},
            .row_marks = round_marks(static_cast<int>(rows), 8),
            .column_marks = round_marks(static_cast<int>(columns), 10)};
}

/// "199", "6.3 k".
std::string wave_text(double tokens) {
    return tokens < 1000 ? format("{:.3g}", tokens) : format("{:.2g} k", tokens / 1000);
}

/// Marks that name the wavelength of a column, about eight of them.
void mark_wavelengths(MatrixPanel& panel, const std::vector<double>& wavelengths,
                      const std::function<int(std::size_t)>& column) {
    panel.column_marks.clear();
    const std::size_t step = std::max<std::size_t>(1, wavelengths.size() / 8);
    for (std::size_t i = 0; i < wavelengths.size(); i += step)
        panel.column_marks.emplace_back(column(i), wave_text(wavelengths[i]));
}

std::string range_text(const std::vector<double>& wavelengths, std::int64_t context) {
    const auto whole =
        std::ranges::count_if(wavelengths, [&](double one) { return one <= static_cast<double>(context); });
    return format("wavelengths from {} to {} tokens; {} of {} turn at least once in {} tokens",
                  wave_text(wavelengths.front()), wave_text(std::ranges::max(wavelengths)), whole, wavelengths.size(),
                  context);
}

/// Drawn with all sines first: side by side, sines and cosines would make stripes.
PositionScheme sinusoids(std::int64_t tokens, std::int64_t width, std::int64_t context) {
    const std::int64_t sines = (width + 1) / 2;
    PositionScheme made{.id = "sinusoidal",
                        .text = {},
                        .numbers = {},
                        .panel = panel_of("sinusoids of position / 10000^(2i / width): sines, then cosines", "position",
                                          "wavelength of the feature, in tokens", tokens, width)};
    for (std::int64_t i = 0; i < sines; ++i)
        made.numbers.push_back(full_turn * std::pow(10000.0, 2 * static_cast<double>(i) / static_cast<double>(width)));
    made.text =
        format("sinusoids [positions, {}], added to the embeddings: {}", width, range_text(made.numbers, context));
    made.panel.value = [table = sinusoidal_table(tokens, width), width, sines](int row, int column) {
        const std::int64_t feature = column < sines ? 2 * column : 2 * (column - sines) + 1;
        return static_cast<double>(at(table, row * width + feature));
    };
    mark_wavelengths(made.panel, made.numbers, [](std::size_t i) { return static_cast<int>(i); });
    return made;
}

PositionScheme rotation(std::int64_t tokens, const std::vector<double>& frequencies, std::int64_t head_width,
                        std::int64_t context) {
    const std::int64_t pairs = std::ssize(frequencies);
    PositionScheme made{.id = "rope",
                        .text = {},
                        .numbers = {},
                        .panel = panel_of("rotation (RoPE): cos of the angle, position × frequency of the pair",
                                          "position", "wavelength of the pair, in tokens", tokens, pairs)};
    for (const double one : frequencies) made.numbers.push_back(full_turn / one);
    made.text = format("rotation of {} of {} features of each query and key, as {} pairs: {}", 2 * pairs, head_width,
                       pairs, range_text(made.numbers, context));
    made.panel.value = [frequencies](int row, int column) { return std::cos(row * at(frequencies, column)); };
    mark_wavelengths(made.panel, made.numbers, [](std::size_t i) { return static_cast<int>(i); });
    return made;
}

PositionScheme slopes(std::int64_t tokens, const std::vector<float>& of_heads) {
    PositionScheme made{.id = "alibi",
                        .text = {},
                        .numbers = {of_heads.begin(), of_heads.end()},
                        .panel = panel_of("ALiBi: what is added to a score, −slope × distance", "head",
                                          "distance of the key, in tokens", std::ssize(of_heads), tokens)};
    made.text = format("ALiBi: −slope × distance is added to scores, slopes from {:.3g} to {:.3g} over {} heads",
                       std::ranges::max(of_heads), std::ranges::min(of_heads), of_heads.size());
    made.panel.maximum = 8;
    made.panel.value = [of_heads](int head, int distance) {
        return -static_cast<double>(at(of_heads, head)) * distance;
    };
    return made;
}

double largest_of(const Array& values) {
    double largest = 0;
    for (const float one : values) largest = std::fmax(largest, static_cast<double>(std::abs(one)));
    return largest > 0 ? largest : 1;
}

/// Three times the root of the mean square: few values of a table are beyond.
double usual_size(const Array& values) {
    double sum = 0;
    for (const float one : values) sum += static_cast<double>(one) * static_cast<double>(one);
    return sum > 0 ? 3 * std::sqrt(sum / static_cast<double>(values.size())) : 1;
}

PositionScheme learned(const std::string& name, const Array& table, std::int64_t rows) {
    const std::int64_t columns = std::min<std::int64_t>(table.shape()[-1], 2048);
    PositionScheme made{
        .id = "learned",
        .text = format("learned table {} [{}, {}], added to the embeddings", name, rows, table.shape()[-1]),
        .numbers = {},
        .panel = panel_of("learned table " + name, "row of the table", "feature",
                          std::min<std::int64_t>(table.shape().elements() / table.shape()[-1], 2048), columns)};
    made.panel.maximum = usual_size(table);
    made.panel.value = [table, width = table.shape()[-1]](int row, int column) {
        return static_cast<double>(at(table.values(), row * width + column));
    };
    return made;
}

/// Finds the operands that hold positions in a model's graph, and reads them from a plan.
class PositionReader {
public:
    PositionReader(const Model& model, Session& session, std::int64_t tokens)
        : model_(model), session_(session), tokens_(tokens) {}

    void add_all(bool encoder) {
        const ModelConfig& config = config_of(model_);
        const std::int64_t rows = config.is_vision() ? config.context : 1;
        const Graph graph =
            graph_of(model_, {.rows = rows, .context = session_.context(), .encoder = encoder, .cache = DType::f32});
        Plan& plan = encoder ? session_.encoder_plan(rows) : session_.plan(session_.chunk(rows));
        const ModelRoles roles(graph, config);
        for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
            const Node& node = graph.nodes()[i];
            if (node.op == &rope_op) add_rotation();
            if (node.op == &attention_op) add_bias(graph, node, plan, encoder);
            if (node.op == &embedding_op || node.op == &add_op) add_table(graph, node, roles, i, plan);
        }
    }
    std::vector<PositionScheme> take() && { return std::move(found_); }

private:
    bool is_new(const std::string& name) { return known_.insert(name).second; }

    void add_rotation() {
        if (!is_new("rope")) return;
        const ModelConfig& c = config_of(model_);
        RopeScaling scaling = c.rope_scaling;
        if (!c.rope_long_factors.empty() && session_.context() > scaling.original_context)
            scaling.factors = c.rope_long_factors;
        found_.push_back(rotation(tokens_, rope_frequencies(c.rotary_width, c.rope_theta, scaling), c.head_width,
                                  session_.context()));
    }

    void add_bias(const Graph& graph, const Node& node, Plan& plan, bool encoder) {
        const int bias = node.inputs[ops::attention::position_bias_];
        if (bias < 0) return;
        const Value& value = graph.value(graph.storage(bias));
        if (!is_new(value.name)) return;
        const std::string kind = node.attrs.text("position_bias", "alibi");
        if (kind == "alibi") found_.push_back(slopes(tokens_, plan.read(value.name).vector()));
        if (kind == "key") add_key_bias(value.name, plan.read(value.name));
        if (kind == "distance") add_distances(graph, encoder, plan);
        if (kind.starts_with("relative")) add_relative(graph, plan);
    }

    void add_key_bias(const std::string& name, const Array& table) {
        const std::int64_t heads = table.shape()[1], keys = std::min(table.shape()[0], tokens_);
        PositionScheme made{.id = "key",
                            .text = format("{}: slope × position of the key is added to scores", name),
                            .numbers = {},
                            .panel = panel_of(name + ": what is added to the score of a key", "head",
                                              "position of the key", heads, keys)};
        made.panel.maximum = 8;
        made.panel.value = [table, heads](int head, int key) {
            return static_cast<double>(at(table.values(), key * heads + head));
        };
        found_.push_back(std::move(made));
    }

    /// Relative keys: of the tables [distances, head width], one per layer, the first.
    void add_relative(const Graph& graph, Plan& plan) {
        const auto node =
            std::ranges::find_if(graph.nodes(), [&](const Node& one) { return is_distances(graph, one); });
        if (node == graph.nodes().end()) return;
        const std::string& name = graph.value(graph.storage(node->inputs[ops::embedding::w_])).name;
        const Shape& shape = graph.value(graph.storage(node->inputs[ops::embedding::w_])).type.shape;
        const std::int64_t distances = shape[0], reach = std::min(distances / 2, tokens_);
        const Array table = plan.read(name, {distances / 2 - reach, 2 * reach + 1});
        PositionScheme made = learned(name, table, distances);
        made.id = "relative";
        made.text = format(
            "relative keys: a learned vector for each distance, added to keys; of the tables of all layers {} [{}, {}]",
            name, distances, table.shape()[1]);
        made.panel.rows_name = "query's position − key's";
        made.panel.row_marks = round_marks(static_cast<int>(2 * reach + 1), 8, static_cast<int>(-reach));
        found_.push_back(std::move(made));
    }

    /// T5: rows of a table [buckets, heads] by the distance of key and query, −w … w.
    void add_distances(const Graph& graph, bool encoder, Plan& plan) {
        for (const Node& node : graph.nodes()) {
            if (node.op != &embedding_op) continue;
            const std::string& ids = graph.value(graph.storage(node.inputs[ops::embedding::ids_])).name;
            if (ids != "distances" && ids != "source.distances") continue;
            const Array buckets = plan.read(ids),
                        table = plan.read(graph.value(graph.storage(node.inputs[ops::embedding::w_])).name);
            const std::int64_t heads = table.shape()[1], reach = std::ssize(buckets.values()) / 2,
                               shown = std::min(reach, tokens_);
            const std::int64_t columns = encoder ? 2 * shown + 1 : shown + 1;
            const std::string whose = encoder ? "encoder" : "decoder";
            PositionScheme made{.id = "distance",
                                .text = format("distance biases of the {}: {} learned buckets for each of {} heads, "
                                               "added to scores; beyond {} tokens all alike",
                                               whose, table.shape()[0], heads, reach),
                                .numbers = {},
                                .panel = panel_of("distance biases of the " + whose + ": what is added to a score",
                                                  "head", "key's position − query's", heads, columns)};
            made.panel.column_marks = round_marks(static_cast<int>(columns), 10, static_cast<int>(-shown));
            made.panel.maximum = largest_of(table);
            made.panel.value = [=](int head, int column) {
                return static_cast<double>(
                    table(static_cast<std::int64_t>(at(buckets.values(), reach - shown + column)), head));
            };
            found_.push_back(std::move(made));
            return;
        }
    }

    /// A weight that is read as positions, or sinusoids.
    void add_table(const Graph& graph, const Node& node, const ModelRoles& roles, std::size_t index, Plan& plan) {
        for (std::size_t operand = 0; operand < node.inputs.size(); ++operand) {
            if (node.inputs[operand] < 0) continue;
            const Value& value = graph.value(graph.storage(node.inputs[operand]));
            if (value.name.starts_with("sinusoidal.") && is_new(value.name))
                found_.push_back(sinusoids(tokens_, value.type.shape[1], session_.context()));
            if (value.kind != ValueKind::weight || roles.of_operand(index, operand) != ModelRole::positions ||
                is_types(graph, node))
                continue;
            if (is_distances(graph, node) || !is_new(value.name)) continue;
            const std::int64_t rows = value.type.shape.elements() / value.type.shape[-1];
            const Array table =
                plan.read(value.name, value.type.shape.rank() == 2 ? Range{0, std::min(rows, tokens_)} : Range());
            found_.push_back(learned(value.name, table, rows));
        }
    }
    static bool reads(const Graph& graph, const Node& node, std::initializer_list<const char*> names) {
        if (node.op != &embedding_op) return false;
        const std::string& ids = graph.value(graph.storage(node.inputs[ops::embedding::ids_])).name;
        return std::ranges::count(names, ids) > 0;
    }
    static bool is_types(const Graph& graph, const Node& node) { return reads(graph, node, {model_names::types}); }
    static bool is_distances(const Graph& graph, const Node& node) {
        return reads(graph, node, {"distances", "source.distances"});
    }

    const Model& model_;
    Session& session_;
    std::int64_t tokens_;
    std::set<std::string> known_;
    std::vector<PositionScheme> found_;
};

}  // namespace

std::vector<PositionScheme> position_schemes(const Model& model, Session& session, std::int64_t tokens) {
    PositionReader reader(model, session, tokens);
    if (config_of(model).kind == ModelKind::encoder_decoder) reader.add_all(true);
    reader.add_all(false);
    return std::move(reader).take();
}

PositionScheme position_formula(const std::string& kind, std::int64_t tokens, std::int64_t width, std::int64_t heads) {
    if (kind == "sinusoidal") return sinusoids(tokens, width, tokens);
    if (kind == "rope") return rotation(tokens, rope_frequencies(width, 10000, {}), width, tokens);
    if (kind == "alibi") return slopes(tokens, alibi_slopes(heads));
    constexpr std::int64_t buckets = 32, furthest = 128;
    PositionScheme made{
        .id = "distance",
        .text = format(
            "T5's buckets: {} for both directions, exact to 7 tokens and then in steps of a logarithm, up to {} tokens",
            buckets, furthest),
        .numbers = {},
        .panel = panel_of("T5's buckets of distances, by number", "", "key's position − query's", 1, 2 * tokens + 1)};
    made.panel.column_marks = round_marks(static_cast<int>(2 * tokens + 1), 10, static_cast<int>(-tokens));
    made.panel.row_marks.clear();
    made.panel.maximum = buckets;
    const auto past = t5_relative_buckets(tokens + 1, 1, true, buckets, furthest),
               future = t5_relative_buckets(1, tokens + 1, true, buckets, furthest);
    made.panel.value = [=](int, int column) {
        return column <= tokens ? at(past, tokens - column) : at(future, column - tokens);
    };
    return made;
}

void write_positions(const std::string& path, const std::string& title, const std::vector<PositionScheme>& schemes) {
    MatrixChart chart{.title = title, .caption = {}, .panels = {}};
    for (const PositionScheme& one : schemes) {
        chart.caption += (chart.caption.empty() ? "" : "\n") + one.text;
        chart.panels.push_back(one.panel);
    }
    write_png(path, draw_matrix_chart(chart),
              {{"Title", title}, {"Description", chart.caption}, {"Software", "Vantage"}});
}

void print_positions(const std::vector<PositionScheme>& schemes, bool in_order) {
    print_line("\nPositions");
    if (schemes.empty())
        print_line("  none: the model does not tell positions apart, except by {}",
                   in_order ? "the order in which its states change" : "its causal mask");
    for (const PositionScheme& one : schemes) print_line("  {}", one.text);
}

Json positions_json(const std::vector<PositionScheme>& schemes) {
    return json_list(schemes, [](const PositionScheme& one) {
        Json json{{"kind", one.id}, {"text", one.text}};
        if (one.id == "alibi") json["slopes"] = one.numbers;
        if (one.id == "sinusoidal" || one.id == "rope") json["wavelengths"] = one.numbers;
        return json;
    });
}

}  // namespace vantage::cli
