#include "runtime/text/grammar/json_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace vantage::text::grammar {

namespace {

constexpr std::size_t most_digits = 16;  // before and after the point
constexpr std::uint64_t largest_whole = 9'999'999'999'999'999;

// A limit for the digits behind a point, of which those before are the same as the number's.
struct FractionEdge {
    std::string_view digits;
    bool included;
    FractionEdge behind_first() const { return {digits.substr(digits.empty() ? 0 : 1), included}; }
};
using OptionalEdge = std::optional<FractionEdge>;

void cut_zeros_at_end(std::string& digits) { digits.erase(digits.find_last_not_of('0') + 1); }

class NumberTexts {
public:
    NumberTexts(RuleBuilder& rules, bool integers) : rules_(rules), integers_(integers) {}

    Part any() {
        std::vector<Part> parts{
            rules_.optional(rules_.text("-")),
            rules_.choice({rules_.text("0"), rules_.sequence({digit('1', '9'), digits(0, most_digits - 1)})})};
        if (integers_) return rules_.sequence(std::move(parts));
        const Part sign = rules_.optional(rules_.one_of({{'+', '+'}, {'-', '-'}}));
        parts.push_back(fraction({}, {}));
        parts.push_back(
            rules_.optional(rules_.sequence({rules_.one_of({{'E', 'E'}, {'e', 'e'}}), sign, digits(1, 3)})));
        return rules_.sequence(std::move(parts));
    }

