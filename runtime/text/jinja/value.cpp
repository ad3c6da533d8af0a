#include "runtime/text/jinja/value.h"

#include <algorithm>
#include <compare>
#include <optional>

#include "runtime/base/json.h"
#include "runtime/text/jinja/strings.h"

namespace vantage::text::jinja {

void fail(const std::string& what) { throw Problem{ErrorKind::bad_file, what}; }
void not_supported(const std::string& what) { throw Problem{ErrorKind::unsupported, what + " is not supported"}; }

// ---- making ---------------------------------------------------------------------------------------------------------

void Dict::set(const std::string& key, Value value) {
    const auto [place, added] = places.emplace(key, entries.size());
    if (added)
        entries.emplace_back(key, std::move(value));
    else
        entries[place->second].second = std::move(value);
}

const Value* Dict::find(std::string_view key) const {
    const auto place = places.find(key);
    return place == places.end() ? nullptr : &entries[place->second].second;
}

void Budget::step(std::size_t count) {
    steps_ += count;
    if (steps_ > limits_.steps) fail("more than {} steps: the template does not end", limits_.steps);
}

void Budget::make(std::size_t bytes) {
    made_ += std::min(bytes, limits_.made + 1);
    if (made_ > limits_.made) fail("more than {} MiB of strings were created", limits_.made >> 20);
}

// What one takes beside its content, with the allocations.
constexpr std::size_t text_bytes = 80, list_bytes = 64, element_bytes = 64, entry_bytes = 192;

Value Budget::text(std::string text) {
    make(text_bytes + text.size());
    return std::make_shared<const std::string>(std::move(text));
}

namespace {

int depth_of(const Value& value) {
    if (const ListRef* list = as<ListRef>(value)) return (*list)->depth;
    if (const DictRef* dict = as<DictRef>(value)) return (*dict)->depth;
    return 0;
}

// Printing, comparing and freeing a value takes a stack frame per level.
int depth_around(int deepest) {
    if (deepest >= deepest_value) fail("lists and mappings nested deeper than {} levels", deepest_value);
    return deepest + 1;
}

}  // namespace

Value missing(const std::string& name, Budget& budget) {
    budget.make(name.size());
    return Undefined{std::make_shared<const std::string>(name)};
}

Value Budget::list(Values items, bool tuple) {
    make(list_bytes + items.size() * element_bytes);
    int deepest = 0;
    for (const Value& item : items) deepest = std::max(deepest, depth_of(item));
    return std::make_shared<const List>(List{std::move(items), tuple, depth_around(deepest)});
}

Value Budget::dict(Dict dict) {
    int deepest = 0;
    for (const auto& [key, value] : dict.entries) {
        make(entry_bytes + 2 * key.size());
        deepest = std::max(deepest, depth_of(value));
    }
    dict.depth = depth_around(deepest);
    return std::make_shared<const Dict>(std::move(dict));
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

const char* kind_of(const Value& value) {
    static constexpr const char* names[] = {"undefined", "none",   "true or false", "an integer",  "a number",
                                            "a text",    "a list", "a mapping",     "a namespace", "a function"};
    return names[value.index()];
}

bool is_undefined(const Value& value) { return as<Undefined>(value) != nullptr; }
bool is_none(const Value& value) { return as<None>(value) != nullptr; }

void require_defined(const Value& value) {
    const auto* undefined = as<Undefined>(value);
    if (undefined == nullptr) return;
    fail(undefined->name ? in_quotes(*undefined->name) + " is undefined" : "an undefined value is used");
}

const std::int64_t* integer_in(const Value& value) {
    static constexpr std::int64_t bits[] = {0, 1};
    if (const bool* flag = as<bool>(value)) return &bits[*flag ? 1 : 0];
    return as<std::int64_t>(value);
}

std::int64_t integer_of(const Value& value, const char* what) {
    require_defined(value);
    if (const std::int64_t* integer = integer_in(value)) return *integer;
    fail("{} is {}, wanted an integer", what, kind_of(value));
}

const std::string& text_of(const Value& value, const char* what) {
    require_defined(value);
    if (const std::string* text = text_in(value)) return *text;
    fail("{} is {}, wanted a text", what, kind_of(value));
}

bool is_number(const Value& value) { return integer_in(value) != nullptr || as<double>(value) != nullptr; }

double number_of(const Value& value) {
    const std::int64_t* integer = integer_in(value);
    return integer != nullptr ? static_cast<double>(*integer) : *as<double>(value);
}

// ---- truth and equality ---------------------------------------------------------------------------------------------

bool truth(const Value& value) {
    if (is_number(value)) return number_of(value) != 0;
    if (const std::string* text = text_in(value)) return !text->empty();
    if (const ListRef* list = as<ListRef>(value)) return !(*list)->items.empty();
    if (const DictRef* dict = as<DictRef>(value)) return !(*dict)->entries.empty();
    return !is_undefined(value) && !is_none(value);
}

namespace {

bool equal_lists(const List& a, const List& b, Budget& budget) {
    return a.tuple == b.tuple &&
           std::ranges::equal(a.items, b.items, [&](const Value& x, const Value& y) { return equal(x, y, budget); });
}

bool equal_dicts(const Dict& a, const Dict& b, Budget& budget) {
    return a.entries.size() == b.entries.size() && std::ranges::all_of(a.entries, [&](const auto& entry) {
               const Value* other = b.find(entry.first);
               return other != nullptr && equal(entry.second, *other, budget);
           });
}

std::partial_ordering order_of_numbers(const Value& a, const Value& b) {
    const std::int64_t *left = integer_in(a), *right = integer_in(b);
    if (left != nullptr && right != nullptr) return *left <=> *right;
    return number_of(a) <=> number_of(b);
}

}  // namespace

bool equal(const Value& a, const Value& b, Budget& budget) {
    budget.step();
    if (is_number(a) && is_number(b)) return std::is_eq(order_of_numbers(a, b));
    if (a.index() != b.index()) return false;
    if (const std::string* text = text_in(a)) {
        budget.read(text->size());
        return *text == *text_in(b);
    }
    if (const ListRef* list = as<ListRef>(a)) return equal_lists(**list, **as<ListRef>(b), budget);
    if (const DictRef* dict = as<DictRef>(a)) return equal_dicts(**dict, **as<DictRef>(b), budget);
    if (Namespace* const* space = as<Namespace*>(a)) return *space == *as<Namespace*>(b);
    if (const Function* const* function = as<const Function*>(a)) return *function == *as<const Function*>(b);
    return true;  // none equals none, undefined equals undefined
}

bool less(const Value& a, const Value& b) {
    require_defined(a), require_defined(b);
    if (is_number(a) && is_number(b)) return std::is_lt(order_of_numbers(a, b));
    const std::string *left = text_in(a), *right = text_in(b);
    if (left != nullptr && right != nullptr) return *left < *right;
    fail("there is no order of {} and {}", kind_of(a), kind_of(b));
}

bool contains(const Value& container, const Value& item, Budget& budget) {
    if (const std::string* text = text_in(container)) {
        require_defined(item);
        const std::string* part = text_in(item);
        if (part == nullptr) fail("{} cannot be in a text", kind_of(item));
        budget.read(text->size());
        return text->find(*part) != std::string::npos;
    }
    if (const DictRef* dict = as<DictRef>(container)) {
        const std::string* key = text_in(item);
        return key != nullptr && (*dict)->find(*key) != nullptr;
    }
    if (const ListRef* list = as<ListRef>(container))
        return std::ranges::any_of((*list)->items, [&](const Value& one) { return equal(one, item, budget); });
    if (is_undefined(container)) return false;
    fail("nothing can be in {}", kind_of(container));
}

// ---- parts ----------------------------------------------------------------------------------------------------------

Values elements(const Value& value, Budget& budget) {
    Values all;
    if (const ListRef* list = as<ListRef>(value)) {
        budget.make((*list)->items.size() * sizeof(Value));
        all = (*list)->items;
    } else if (const DictRef* dict = as<DictRef>(value)) {
        budget.make((*dict)->entries.size() * element_bytes);
        for (const auto& [key, ignored] : (*dict)->entries) all.push_back(budget.text(key));
    } else if (const std::string* text = text_in(value)) {
        budget.make(text->size() * element_bytes);
        all.reserve(character_count(*text));
        for (const std::string_view one : characters(*text)) all.push_back(budget.text(std::string(one)));
    } else if (!is_undefined(value)) {
        fail("{} cannot be gone over", kind_of(value));
    }
    return all;
}

std::size_t length(const Value& value, Budget& budget) {
    if (const std::string* text = text_in(value)) {
        budget.read(text->size());
        return character_count(*text);
    }
    if (const ListRef* list = as<ListRef>(value)) return (*list)->items.size();
    if (const DictRef* dict = as<DictRef>(value)) return (*dict)->entries.size();
    if (is_undefined(value)) return 0;
    fail("{} has no length", kind_of(value));
}

namespace {

// Resolves a Python index; negative ones count from the end. Nothing if it is out of range.
std::optional<std::size_t> place_of(std::int64_t index, std::size_t size) {
    const auto count = static_cast<std::int64_t>(size);
    if (index < -count || index >= count) return std::nullopt;
    return static_cast<std::size_t>(index < 0 ? index + count : index);
}

Value missing(const Value& key, Budget& budget) {
    const std::string* name = text_in(key);
    return missing(name != nullptr ? *name : str(key, budget), budget);
}

// Resolves a bound of a slice, like CPython's PySlice_AdjustIndices.
std::int64_t bound_of(const Value& bound, std::int64_t default_value, std::int64_t size, bool backwards) {
    if (is_none(bound)) return default_value;
    std::int64_t at = integer_of(bound, "a slice's bound");
    if (at < 0) at = std::max(at, -1 - size) + size;
    return std::clamp<std::int64_t>(at, backwards ? -1 : 0, backwards ? size - 1 : size);
}

std::vector<std::size_t> places_of(const SliceBounds& bounds, std::size_t size, Budget& budget) {
    const std::int64_t step = is_none(bounds.step) ? 1 : integer_of(bounds.step, "a slice's step");
    if (step == 0) fail("a slice's step is 0");
    const auto count = static_cast<std::int64_t>(size);
    const bool backwards = step < 0;
    std::int64_t at = bound_of(bounds.begin, backwards ? count - 1 : 0, count, backwards);
    const std::int64_t end = bound_of(bounds.end, backwards ? -1 : count, count, backwards);
    std::vector<std::size_t> places;
    while (backwards ? at > end : at < end) {
        budget.make(2 * sizeof(std::size_t));  // a list grows by doubling
        places.push_back(static_cast<std::size_t>(at));
        const std::int64_t left = end - at;  // avoids overflow: step may be near the limits of its type
        if (backwards ? step <= left : step >= left) break;
        at += step;
    }
    return places;
}

}  // namespace

Value item_of(const Value& value, const Value& key, Budget& budget) {
    require_defined(value);
    if (const DictRef* dict = as<DictRef>(value)) {
        const std::string* name = text_in(key);
        const Value* found = name == nullptr ? nullptr : (*dict)->find(*name);
        return found != nullptr ? *found : missing(key, budget);
    }
    const std::int64_t* index = integer_in(key);
    if (const ListRef* list = as<ListRef>(value); list != nullptr && index != nullptr) {
        const auto place = place_of(*index, (*list)->items.size());
        return place ? (*list)->items[*place] : missing(key, budget);
    }
    if (const std::string* text = text_in(value); text != nullptr && index != nullptr) {
        budget.read(16 * text->size());  // charges for each character
        const auto place = place_of(*index, character_count(*text));
        return place ? budget.text(std::string(character(*text, *place))) : missing(key, budget);
    }
    if (const std::string* name = text_in(key)) return attribute_of(value, *name, budget);
    return missing(key, budget);
}

Value attribute_of(const Value& value, const std::string& name, Budget& budget) {
    require_defined(value);
    if (Namespace* const* space = as<Namespace*>(value))
        if (const auto field = (*space)->fields.find(name); field != (*space)->fields.end()) return field->second;
    if (const DictRef* dict = as<DictRef>(value))
        if (const Value* found = (*dict)->find(name)) return *found;
    return missing(name, budget);
}

Value slice_of(const Value& value, const SliceBounds& bounds, Budget& budget) {
    require_defined(value);
    if (const ListRef* list = as<ListRef>(value)) {
        Values items;
        for (const std::size_t place : places_of(bounds, (*list)->items.size(), budget))
            items.push_back((*list)->items[place]);
        return budget.list(std::move(items), (*list)->tuple);
    }
    if (const std::string* text = text_in(value)) {
        budget.make(text->size() * sizeof(std::string_view));
        const std::vector<std::string_view> all = characters(*text);
        std::string out;
        for (const std::size_t place : places_of(bounds, all.size(), budget)) out += all[place];
        return budget.text(std::move(out));
    }
    fail("{} cannot be sliced", kind_of(value));
}

}  // namespace vantage::text::jinja
