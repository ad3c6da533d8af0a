#include "runtime/cost/formula.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vantage::internal {

namespace {

// Position of a symbol in a product: counts, then sizes of the model, then those of a run.
std::size_t place_of(char symbol) { return std::string("LlkEVCdHKDfgnmwb").find(symbol); }
bool stands_before(char a, char b) { return place_of(a) < place_of(b); }
// L·d² before L·d before V·d.
bool comes_first(const std::string& a, const std::string& b) {
    const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return in_b == b.end() ? in_a != a.end() : in_a != a.end() && stands_before(*in_a, *in_b);
}

std::string product_text(const std::string& symbols) {
    static const std::vector<std::string> powers = {"", "", "²", "³", "⁴"};
    std::string text;
    for (std::size_t i = 0; i < symbols.size();) {
        std::size_t power = 1;
        while (i + power < symbols.size() && symbols[i + power] == symbols[i] && power + 1 < powers.size()) ++power;
        text += (text.empty() ? "" : "·") + std::string(1, symbols[i]) + powers[power];
        i += power;
    }
    return text;
}

}  // namespace

Formula Formula::term(const std::string& symbols, std::int64_t coefficient) {
    Formula formula;
    std::string sorted = symbols;
    std::sort(sorted.begin(), sorted.end(), stands_before);
    if (coefficient != 0) formula.terms_[sorted] = coefficient;
    return formula;
}

Formula& Formula::operator+=(const Formula& other) {
    for (const auto& [symbols, coefficient] : other.terms_)
        if ((terms_[symbols] += coefficient) == 0) terms_.erase(symbols);
    return *this;
}

Formula operator*(const Formula& a, const Formula& b) {
    Formula product;
    for (const auto& [left, m] : a.terms_)
        for (const auto& [right, n] : b.terms_) product += Formula::term(left + right, m * n);
    return product;
}

Formula Formula::with(char symbol, const Formula& instead) const {
    Formula result;
    for (const auto& [symbols, coefficient] : terms_) {
        Formula one = coefficient;
        for (const char each : symbols) one = one * (each == symbol ? instead : of(std::string(1, each)));
        result += one;
    }
    return result;
}

Formula Formula::in_units_of(char symbol, std::int64_t value) const {
    Formula result;
    for (const auto& [symbols, coefficient] : terms_)
        result += coefficient % value == 0 ? term(symbols + symbol, coefficient / value) : term(symbols, coefficient);
    return result;
}

Formula Formula::larger_terms(double share, const SymbolValues& values) const {
    Formula result;
    for (const auto& [symbols, coefficient] : terms_)
        if (const Formula one = term(symbols, coefficient);
            std::abs(one.value(values)) >= share * std::abs(value(values)))
            result += one;
    return result;
}

double Formula::value(const SymbolValues& values) const {
    double sum = 0;
    for (const auto& [symbols, coefficient] : terms_) {
        auto product = static_cast<double>(coefficient);
        for (const char each : symbols) product *= value_of(each, values);
        sum += product;
    }
    return sum;
}

std::string Formula::text() const {
    std::vector<std::pair<std::string, std::int64_t>> terms(terms_.begin(), terms_.end());
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return comes_first(a.first, b.first); });
    std::string text;
    for (const auto& [symbols, coefficient] : terms) {
        text += text.empty() ? (coefficient < 0 ? "-" : "") : coefficient < 0 ? " - " : " + ";
        const std::string number = std::to_string(coefficient < 0 ? -coefficient : coefficient);
        text += symbols.empty() ? number : number == "1" ? product_text(symbols) : number + "·" + product_text(symbols);
    }
    return text.empty() ? "0" : text;
}

}  // namespace vantage::internal