    Part between(const std::optional<NumberBound>& least, const std::optional<NumberBound>& most) {
        const auto zero = [](bool included) { return NumberBound{false, "0", "", included}; };
        const bool starts_above = least && !least->negative, ends_below = most && most->negative;
        std::vector<Part> ways;
        if (!ends_below) ways.push_back(magnitudes(starts_above ? *least : zero(true), most));
        if (!starts_above)
            ways.push_back(rules_.sequence({rules_.text("-"), magnitudes(ends_below ? *most : zero(false), least)}));
        return rules_.choice(std::move(ways));
    }

private:
    Part digit(char first, char last) {
        return rules_.one_of({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
    }
    Part digits(std::size_t least, std::size_t most) {
        return rules_.repeat(digit('0', '9'), static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
    }

    // Numbers without a sign. Whatever has more digits than we write is no limit above, and out of reach below.
    Part magnitudes(NumberBound least, std::optional<NumberBound> most) {
        if (most && most->whole.size() > most_digits) most.reset();
        if (least.whole.size() > most_digits) return rules_.never();
        const std::uint64_t first = std::stoull(least.whole), last = most ? std::stoull(most->whole) : largest_whole;
        if (integers_) {
            const bool without_first = !least.included || !least.fraction.empty();
            const bool without_last = most && !most->included && most->fraction.empty();
            return without_last && last == 0 ? rules_.never() : wholes(first + without_first, last - without_last);
        }
        if (least.fraction.size() > most_digits) least.included = false;
        if (most && most->fraction.size() > most_digits) most->included = true;
        cut(least);
        if (most) cut(*most);
        return decimals(first, FractionEdge{least.fraction, least.included}, last,
                        most ? OptionalEdge({most->fraction, most->included}) : std::nullopt);
    }
    static void cut(NumberBound& bound) {
        bound.fraction.resize(std::min(bound.fraction.size(), most_digits));
        cut_zeros_at_end(bound.fraction);
    }

    Part decimals(std::uint64_t first, const FractionEdge& least, std::uint64_t last, const OptionalEdge& most) {
        if (first > last) return rules_.never();
        const Part first_text = rules_.text(std::to_string(first));
        if (first == last) return rules_.sequence({first_text, fraction(least, most)});
        return rules_.choice({rules_.sequence({first_text, fraction(least, {})}),
                              rules_.sequence({wholes(first + 1, last - 1), fraction({}, {})}),
                              rules_.sequence({rules_.text(std::to_string(last)), fraction({}, most)})});
    }

    Part wholes(std::uint64_t first, std::uint64_t last) {
        std::vector<Part> ways;
        while (first <= last) {
            const std::string low = std::to_string(first), nines(low.size(), '9');
            const std::uint64_t end = std::min<std::uint64_t>(last, std::stoull(nines));
            ways.push_back(wholes_of_length(low, std::to_string(end)));
            first = end + 1;
        }
        return rules_.choice(std::move(ways));
    }

    // By the first digit: those after which any digits may follow, and the outer ones after which they are limited.
    Part wholes_of_length(std::string_view low, std::string_view high) {
        if (low.empty()) return rules_.nothing();
        const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
        const std::string zeros(low_rest.size(), '0'), nines(low_rest.size(), '9');
        if (low[0] == high[0] && !(low_rest == zeros && high_rest == nines))
            return rules_.sequence({digit(low[0], low[0]), wholes_of_length(low_rest, high_rest)});
        char first = low[0], last = high[0];
        std::vector<Part> ways;
        if (low_rest != zeros)
            ways.push_back(rules_.sequence({digit(first, first), wholes_of_length(low_rest, nines)})), ++first;
        if (high_rest != nines)
            ways.push_back(rules_.sequence({digit(last, last), wholes_of_length(zeros, high_rest)})), --last;
        if (first <= last) ways.push_back(rules_.sequence({digit(first, last), digits(nines.size(), nines.size())}));
        return rules_.choice(std::move(ways));
    }

    // A point and digits, or nothing where that is within the limits.
    Part fraction(const OptionalEdge& least, const OptionalEdge& most) {
        return rules_.choice({fraction_digits(least, most, 0, true),
                              rules_.sequence({rules_.text("."), fraction_digits(least, most, most_digits, false)})});
    }

    // At most `left` digits; none only if they `may_stop` here.
    Part fraction_digits(OptionalEdge least, const OptionalEdge& most, std::size_t left, bool may_stop) {
        if (least && least->digits.empty() && least->included) least.reset();
        const std::size_t fewest = may_stop ? 0 : 1;
        if (!least && !most) return digits(fewest, left);
        if (most && most->digits.empty()) {
            if (least || !most->included) return rules_.never();
            return rules_.repeat(rules_.text("0"), static_cast<std::int64_t>(fewest), static_cast<std::int64_t>(left));
        }
        std::vector<Part> ways;
        if (may_stop && !least) ways.push_back(rules_.nothing());
        if (left > 0) add_by_first_digit(least, most, left - 1, ways);
        return rules_.choice(std::move(ways));
    }

    // The digit of a limit is followed by what is within the rest of that limit, those in between by anything.
    void add_by_first_digit(const OptionalEdge& least, const OptionalEdge& most, std::size_t left,
                            std::vector<Part>& ways) {
        const char low = least && !least->digits.empty() ? least->digits[0] : '0', high = most ? most->digits[0] : '9';
        if (low > high) return;
        const auto add = [&](char first, char last, const OptionalEdge& from, const OptionalEdge& to) {
            ways.push_back(rules_.sequence({digit(first, last), fraction_digits(from, to, left, true)}));
        };
        const OptionalEdge from = least ? OptionalEdge(least->behind_first()) : std::nullopt;
        const OptionalEdge to = most ? OptionalEdge(most->behind_first()) : std::nullopt;
        if (low == high) return add(low, low, from, to);
        const char first = least ? static_cast<char>(low + 1) : low, last = most ? static_cast<char>(high - 1) : high;
        if (least) add(low, low, from, {});
        if (first <= last) add(first, last, {}, {});
        if (most) add(high, high, {}, to);
    }

    RuleBuilder& rules_;
    bool integers_;
};

// Negative where a is the smaller one.
int compare_values(const NumberBound& a, const NumberBound& b) {
    if (a.negative != b.negative) return a.negative ? -1 : 1;
    const auto digits = [](const NumberBound& bound) {
        return std::tuple(bound.whole.size(), std::string_view(bound.whole), std::string_view(bound.fraction));
    };
    const int order = digits(a) < digits(b) ? -1 : digits(b) < digits(a) ? 1 : 0;
    return a.negative ? -order : order;
}

}  // namespace

NumberBound number_bound(const jinja::OrderedJson& number, bool included) {
    std::string text = number.dump();
    if (number.is_number_float()) {
        char buffer[512];  // a double has at most 309 digits before the point, or 324 behind it
        const double value = number.get<double>();
        text.assign(buffer, std::to_chars(buffer, std::end(buffer), value, std::chars_format::fixed).ptr);
    }
    const bool minus = text.starts_with('-');
    text.erase(0, minus ? 1 : 0);
    const std::size_t point = text.find('.');
    std::string fraction = point == text.npos ? "" : text.substr(point + 1);
    cut_zeros_at_end(fraction);
    text.resize(std::min(text.size(), point));
    return {minus && (text != "0" || !fraction.empty()), text, fraction, included};
}

NumberBound higher_bound(const NumberBound& a, const NumberBound& b) {
    const int order = compare_values(a, b);
    return order > 0 || (order == 0 && !a.included) ? a : b;
}
NumberBound lower_bound(const NumberBound& a, const NumberBound& b) {
    const int order = compare_values(a, b);
    return order < 0 || (order == 0 && !a.included) ? a : b;
}

Part json_number(RuleBuilder& rules) { return NumberTexts(rules, false).any(); }
Part json_integer(RuleBuilder& rules) { return NumberTexts(rules, true).any(); }
Part json_number_between(RuleBuilder& rules, const std::optional<NumberBound>& least,
                         const std::optional<NumberBound>& most) {
    return NumberTexts(rules, false).between(least, most);
}
Part json_integer_between(RuleBuilder& rules, const std::optional<NumberBound>& least,
                          const std::optional<NumberBound>& most) {
    return NumberTexts(rules, true).between(least, most);
}

}  // namespace vantage::text::grammar
