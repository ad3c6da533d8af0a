// Array: indexing, rows, ranges, and its NumPy files.
#include "vantage/array.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <numeric>

#include "expect_error.h"
#include "runtime/base/files.h"
#include "runtime/base/npy.h"
#include "temporary_directory.h"

using namespace vantage;

namespace {

Array counted(const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    std::iota(values.begin(), values.end(), 0.0f);
    return {shape, values};
}

}  // namespace

TEST_CASE("an array is indexed by all of its dimensions") {
    const Array a = counted({2, 3, 4});
    CHECK(a(0, 0, 0) == 0);
    CHECK(a(1, 2, 3) == 23);
    CHECK(a(1, std::int64_t{0}, 2u) == 14);
    CHECK(counted({})() == 0);
    test::expect_error(ErrorKind::usage, {"2 indices", "[2, 3, 4]"}, [&] { static_cast<void>(a(0, 0)); });
    test::expect_error(ErrorKind::usage, {"index 3 of axis 1", "[2, 3, 4]"}, [&] { static_cast<void>(a(0, 3, 0)); });
    test::expect_error(ErrorKind::usage, {"index -1 of axis 0"}, [&] { static_cast<void>(a(-1, 0, 0)); });
    test::expect_error(ErrorKind::usage, {"5 values", "[2, 3]", "6"}, [] { Array({2, 3}, std::vector<float>(5)); });
}

TEST_CASE("the row of an array is the part at its first index") {
    const Array a = counted({2, 3, 4});
    CHECK(a.row(1).shape() == Shape{3, 4});
    CHECK(a.row(1).row(2)(3) == 23);
    CHECK(a.row(1).row(2).row(3)() == 23);
    float sum = 0;
    for (const float value : a.row(0)) sum += value;
    CHECK(sum == 66);
    test::expect_error(ErrorKind::usage, {"row 2", "[2, 3, 4]"}, [&] { static_cast<void>(a.row(2)); });
    test::expect_error(ErrorKind::usage, {"scalar"}, [] { static_cast<void>(counted({}).row(0)); });
}

TEST_CASE("an empty array says so") {
    CHECK(Array().empty());
    CHECK(Array().shape() == Shape{0});
    CHECK(counted({3, 0}).empty());
    CHECK_FALSE(counted({1}).empty());
}

TEST_CASE("a range is all of an axis unless it says otherwise") {
    CHECK(Range().within(7, "keys") == rows(0, 7));
    CHECK(Range{.first = 3}.within(7, "keys") == rows(3, 4));
    CHECK(rows(2, 5).within(7, "keys") == rows(2, 5));
    CHECK(rows(7, 0).within(7, "keys").end() == 7);
    for (const Range range : {rows(-1, 2), rows(3, 5), rows(8, 0), rows(0, -2), rows(1, INT64_MAX)})
        test::expect_error(ErrorKind::usage, {"keys", "7"}, [&] { static_cast<void>(range.within(7, "keys")); });
}

TEST_CASE("an array is saved as NumPy reads it") {
    const test::TemporaryDirectory directory;
    counted({2, 3}).save(directory.path("a.npy"));
    const std::string file = read_file(directory.path("a.npy"));
    REQUIRE(file.size() == 128 + 6 * 4);
    CHECK(file.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
    CHECK(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }") == 10);
    CHECK(file[127] == '\n');
    float last = 0;
    std::memcpy(&last, file.data() + 128 + 5 * 4, 4);
    CHECK(last == 5);
    CHECK(npy_file({5}, counted({5}).values()).find("'shape': (5,)") != std::string::npos);
    CHECK(npy_file({}, counted({}).values()).find("'shape': ()") != std::string::npos);
    test::expect_error(ErrorKind::bad_file, {"no/such"}, [] { counted({1}).save("no/such/folder/a.npy"); });
}
