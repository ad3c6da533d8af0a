// Python's operators, and range(). Integers have 64 bits; overflow is an error.
#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/text/jinja/functions.h"

namespace vantage::text::jinja {

namespace {

std::int64_t checked(const std::string& sign, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    const bool overflow = sign == "+"   ? __builtin_add_overflow(a, b, &out)
                          : sign == "-" ? __builtin_sub_overflow(a, b, &out)
                                        : __builtin_mul_overflow(a, b, &out);
    if (overflow) fail("an integer exceeds 64 bits");
    return out;
}

// Rounded towards minus infinity; the remainder has the sign of the divisor.
Value divided(const std::string& sign, std::int64_t a, std::int64_t b) {
    if (b == -1) return sign == "%" ? Value(std::int64_t{0}) : Value(checked("-", 0, a));
    const std::int64_t rest = a % b, down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
    return sign == "%" ? Value(rest + down * b) : Value(a / b - down);
}

Value real(const std::string& sign, double a, double b) {
    if (sign == "+") return a + b;
    if (sign == "-") return a - b;
    if (sign == "*") return a * b;
    if (sign == "/") return a / b;
    double rest = std::fmod(a, b);  // like CPython's float_divmod
    double quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b, quotient -= 1;
    if (rest == 0) rest = std::copysign(0.0, b);
    if (sign == "%") return rest;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double floor = std::floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value of_numbers(const std::string& sign, const Value& a, const Value& b) {
    if ((sign == "/" || sign == "//" || sign == "%") && number_of(b) == 0) fail("division by zero");
    const std::int64_t *left = integer_in(a), *right = integer_in(b);
    if (left == nullptr || right == nullptr || sign == "/") return real(sign, number_of(a), number_of(b));
    return sign == "//" || sign == "%" ? divided(sign, *left, *right) : Value(checked(sign, *left, *right));
}

std::size_t times(const std::int64_t* count, std::size_t bytes, Budget& budget) {
    const auto n = static_cast<std::size_t>(std::clamp<std::int64_t>(*count, 0, std::int64_t{1} << 31));
    budget.make(n * std::min<std::size_t>(bytes, std::size_t{1} << 31));
    return n;
}

Value repeated(const Value& value, const std::int64_t* count, Budget& budget) {
    if (const std::string* text = text_in(value)) {
        const std::size_t n = times(count, text->size(), budget);
        std::string out;
        for (std::size_t i = 0; i < n && !text->empty(); ++i) out += *text;
        return budget.text(std::move(out));
    }
    const List& list = **as<ListRef>(value);
    const std::size_t n = times(count, list.items.size() * sizeof(Value), budget);
    Values out;
    for (std::size_t i = 0; i < n && !list.items.empty(); ++i)
        out.insert(out.end(), list.items.begin(), list.items.end());
    return budget.list(std::move(out), list.tuple);
}

bool is_sequence(const Value& value) { return text_in(value) != nullptr || as<ListRef>(value) != nullptr; }

std::optional<Value> joined(const Value& a, const Value& b, Budget& budget) {
    if (const std::string *left = text_in(a), *right = text_in(b); left != nullptr && right != nullptr) {
        budget.make(left->size() + right->size());
        return budget.text(*left + *right);
    }
    const ListRef *left = as<ListRef>(a), *right = as<ListRef>(b);
    if (left == nullptr || right == nullptr || (*left)->tuple != (*right)->tuple) return std::nullopt;
    budget.make(((*left)->items.size() + (*right)->items.size()) * sizeof(Value));
    Values items = (*left)->items;
    items.insert(items.end(), (*right)->items.begin(), (*right)->items.end());
    return budget.list(std::move(items), (*left)->tuple);
}

}  // namespace

Value calculated(const std::string& sign, const Value& a, const Value& b, Budget& budget) {
    if (sign == "~") return budget.text(str(a, budget) + str(b, budget));
    require_defined(a), require_defined(b);
    if (is_number(a) && is_number(b)) return of_numbers(sign, a, b);
    if (sign == "+")
        if (std::optional<Value> both = joined(a, b, budget)) return *both;
    if (sign == "*" && is_sequence(a) && integer_in(b) != nullptr) return repeated(a, integer_in(b), budget);
    if (sign == "*" && is_sequence(b) && integer_in(a) != nullptr) return repeated(b, integer_in(a), budget);
    if (sign == "%" && text_in(a) != nullptr) not_supported("formatting a text with %");
    fail("{} {} {} has no meaning", kind_of(a), sign, kind_of(b));
}

Value negated(const Value& value) {
    require_defined(value);
    if (const std::int64_t* integer = integer_in(value)) return checked("-", 0, *integer);
    if (const double* number = as<double>(value)) return -*number;
    fail("- of {}", kind_of(value));
}

Value range(const Arguments& arguments, Budget& budget) {
    const auto given = arguments.bind("range", {"start", "stop", "step"});
    if (given[0] == nullptr) fail("range() wants an end");
    const auto bound = [&](std::size_t i) { return integer_of(*given[i], "a bound of range()"); };
    const std::int64_t begin = given[1] == nullptr ? 0 : bound(0), end = bound(given[1] == nullptr ? 0 : 1),
                       step = given[2] == nullptr ? 1 : bound(2);
    if (step == 0) fail("range() with a step of 0");
    constexpr std::size_t maximum = 100'000;  // the limit of Jinja's sandbox
    Values all;
    for (std::int64_t at = begin; step > 0 ? at < end : at > end; at = checked("+", at, step)) {
        if (all.size() == maximum) fail("range() of more than {}", maximum);
        all.emplace_back(at);
    }
    return budget.list(std::move(all));
}

}  // namespace vantage::text::jinja
