// When a training run is said to diverge.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "runtime/train/loss_level.h"

using namespace vantage::internal;

namespace {

/// Takes the same loss again and again; which time, from 1, it is said to diverge. 0: never.
std::int64_t diverges_after(LossLevel& level, double loss, std::int64_t times) {
    for (std::int64_t i = 1; i <= times; ++i)
        if (level.diverges(loss)) return i;
    return 0;
}

}  // namespace

TEST_CASE("a loss that stays at three times its level diverges", "[train]") {
    LossLevel level;
    CHECK(std::isinf(level.best()));
    CHECK(diverges_after(level, 8, 49) == 0);
    CHECK(std::isinf(level.best()));
    CHECK(diverges_after(level, 2, 100) == 0);
    CHECK(level.best() == 2);
    CHECK(level.limit() == 6);
    CHECK(diverges_after(level, 5.9, 500) == 0);  // below
    CHECK(diverges_after(level, 6.1, 49) == 0);
    CHECK_FALSE(level.diverges(5));  // it came down
    CHECK(diverges_after(level, 6.1, 500) == LossLevel::steps);
    CHECK(diverges_after(level, 6.1, 500) == 0);  // it was said
    CHECK_FALSE(level.diverges(2));
    CHECK(diverges_after(level, 40, 500) == LossLevel::steps);
}

TEST_CASE("small losses and single steps do not diverge", "[train]") {
    LossLevel level;
    CHECK(diverges_after(level, 0.001, 60) == 0);
    CHECK(diverges_after(level, 0.9, 500) == 0);  // a thousand times the level, but less than 1 nat above it
    for (int i = 0; i < 300; ++i) CHECK_FALSE(level.diverges(i % 3 == 0 ? 0.001 : 9));
    CHECK(diverges_after(level, 1.1, 60) == LossLevel::steps - 2);  // the last two were above, too
}
