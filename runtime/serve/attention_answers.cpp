#include "runtime/serve/attention_answers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/serve/request_fields.h"
#include "runtime/session/model_access.h"

namespace vantage::serve {

using namespace internal;

namespace {

constexpr std::int64_t max_top = 64, max_told_numbers = std::int64_t{1} << 20,
                       max_weights = std::int64_t{1} << 28,  // that are computed for one request
    weights_at_once = std::int64_t{1} << 20;

std::vector<std::int64_t> layers_of(RequestFields& fields, const ModelInfo& info) {
    const std::vector<std::int64_t>& attending = info.layers_of(AttentionKind::self);
    const Json& wanted = fields.at("layers");
    if (wanted.is_null() || wanted == "all") return attending;
    if (!wanted.is_array() || wanted.empty()) RequestFields::wrong("layers", wanted, "\"all\" or a list of layers");
    std::vector<std::int64_t> layers;
    for (const Json& layer : wanted) {
        if (!layer.is_number_integer() || std::ranges::count(attending, layer.get<std::int64_t>()) == 0)
            RequestFields::wrong("layers", layer, "a layer: " + attending_text(info, AttentionKind::self));
        layers.push_back(layer.get<std::int64_t>());
    }
    std::ranges::sort(layers);
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
}

std::optional<std::vector<HeadId>> heads_of(RequestFields& fields, const ModelInfo& info,
                                            std::vector<std::int64_t>& layers) {
    const Json& wanted = fields.at("heads");
    if (wanted.is_null() || wanted == "mean") return std::nullopt;
    std::vector<HeadId> heads;
    if (wanted == "each") {
        for (const std::int64_t layer : layers)
            for (std::int64_t head = 0; head < info.heads; ++head) heads.push_back({.layer = layer, .head = head});
        return heads;
    }
    const std::string form = "\"mean\", \"each\", or a list of [layer, head]";
    if (!wanted.is_array() || wanted.empty()) RequestFields::wrong("heads", wanted, form);
    layers.clear();
    for (const Json& one : wanted) {
        const bool is_pair =
            one.is_array() && one.size() == 2 && one[0].is_number_integer() && one[1].is_number_integer();
        if (!is_pair) RequestFields::wrong("heads", one, form);
        const HeadId head{.layer = one[0].get<std::int64_t>(), .head = one[1].get<std::int64_t>()};
        if (!info.attends(head.layer, AttentionKind::self) || head.head < 0 || head.head >= info.heads)
            RequestFields::wrong(
                "heads", one,
                format("a head of {} with heads 0 … {}", attending_text(info, AttentionKind::self), info.heads - 1));
        heads.push_back(head);
        if (std::ranges::count(layers, head.layer) == 0) layers.push_back(head.layer);
    }
    std::ranges::sort(layers);
    return heads;
}

std::optional<Range> range_of(RequestFields& fields, const char* name) {
    const Json& wanted = fields.at(name);
    if (wanted.is_null()) return std::nullopt;
    if (!wanted.is_array() || wanted.size() != 2) RequestFields::wrong(name, wanted, "[first, count]");
    return Range{whole_number(wanted[0], name, 0, INT32_MAX), whole_number(wanted[1], name, 1, INT32_MAX)};
}

/// The weights [rows, keys] of one head, or the mean of a layer's.
std::vector<double> weights_of(Session& session, std::int64_t layer, std::optional<std::int64_t> head, Range rows,
                               std::int64_t keys, bool by_value) {
    const std::int64_t heads = session.model().info().heads;
    std::vector<double> sum(static_cast<std::size_t>(rows.count * keys));
    const Array norms = by_value ? session.value_norms(layer, true) : Array();
    for (std::int64_t h = head.value_or(0); h < head.value_or(heads - 1) + 1; ++h) {
        const Array p = session.attention({.layer = layer, .head = h}, rows, {0, keys});
        for (std::int64_t i = 0; i < rows.count; ++i) {
            const std::span<const float> row =
                p.values().subspan(static_cast<std::size_t>(i * keys), static_cast<std::size_t>(keys));
            const auto weight = [&](std::size_t j) {
                return static_cast<double>(row[j]) *
                       (by_value ? static_cast<double>(norms(static_cast<std::int64_t>(j), h)) : 1.0);
            };
            double all = by_value ? 0 : 1;
            if (by_value)
                for (std::size_t j = 0; j < row.size(); ++j) all += weight(j);
            for (std::size_t j = 0; j < row.size() && all > 0; ++j)
                sum[static_cast<std::size_t>(i * keys) + j] += weight(j) / all;
        }
    }
    if (!head)
        for (double& x : sum) x /= static_cast<double>(heads);
    return sum;
}

double rounded(double weight) { return std::round(weight * 1e6) / 1e6; }

/// The largest weights of a row, and what is known of the others.
Json reads_of(std::span<const double> row, std::int64_t top) {
    std::vector<std::int64_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    const auto most = order.begin() + std::min<std::ptrdiff_t>(top, std::ssize(order));
    const auto weight = [&](std::int64_t i) { return row[static_cast<std::size_t>(i)]; };
    std::partial_sort(order.begin(), most, order.end(), [&](std::int64_t a, std::int64_t b) {
        return weight(a) != weight(b) ? weight(a) > weight(b) : a < b;
    });
    double all = 0, told = 0, entropy = 0;
    for (const double p : row) {
        all += p;
        if (p > 0) entropy -= p * std::log(p);
    }
    Json at = Json::array(), w = Json::array();
    for (auto i = order.begin(); i != most && weight(*i) > 0; ++i) {
        at.push_back(*i);
        w.push_back(rounded(weight(*i)));
        told += weight(*i);
    }
    constexpr double rounding = 1e-4;  // of f32 sums: a row without a sink
    return {{"at", std::move(at)},
            {"w", std::move(w)},
            {"rest", rounded(std::max(0.0, all - told))},
            {"sink", all > 1 - rounding ? 0.0 : rounded(1 - all)},
            {"entropy", rounded(entropy)}};
}

}  // namespace

AttentionRequest parse_attention(const Json& body, const ServedModel& model) {
    const ModelInfo& info = model.info;
    if (model.is_encoder() || info.layers_of(AttentionKind::self).empty() || info.encoder_layers > 0)
        throw ApiError(400, format("{} is no decoder with attention", described(info)));
    RequestFields fields(body);
    AttentionRequest request;
    const std::optional<std::string> id = fields.text("id");
    if (!id) throw ApiError(400, "\"id\" is missing: that of an answer", "id");
    request.id = *id;
    request.choice = static_cast<std::size_t>(fields.integer("choice", 0, 1024).value_or(0));
    request.layers = layers_of(fields, info);
    request.heads = heads_of(fields, info, request.layers);
    request.rows = range_of(fields, "rows").value_or(Range{.first = -1});
    request.keys = range_of(fields, "keys").value_or(Range());
    request.top = fields.integer("top", 0, max_top).value_or(request.top);
    const std::string by = fields.text("by").value_or("weight");
    if (by != "weight" && by != "value") RequestFields::wrong("by", by, "weight or value");
    request.by_value = by == "value";
    request.ignored = fields.unknown();
    return request;
}

Session& AttentionAnswers::session_for(const AttentionRequest& request, const KeptText& text, const Model& model) {
    const bool records = std::ranges::includes(layers_, request.layers),
               is_here = std::exchange(device_, &model.device().state()) == &model.device().state();
    if (!session_ || !records || !is_here || session_->context() < std::ssize(text.ids)) {
        session_.reset();
        SessionOptions options = options_;
        options.record_attention = {.layers = request.layers};
        options.cache.reset();
        const auto size = static_cast<std::int64_t>(std::bit_ceil(text.ids.size()));
        options.context = std::min(model.info().context, std::max<std::int64_t>(size, 64));
        session_.emplace(model, options);
        layers_ = request.layers;
    }
    const auto same = std::ranges::mismatch(session_->tokens(), text.ids).in1 - session_->tokens().begin();
    session_->rewind(same);
    session_->append(std::span(text.ids).subspan(static_cast<std::size_t>(same)));
    session_->run();
    return *session_;
}

Json AttentionAnswers::answer(const AttentionRequest& request, const KeptText& text, const Model& model) {
    const std::int64_t places = std::ssize(text.ids);
    Range rows =
        request.rows.first < 0 ? Range{text.prompt - 1, std::max<std::int64_t>(places - text.prompt, 1)} : request.rows;
    if (rows.end() > places)
        throw ApiError(400, format("\"rows\" end at {}, but there are {} places", rows.end(), places), "rows");
    const Range keys = request.keys.count == Range::all ? Range{0, places} : request.keys;
    if (keys.end() > places)
        throw ApiError(400, format("\"keys\" end at {}, but there are {} places", keys.end(), places), "keys");
    const std::int64_t maps = request.heads ? std::ssize(*request.heads) : std::ssize(request.layers);
    if (maps * rows.count * (request.top > 0 ? request.top : keys.count) > max_told_numbers ||
        maps * rows.count * places * (request.heads ? 1 : model.info().heads) > max_weights)
        throw ApiError(400, format("at most {} numbers, of at most {} weights: ask for fewer rows, layers or heads",
                                   max_told_numbers, max_weights));

    Session& session = session_for(request, text, model);
    Json row_list = Json::array(), windows = Json::array();
    for (std::int64_t i = 0; i < rows.count; ++i)
        row_list.push_back({{"row", rows.first + i}, {"reads", Json::array()}});
    const std::int64_t rows_each = std::max<std::int64_t>(1, weights_at_once / places);
    const auto add = [&](std::int64_t layer, std::optional<std::int64_t> head) {
        Json place = {{"layer", layer}, {"head", head ? Json(*head) : Json("mean")}};
        Json window = Json::array();
        for (std::int64_t first = 0; first < rows.count; first += rows_each) {
            const Range some{rows.first + first, std::min(rows_each, rows.count - first)};
            const std::vector<double> p = weights_of(session, layer, head, some, places, request.by_value);
            for (std::int64_t i = 0; i < some.count; ++i) {
                const std::span<const double> row =
                    std::span(p).subspan(static_cast<std::size_t>(i * places), static_cast<std::size_t>(places));
                if (request.top > 0) {
                    Json reads = place;
                    reads.update(reads_of(row, request.top));
                    row_list[static_cast<std::size_t>(first + i)]["reads"].push_back(std::move(reads));
                    continue;
                }
                const auto wanted =
                    row.subspan(static_cast<std::size_t>(keys.first), static_cast<std::size_t>(keys.count));
                window.push_back(std::vector<float>(wanted.begin(), wanted.end()));
            }
        }
        if (request.top > 0) return;
        place["first_row"] = rows.first;
        place["first_key"] = keys.first;
        place["weights"] = std::move(window);
        windows.push_back(std::move(place));
    };
    if (request.heads)
        for (const HeadId& head : *request.heads) add(head.layer, head.head);
    else
        for (const std::int64_t layer : request.layers) add(layer, std::nullopt);

    Json texts = Json::array();
    for (const std::int32_t id : text.ids) {
        const Tokenizer& tokenizer = model.tokenizer();
        texts.push_back(tokenizer.is_special(id) ? tokenizer.token_text(id) : tokenizer.token_bytes(id));
    }
    Json told = {
        {"id", request.id}, {"choice", request.choice}, {"places", std::move(texts)}, {"prompt_tokens", text.prompt}};
    if (request.top > 0)
        told["rows"] = std::move(row_list);
    else
        told["windows"] = std::move(windows);
    return told;
}

}  // namespace vantage::serve
