#include "viewer/panels/explanations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/at.h"

namespace vantage::view {
namespace {

using Explanation = std::pair<std::string_view, std::string_view>;

constexpr auto explanations = std::to_array<Explanation>({
    // ---- the cell
    {"query", "The token that attends: a row of the map. With its position in the text, from 0."},
    {"attends to", "The key: the token that is attended to, a column of the map."},
    {"p", "The attention weight: the share of the query's attention that this key gets. A row sums to 1."},
    {"p in A", "The attention weight of this cell in the first run."},
    {"p in B", "The attention weight of this cell in the second run."},
    {"B − A", "How much more attention the second run pays to a key."},
    {"p without key 0", "The weight among the other keys: without the first token the row sums to 1 again."},
    {"shown", "The value that the map shows: the weight with the modifiers of the heading."},
    {"observed / expected", "The weight divided by the head's mean at the same distance: 1 is usual."},
    {"expected", "The head's mean weight at this distance, over the pairs of a query and a key so far apart."},
    {"p·‖v‖", "The weight times the length of the key's value vector: a weight on a short value moves little."},
    {"logit", "The attention score before the softmax: q · k, scaled."},
    {"rank in row", "1: the key that the query attends to most."},
    {"row sum", "The sum of the row's weights. A softmax gives 1, so another sum is an error."},
    // ---- statistics of a head
    {"entropy",
     "How far attention spreads, in nat: 0 if a query attends to one token only, ln n if to n tokens equally."},
    {"effective tokens", "exp(entropy): the number of tokens that are attended to, if all of them were equally."},
    {"largest weight", "The largest weight of a row."},
    {"attention sink",
     "The weight on the first token. A large one often means that the head has nothing to attend to."},
    {"[CLS]", "The weight on the [CLS] token, which collects the whole image."},
    {"previous token", "The weight on the token just before the query."},
    {"self", "The weight on the query's own token."},
    {"induction",
     "The weight on the token that followed an earlier occurrence of the query's token: it predicts that the "
     "text repeats itself. Mean over the queries that repeat a token."},
    {"duplicate token",
     "The weight on earlier occurrences of the query's own token. Mean over the queries that repeat one."},
    {"mean distance (tokens)", "How far back the head looks: the mean distance from query to key, by weight."},
    {"mean distance (patches)", "How far the head looks: the mean distance from patch to patch, by weight."},
    {"fitted width (tokens)",
     "How wide the head looks: the width of the Gaussian around one distance that fits its weights best."},
    {"difference of A and B",
     "Half the sum of |p in B − p in A| over the keys: 0 if both runs attend alike, 1 if to "
     "other tokens altogether."},
    {"mean over rows",
     "Each number is the mean over the rows of this head's map. The line below it is its place between "
     "the smallest and the largest of all heads."},
    // ---- the map, the time and the menu bar
    {"weight",
     "What the colours of the map are: the share of a query's attention that a key gets, with the modifiers of the "
     "heading."},
    {"distance", "A column of the map: the key that is so many tokens before (−) or after (+) the query."},
    {"× expected", "What the colours of the map are: the weight divided by the head's mean at the same distance."},
    {"Time",
     "Tokens that are shown, of those that the model has read or generated. Drag the ticks to go back: those of "
     "generated tokens are taller."},
    {"scale",
     "How weights become colours. On a √ scale small weights can be told apart. Pooling (sum or max) is how "
     "weights are put together where a cell covers several."},
    {"L0, H0",
     "Layer 0 and head 0: a row for each layer, a column for each head. e0 is layer 0 of the encoder, x0 that of the "
     "cross-attention. Rows of sorted heads have the rank of their first head."},
    {"rows sum to 1", "The weights of each row were added up on the device. A softmax makes every sum 1."},
    {"slowdown", "How much of the model's time the window takes. A limit is set with --viewer-budget."},
    {"frame", "The time that the device took to draw the last picture."},
    {"tok/s", "Tokens per second that the model generates."},
    {"device", "The Vulkan device that runs the model and draws the window."},
});

/// "p" of "shown: p in A".
std::string_view without_run(std::string_view name) {
    constexpr std::string_view shown = "shown: ";
    if (name.starts_with(shown)) name.remove_prefix(shown.size());
    for (const std::string_view run : {" in A", " in B"})
        if (name.ends_with(run)) name.remove_suffix(run.size());
    return name;
}

/// Whether it is a weight with modifiers, or several of them: "p / row's maximum", "sum of 4 × 4".
bool is_shown_value(std::string_view name) {
    return std::ranges::any_of(std::array<std::string_view, 4>{"p ", "p·", "sum of ", "max of "},
                               [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

std::string_view explanation_of(std::string_view name) {
    for (const std::string_view one : {name, without_run(name)})
        if (const auto found = std::ranges::find(explanations, one, &Explanation::first); found != explanations.end())
            return found->second;
    return is_shown_value(without_run(name)) ? explanation_of("shown") : std::string_view();
}

std::string glossary() {
    std::string text;
    for (const auto& [name, meaning] : explanations) text.append(name).append(": ").append(meaning).append("\n");
    return text;
}

const char* meaning_of_large(HeadStatistic statistic) {
    static constexpr std::array meanings{
        "spread over more tokens",    "attends to more tokens",     "more on a single token", "more on the first token",
        "more on the previous token", "more on the token itself",   "more induction",         "more on the same token",
        "attends from farther away",  "attends over a wider range", "A and B differ more"};
    return at(meanings, statistic);
}

}  // namespace vantage::view
