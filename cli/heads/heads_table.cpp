#include "cli/heads/heads_table.h"

#include <algorithm>

#include "cli/shared/progress.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/inspect/effective_rank.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"

namespace vantage::cli {

namespace {
constexpr std::size_t max_salient_heads = 5;
const KeyNames renamed_keys[] = {{"telling", "salience"}, {"delimiters", "separators"}};
}  // namespace

const char* part_name(const Model& model, AttentionKind kind) {
    if (kind == AttentionKind::cross) return "cross";
    const bool is_encoder = config_of(model).kind == ModelKind::encoder;
    return is_encoder || kind == AttentionKind::encoder ? "encoder" : "decoder";
}

const char* HeadsPart::name() const { return part_name(survey.session().model(), survey.kind()); }

std::string HeadsReport::head_name(const HeadId& place) const {
    return (parts.size() > 1 && place.kind == AttentionKind::self ? "d" : "") + name_of(place);
}

std::vector<std::pair<const HeadsPart*, SalientHead>> HeadsReport::salient_heads() const {
    std::vector<std::pair<const HeadsPart*, SalientHead>> all;
    for (const HeadsPart& part : parts)
        for (const SalientHead& salient : part.survey.all_salient()) all.emplace_back(&part, salient);
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.second.score > b.second.score; });
    all.resize(std::min(all.size(), max_salient_heads));
    return all;
}

HeadsPart heads_part(Session& session, std::size_t tokens, AttentionKind kind) {
    HeadsPart part{.survey = HeadSurvey(session, tokens, kind), .rows = {}};
    const HeadSurvey& survey = part.survey;
    for (const std::int64_t layer : survey.layers())
        for (int head = 0; head < survey.heads(); ++head) {
            const HeadStatistics& numbers = survey.of(layer, head);
            part.rows.push_back({.place = {layer, head, kind}, .numbers = &numbers, .pattern = pattern_of(numbers)});
        }
    for (const SalientHead& salient :
         salient_heads(survey.numbers(), survey.heads(), part.rows.size(), survey.layers()))
        part.rows[survey.place(salient.layer, salient.head)].salience = salient.score;
    return part;
}

void add_value_reads(HeadsPart& part) {
    const HeadSurvey& survey = part.survey;
    Session& session = survey.session();
    const std::vector<std::int32_t> marks = survey.input().marks();
    Progress progress("computing value norms");
    for (const std::int64_t layer : survey.layers()) {
        progress.show(static_cast<std::int64_t>(survey.place(layer, 0)), std::ssize(part.rows));
        const auto weighed = [&](bool projected) {
            const HeadTable table = session.head_statistics(
                layer, marks, session.value_norms(layer, projected, survey.kind()), survey.kind());
            return head_statistics(table.rows, table.keys, survey.input(), survey.heads());
        };
        const std::vector<HeadStatistics> bare = weighed(false), projected = weighed(true);
        for (int head = 0; head < survey.heads(); ++head) {
            const HeadStatistics& numbers = at(projected, head);
            part.rows[survey.place(layer, head)].values = {
                .first = numbers.total == 0 ? 0 : numbers.first / numbers.total,  // NaN stays
                .strongest = numbers.strongest,
                .strongest_unprojected = at(bare, head).strongest};
        }
    }
}

void add_ranks(HeadsPart& part) {
    const HeadSurvey& survey = part.survey;
    HostTensor values;
    for_each_head("computing ranks", survey.layers(), survey.heads(), [&](std::int64_t layer, int head) {
        if (head == 0) values = SessionAccess::values(survey.session(), layer, survey.kind());
        const std::vector<float> weights = survey.weights(layer, head);
        const auto queries = static_cast<std::size_t>(survey.queries()),
                   keys = static_cast<std::size_t>(survey.tokens());
        const auto kv_heads = static_cast<std::size_t>(values.type.shape[1]),
                   width = static_cast<std::size_t>(values.type.shape[2]),
                   kv_head = static_cast<std::size_t>(head) / (static_cast<std::size_t>(survey.heads()) / kv_heads);
        std::vector<float> output(queries * width);
        for (std::size_t i = 0; i < queries; ++i)
            for (std::size_t d = 0; d < width; ++d) {
                double sum = 0;
                for (std::size_t j = 0; j < keys; ++j)
                    sum +=
                        static_cast<double>(weights[i * keys + j]) * values.data[(j * kv_heads + kv_head) * width + d];
                output[i * width + d] = static_cast<float>(sum);
            }
        const auto rank = [](std::span<const float> matrix, std::size_t rows, std::size_t columns) {
            return effective_rank(singular_values(matrix, rows, columns, throw_if_interrupted));
        };
        part.rows[survey.place(layer, head)].ranks = {.attention = rank(weights, queries, keys),
                                                      .output = rank(output, queries, width)};
    });
}

