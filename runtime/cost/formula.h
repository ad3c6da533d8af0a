// Formulas of costs: sums of products of a model's sizes, such as 24·L·d² + 4·L·d·n.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Values of the symbols. A symbol is one letter. b, the bytes of a cached number, is counted in sixteenths, as those
/// of quantised numbers are no whole ones: 17 of q8_0, 32 of f16.
using SymbolValues = std::map<char, std::int64_t>;
inline constexpr int cached_parts = 16;
/// As formulas take it: whole, or the bytes of a cached number.
inline double value_of(char symbol, const SymbolValues& values) {
    return static_cast<double>(values.at(symbol)) / (symbol == 'b' ? cached_parts : 1);
}

/// A polynomial in the symbols with integer coefficients. Products are sorted in the order LlkEVCdHKDfgnmwb.
class Formula {
public:
    Formula() = default;  ///< 0
    Formula(std::int64_t number) { *this += term("", number); }
    /// A symbol or a product of symbols: "d", "HD".
    static Formula of(const std::string& symbols) { return term(symbols, 1); }

    Formula& operator+=(const Formula& other);
    friend Formula operator+(Formula a, const Formula& b) { return a += b; }
    friend Formula operator*(const Formula& a, const Formula& b);
    bool operator==(const Formula&) const = default;
    bool zero() const { return terms_.empty(); }

    /// Substitutes a symbol: f = 4·d.
    Formula with(char symbol, const Formula& instead) const;
    /// Factors `value` out of coefficients that are multiples of it, as the symbol: 24·d² = 2·L·d² for L = 12.
    Formula in_units_of(char symbol, std::int64_t value) const;
    /// The terms with at least `share` of the value.
    Formula larger_terms(double share, const SymbolValues& values) const;
    std::size_t terms() const { return terms_.size(); }
    /// Throws std::out_of_range for a symbol without a value. Exact up to 2^53.
    double value(const SymbolValues& values) const;
    /// "24·L·d² + 4·L·d·n": L·d² before L·d before V·d.
    std::string text() const;

private:
    static Formula term(const std::string& symbols, std::int64_t coefficient);
    std::map<std::string, std::int64_t> terms_;  // sorted symbols → coefficient, never 0
};

}  // namespace vantage::internal
