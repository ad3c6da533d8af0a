// Where a word is in a text, and how alike vectors are.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "runtime/inspect/word_vectors.h"

using namespace vantage;

namespace {
using Offsets = std::vector<std::pair<std::size_t, std::size_t>>;
using Tokens = std::pair<std::size_t, std::size_t>;
}  // namespace

TEST_CASE("a word's tokens are those that overlap its first whole occurrence", "[words]") {
    //                                [CLS]   The     banker  's      bank    s       bank    [SEP]
    const Offsets offsets{{0, 0}, {0, 3}, {4, 10}, {10, 12}, {13, 17}, {17, 18}, {19, 23}, {0, 0}};
    CHECK(tokens_of_word("The banker's banks bank", "bank", offsets) == Tokens{6, 7});
    CHECK(tokens_of_word("The banker's banks bank", "banks", offsets) == Tokens{4, 6});  // two pieces
    CHECK(tokens_of_word("The banker's banks bank", "The", offsets) == Tokens{1, 2});
    CHECK(tokens_of_word("The banker's banks bank", "Bank", offsets) == Tokens{0, 0});
    CHECK(tokens_of_word("The banker's banks bank", "", offsets) == Tokens{0, 0});
    // code points, not bytes; a token with its leading space
    CHECK(tokens_of_word("Öl bank", "bank", Offsets{{0, 2}, {2, 7}}) == Tokens{1, 2});
    CHECK(tokens_of_word("Die Bänke", "Bänke", Offsets{{0, 3}, {3, 5}, {5, 9}}) == Tokens{1, 3});
    CHECK(tokens_of_word("xbank bank.", "bank", Offsets{{0, 1}, {1, 5}, {5, 10}, {10, 11}}) == Tokens{2, 3});
}

TEST_CASE("vectors of several tokens are their mean, and cosines are what they are", "[words]") {
    const Array hidden(Shape{2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    CHECK(mean_vector(hidden, 0, 1, 2) == std::vector<double>{3, 4});
    CHECK(mean_vector(hidden, 1, 0, 3) == std::vector<double>{9, 10});
    CHECK(cosine(std::vector<double>{1, 0}, std::vector<double>{1, 1}) == Catch::Approx(std::sqrt(0.5)));
    CHECK(cosine(std::vector<double>{2, 1}, std::vector<double>{-4, -2}) == Catch::Approx(-1));
    CHECK(std::isnan(cosine(std::vector<double>{0, 0}, std::vector<double>{1, 1})));
}