std::vector<std::pair<const char*, double>> numbers_of(const HeadRow& row) {
    const HeadStatistics& n = *row.numbers;
    std::vector<std::pair<const char*, double>> all = {{"telling", row.salience},
                                                       {"entropy", n.entropy},
                                                       {"relative_entropy", n.relative_entropy},
                                                       {"effective_tokens", n.effective},
                                                       {"largest", n.largest},
                                                       {"distance", n.distance},
                                                       {"offset", n.offset},
                                                       {"sigma", n.sigma},
                                                       {"self", n.self},
                                                       {"previous", n.previous},
                                                       {"next", n.next},
                                                       {"first", n.first},
                                                       {"near", n.near},
                                                       {"delimiters", n.separators},
                                                       {"on_keys", n.total},
                                                       {"copies", n.induction_mass()},
                                                       {"repeats", n.duplicate_mass()},
                                                       {"previous_score", n.previous_score},
                                                       {"duplicate_score", n.duplicate_score},
                                                       {"induction_score", n.induction_score},
                                                       {"similarity", n.similarity}};
    if (row.loss_change) all.emplace_back("loss_change", *row.loss_change);
    if (row.gradient) all.emplace_back("gradient", *row.gradient);
    if (row.values) all.emplace_back("first_by_values", row.values->first);
    if (row.ranks) all.emplace_back("attention_rank", row.ranks->attention);
    if (row.ranks) all.emplace_back("output_rank", row.ranks->output);
    if (row.permuted) all.emplace_back("permuted_change", row.permuted->change);
    if (row.permuted) all.emplace_back("last_largest", row.permuted->largest);
    return all;
}

std::vector<std::string> sort_keys() {
    const HeadStatistics none;
    std::vector<std::string> keys{"head"};
    for (const auto& [name, value] : numbers_of({.place = {},
                                     .numbers = &none,
                                     .pattern = {},
                                     .loss_change = 0.0,
                                     .gradient = 0.0,
                                     .values = ValueReads{},
                                     .ranks = HeadRanks{},
                                     .permuted = Permutation{}}))
        keys.push_back(names_of_key(name).shown);
    return keys;
}

KeyNames names_of_key(const std::string& key) {
    for (const KeyNames& names : renamed_keys)
        if (key == names.data || key == names.shown) return names;
    return {key, key};
}

void check_sort_key(const std::string& key, const Measured& measured) {
    const auto require = [&](const char* number, bool there, const char* option) {
        if (key == number && !there) throw usage_error("heads: --sort {} needs {}, which measures it", key, option);
    };
    require("loss_change", measured.ablate, "--ablate");
    require("gradient", measured.gradients, "--gradients");
    require("first_by_values", measured.values, "--values");
    require("attention_rank", measured.rank, "--rank");
    require("output_rank", measured.rank, "--rank");
    require("permuted_change", measured.permute, "--permute");
    require("last_largest", measured.permute, "--permute");
}

void sort_rows(std::vector<HeadRow>& rows, const std::string& key) {
    if (key == "head") return;
    std::vector<std::pair<double, HeadRow>> keyed;
    for (HeadRow& row : rows) {
        const auto numbers = numbers_of(row);
        const auto found = std::ranges::find_if(numbers, [&](const auto& number) { return number.first == key; });
        keyed.emplace_back(found->second, row);
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return larger_first(a.first, b.first); });
    std::ranges::transform(keyed, rows.begin(), [](const auto& pair) { return pair.second; });
}

}  // namespace vantage::cli
