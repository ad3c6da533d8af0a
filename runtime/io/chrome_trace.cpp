#include "runtime/io/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/files.h"

namespace vantage::internal {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int process_id = 1;
constexpr double counter_mark = -1.0;

OrderedJson json_of(const TraceArguments& arguments) {
    OrderedJson object = OrderedJson::object();
    for (const auto& [name, value] : arguments)
        std::visit([&field = object[name]](const auto& number_or_text) { field = number_or_text; }, value);
    return object;
}

/// Metadata events that name the process and its tracks.
OrderedJson naming_event(const char* what, std::size_t track, const char* key, const OrderedJson& value) {
    return {{"ph", "M"}, {"pid", process_id}, {"tid", track}, {"name", what}, {"args", {{key, value}}}};
}

void append(std::string& text, const OrderedJson& event) {
    if (text.back() != '[') text += ',';
    text += '\n';
    // Names come from models and prompts: invalid UTF-8 is replaced.
    text += event.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

void ChromeTrace::span(const std::string& track, const std::string& name, double start_us, double duration_us,
                       TraceArguments arguments) {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(tracks_, track);
    const auto index = static_cast<std::size_t>(known - tracks_.begin());
    if (known == tracks_.end()) tracks_.push_back(track);
    events_.push_back({index, name, start_us, std::max(duration_us, 0.0), std::move(arguments)});
}

void ChromeTrace::counter(const std::string& name, double at_us, double value) {
    const std::lock_guard lock(mutex_);
    events_.push_back({0, name, at_us, counter_mark, {{name, value}}});
}

std::string ChromeTrace::text() const {
    const std::lock_guard lock(mutex_);
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    append(text, naming_event("process_name", 0, "name", process_));
    for (std::size_t track = 0; track < tracks_.size(); ++track) {
        append(text, naming_event("thread_name", track + 1, "name", tracks_[track]));
        append(text, naming_event("thread_sort_index", track + 1, "sort_index", track));
    }
    for (const Event& event : events_) {
        const bool is_counter = event.duration_us < 0;
        OrderedJson json{
            {"ph", is_counter ? "C" : "X"}, {"pid", process_id}, {"name", event.name}, {"ts", event.start_us}};
        if (!is_counter) {
            json["tid"] = event.track + 1;
            json["dur"] = event.duration_us;
        }
        if (!event.arguments.empty()) json["args"] = json_of(event.arguments);
        append(text, json);
    }
    return text + "\n]}\n";
}

void ChromeTrace::write(const std::string& path) const { write_file(path, text()); }

}  // namespace vantage::internal
