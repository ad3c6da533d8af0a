#include "runtime/text/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/text/unicode.h"

namespace vantage::text::jinja {

// ---- numbers --------------------------------------------------------------------------------------------------------

// The shortest digits that parse back to the same number. Like Python, with an exponent below 1e-4 and from 1e16 on.
std::string number_text(double number) {
    if (!std::isfinite(number)) return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
    char buffer[512];
    const double size = std::abs(number);
    const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
    const auto [end, ignored] = std::to_chars(buffer, buffer + sizeof buffer, number,
                                              plain ? std::chars_format::fixed : std::chars_format::scientific);
    const std::string text(buffer, end);
    return plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

// ---- str and repr ---------------------------------------------------------------------------------------------------

namespace {

// Python's repr: single quotes, unless the text contains single but no double quotes.
std::string quoted(const std::string& text, Budget& budget) {
    budget.make(5 * text.size());  // four for what it could become, one for itself
    const bool single = text.find('\'') == std::string::npos || text.find('"') != std::string::npos;
    const char quote = single ? '\'' : '"';
    std::string out(1, quote);
    for (const auto [code, begin, end] : Characters{text}) {
        if (code == '\\' || code == static_cast<unsigned char>(quote))
            out.append(1, '\\').append(1, static_cast<char>(code));
        else if (code == '\n')
            out += "\\n";
        else if (code == '\r')
            out += "\\r";
        else if (code == '\t')
            out += "\\t";
        else if (!is_invisible(code))
            out.append(text, begin, end - begin);
        else
            out += code < 0x100     ? format("\\x{:02x}", unsigned{code})
                   : code < 0x10000 ? format("\\u{:04x}", unsigned{code})
                                    : format("\\U{:08x}", unsigned{code});
    }
    return out + quote;
}

}  // namespace

std::string str(const Value& value, Budget& budget) {
    if (const std::string* text = text_in(value)) {
        budget.make(text->size());
        return *text;
    }
    if (is_undefined(value)) return {};
    if (is_none(value)) return "None";
    if (const bool* flag = as<bool>(value)) return *flag ? "True" : "False";
    if (const std::int64_t* integer = as<std::int64_t>(value)) return std::to_string(*integer);
    if (const double* number = as<double>(value)) return number_text(*number);
    if (as<ListRef>(value) != nullptr || as<DictRef>(value) != nullptr) return repr(value, budget);
    fail("{} has no text", kind_of(value));
}

std::string repr(const Value& value, Budget& budget) {
    budget.step();
    if (const std::string* text = text_in(value)) return quoted(*text, budget);
    if (const ListRef* list = as<ListRef>(value)) {
        const std::string items =
            internal::join((*list)->items, ", ", [&](const Value& item) { return repr(item, budget); });
        budget.make(items.size() + 2);
        if (!(*list)->tuple) return "[" + items + "]";
        return "(" + items + ((*list)->items.size() == 1 ? ",)" : ")");  // (1,)
    }
    if (const DictRef* dict = as<DictRef>(value)) {
        const auto entry = [&](const auto& one) { return quoted(one.first, budget) + ": " + repr(one.second, budget); };
        const std::string entries = internal::join((*dict)->entries, ", ", entry);
        budget.make(entries.size() + 2);
        return "{" + entries + "}";
    }
    return is_undefined(value) ? "Undefined" : str(value, budget);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

namespace {

class JsonPrinter {
public:
    JsonPrinter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}
    std::string take() { return std::move(out_); }

    void print(const Value& value) {
        budget_.step();
        if (const std::string* text = text_in(value))
            put_text(*text);
        else if (const ListRef* list = as<ListRef>(value))
            put_all((*list)->items, '[', ']', [&](const Value& item) { print(item); });
        else if (const DictRef* dict = as<DictRef>(value))
            put_dict(**dict);
        else
            put(scalar(value));
    }

private:
    void put(std::string_view text) {
        budget_.make(text.size());
        out_ += text;
    }
    void put_text(const std::string& text) {
        budget_.make(6 * text.size());
        put(Json(text).dump(-1, ' ', style_.ascii, Json::error_handler_t::replace));
    }
    static std::string scalar(const Value& value) {
        if (is_none(value)) return "null";
        if (const bool* flag = as<bool>(value)) return *flag ? "true" : "false";
        if (const std::int64_t* integer = as<std::int64_t>(value)) return std::to_string(*integer);
        const double* number = as<double>(value);
        if (number == nullptr) fail("tojson: JSON cannot represent {}", kind_of(value));
        if (std::isfinite(*number)) return number_text(*number);
        return std::isnan(*number) ? "NaN" : *number < 0 ? "-Infinity" : "Infinity";
    }
    void put_dict(const Dict& dict) {
        std::vector<std::pair<std::string, Value>> entries = dict.entries;
        if (style_.sorted)
            std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        put_all(entries, '{', '}', [&](const std::pair<std::string, Value>& entry) {
            put_text(entry.first);
            put(style_.key_separator);
            print(entry.second);
        });
    }
    template <class Items, class Print>
    void put_all(const Items& items, char open, char close, const Print& print_one) {
        put(std::string(1, open));
        ++depth_;
        bool first = true;
        for (const auto& item : items) {
            if (!std::exchange(first, false)) put(style_.item_separator);
            new_line();
            print_one(item);
        }
        --depth_;
        if (!first) new_line();
        put(std::string(1, close));
    }
    static constexpr std::int64_t widest_indent = 256;
    void new_line() {
        if (!style_.indent) return;
        const auto spaces = static_cast<std::size_t>(std::clamp<std::int64_t>(*style_.indent, 0, widest_indent));
        budget_.make(spaces * depth_ + 1);
        out_.append(1, '\n').append(spaces * depth_, ' ');
    }

    const JsonStyle& style_;
    std::string out_;
    Budget& budget_;
    std::size_t depth_ = 0;
};

}  // namespace

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget) {
    JsonPrinter printer(style, budget);
    printer.print(value);
    return printer.take();
}

Value from_json(const OrderedJson& json, Budget& budget, int depth) {
    if (depth > deepest_value) fail("JSON nested deeper than {} levels", deepest_value);
    if (json.is_null()) return None{};
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_float()) return json.get<double>();
    if (json.is_number()) {
        if (const auto integer = JsonFields::integer_of(Json(json))) return *integer;
        fail("an integer of JSON is beyond 64 bits");
    }
    if (json.is_string()) return budget.text(repair_utf8(json.get_ref<const std::string&>()));
    if (json.is_array()) {
        Values items;
        for (const OrderedJson& item : json) items.push_back(from_json(item, budget, depth + 1));
        return budget.list(std::move(items));
    }
    Dict dict;
    for (const auto& [key, item] : json.items()) dict.set(repair_utf8(key), from_json(item, budget, depth + 1));
    return budget.dict(std::move(dict));
}

}  // namespace vantage::text::jinja
