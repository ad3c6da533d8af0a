#include "heads_table.h"

#include <algorithm>

#include "progress.h"
#include "runtime/models/config.h"

namespace vantage::cli {

std::vector<HeadRow> head_rows(const HeadSurvey& survey) {
    std::vector<HeadRow> rows;
    for (int layer = 0; layer < survey.layers(); ++layer)
        for (int head = 0; head < survey.heads(); ++head) {
            const HeadStatistics& numbers = survey.of(layer, head);
            rows.push_back({.layer = layer, .head = head, .numbers = &numbers, .pattern = habit_of(numbers)});
        }
    for (const TellingHead& telling : telling_heads(survey.numbers(), survey.heads(), rows.size()))
        rows[static_cast<std::size_t>(telling.layer * survey.heads() + telling.head)].telling = telling.score;
    return rows;
}

void add_value_reads(const HeadSurvey& survey, std::vector<HeadRow>& rows) {
    Session& session = survey.session();
    const std::vector<std::int32_t> marks = survey.sequence().marks();
    Progress progress("weighing values");
    for (int layer = 0; layer < survey.layers(); ++layer) {
        progress.show(layer, survey.layers());
        const auto weighed = [&](bool projected) {
            const HeadTable table = session.head_statistics(layer, marks, session.value_norms(layer, projected));
            return head_statistics(table.rows, table.keys, survey.sequence(), survey.heads(), survey.causal());
        };
        const std::vector<HeadStatistics> bare = weighed(false), projected = weighed(true);
        for (int head = 0; head < survey.heads(); ++head) {
            const auto i = static_cast<std::size_t>(head);
            const HeadStatistics& numbers = projected[i];
            rows[static_cast<std::size_t>(layer * survey.heads()) + i].values = {
                .first = numbers.total > 0 ? numbers.first / numbers.total : 0,
                .strongest = numbers.strongest,
                .strongest_unprojected = bare[i].strongest};
        }
    }
}

std::vector<std::pair<const char*, double>> numbers_of(const HeadRow& row) {
    const HeadStatistics& n = *row.numbers;
    std::vector<std::pair<const char*, double>> all = {{"telling", row.telling},
                                                       {"entropy", n.entropy},
                                                       {"relative_entropy", n.relative_entropy},
                                                       {"effective_tokens", n.effective},
                                                       {"largest", n.largest},
                                                       {"distance", n.distance},
                                                       {"self", n.self},
                                                       {"previous", n.previous},
                                                       {"next", n.next},
                                                       {"first", n.first},
                                                       {"near", n.near},
                                                       {"delimiters", n.delimiters},
                                                       {"on_keys", n.total},
                                                       {"copies", n.induction},
                                                       {"repeats", n.duplicate},
                                                       {"previous_score", n.previous_score},
                                                       {"duplicate_score", n.duplicate_score},
                                                       {"induction_score", n.induction_score}};
    if (row.loss_change) all.emplace_back("loss_change", *row.loss_change);
    if (row.values) all.emplace_back("first_by_values", row.values->first);
    return all;
}

std::vector<std::string> sort_keys() {
    const HeadStatistics none;
    std::vector<std::string> keys{"head"};
    for (const auto& [name, value] :
         numbers_of({.numbers = &none, .pattern = {}, .loss_change = 0.0, .values = ValueReads{}}))
        keys.emplace_back(name);
    return keys;
}

void sort_rows(std::vector<HeadRow>& rows, const std::string& key) {
    if (key == "head") return;
    const auto value = [&](const HeadRow& row) {
        for (const auto& [name, number] : numbers_of(row))
            if (key == name) return number;
        throw Error(ErrorKind::usage, "heads: --sort " + key + " goes with " +
                                          (key == "loss_change" ? "--ablate" : "--values") + ", which measures it");
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const HeadRow& a, const HeadRow& b) { return value(a) > value(b); });
}

}  // namespace vantage::cli
