// Sizes and strides: products, overflow, broadcasting, overlap, and dimensions by number.
#include "tandem/core/dims.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kHalf63 = int64_t{1} << 62;

// Whether two indices have one offset, by trying all.
bool overlap_by_hand(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  std::vector<int64_t> offsets{0};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> next;
    for (const int64_t offset : offsets)
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(offset + i * strides[d]);
    offsets = next;
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

}  // namespace

TEST_CASE("the number of elements") {
  CHECK(checked_numel({}) == 1);
  CHECK(checked_numel({2, 1, 3}) == 6);
  CHECK(checked_numel({kMost}) == kMost);
  CHECK(checked_numel({int64_t{1} << 31, int64_t{1} << 31}) == kHalf63);
  CHECK(checked_numel({kHalf63, 4, 0}) == 0);  // the product of the others does not matter
  CHECK(checked_numel({0, kHalf63, 4}) == 0);
  CHECK(error_of([] { checked_numel({kHalf63, 2}); }) == "too many elements: [4611686018427387904, 2]");
  CHECK(error_of([] { checked_numel({2, -1}); }) == "sizes must not be negative, got [2, -1]");
  CHECK(error_of([] { checked_numel({0, -1}); }) == "sizes must not be negative, got [0, -1]");
}

TEST_CASE("strides of row-major tensors") {
  CHECK(contiguous_strides({}) == Dims());
  CHECK(contiguous_strides({5}) == Dims{1});
  CHECK(contiguous_strides({4, 2, 3}) == Dims{6, 3, 1});
  CHECK(contiguous_strides({4, 0, 3}) == Dims{3, 3, 1});
  CHECK(contiguous_strides({1, kHalf63}) == Dims{kHalf63, 1});
  CHECK(error_of([] { contiguous_strides({0, kHalf63, 2}); }) == "too many elements: [0, 4611686018427387904, 2]");
}

TEST_CASE("shapes that broadcast, and those that do not") {
  const struct {
    Dims a, b, both;
  } cases[] = {{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {2, 3}},         {{}, {4}, {4}}, {{}, {}, {}}, {{1}, {0}, {0}},
               {{0}, {1}, {0}},          {{5, 1, 7}, {6, 1}, {5, 6, 7}}};
  for (const auto& c : cases) {
    CHECK(broadcast_sizes(c.a, c.b, "add") == c.both);
    CHECK(broadcast_sizes(c.b, c.a, "add") == c.both);
  }
  CHECK(error_of([] {
          broadcast_sizes({2, 3}, {4, 3}, "add");
        }) == "add: shapes [2, 3] and [4, 3] do not broadcast: 2 against 4 at dimension 0");
  CHECK(error_of([] {
          broadcast_sizes({3}, {2, 4}, "mul");
        }) == "mul: shapes [3] and [2, 4] do not broadcast: 3 against 4 at dimension 1");
  CHECK(error_of([] { broadcast_sizes({0}, {2}, "mul"); }) ==
        "mul: shapes [0] and [2] do not broadcast: 0 against 2 at dimension 0");
}

TEST_CASE("overlap is found exactly in small windows") {
  int overlapping = 0;
  for (int64_t a = 0; a <= 4; ++a)
    for (int64_t b = 0; b <= 4; ++b)
      for (int64_t c = 0; c <= 3; ++c)
        for (int64_t s = 0; s <= 6; ++s)
          for (int64_t t = 0; t <= 6; ++t)
            for (const int64_t u : {0, 1, 5, 13}) {
              const std::vector<int64_t> sizes{a, b, c}, strides{s, t, u};
              const bool want = overlap_by_hand(sizes, strides);
              overlapping += want;
              if (overlaps_itself(sizes, strides) != want) {
                INFO(concat(IntArrayRef(sizes), IntArrayRef(strides)));
                CHECK(overlaps_itself(sizes, strides) == want);
              }
            }
  CHECK(overlapping > 1000);
  CHECK_FALSE(overlaps_itself({}, {}));
}

TEST_CASE("from 64 million elements on, windows whose strides do not nest count as overlapping") {
  const int64_t step = (int64_t{1} << 24) + 2;  // the offsets 0, step, 2 step, and those plus `other`
  for (const int64_t past : {-1, 0, 1}) {
    const int64_t other = (int64_t{1} << 26) + past - 2 * step;
    CHECK(overlaps_itself({3, 2}, {step, other}) == (past >= 0));
  }
  CHECK_FALSE(overlaps_itself({3, 2}, {step, 3 * step}));  // these nest
}

TEST_CASE("dimensions by number") {
  CHECK(wrap_dim(0, 0) == 0);
  CHECK(wrap_dim(-1, 0) == 0);
  CHECK(wrap_dim(2, 3) == 2);
  CHECK(wrap_dim(-3, 3) == 0);
  for (const int64_t wrong : {3, -4})
    CHECK(error_of([&] { wrap_dim(wrong, 3); }) == concat("dimension ", wrong, " is out of range: expected -3 to 2"));
  for (const int64_t wrong : {1, -2})
    CHECK(error_of([&] { wrap_dim(wrong, 0); }) == concat("dimension ", wrong, " is out of range: expected -1 to 0"));
  CHECK(dim_mask({}, 3) == 7);
  CHECK(dim_mask({}, 0) == 1);
  CHECK(dim_mask({}, 3, false) == 0);
  CHECK(dim_mask({0, -1}, 3) == 5);
  CHECK(error_of([] { dim_mask({1, -2}, 3); }) == "dimension -2 appears twice in [1, -2]");
  CHECK(error_of([] { dim_mask({3}, 3); }) == "dimension 3 is out of range: expected -3 to 2");
}

TEST_CASE("limits of a tensor's size") {
  const Device cpu(kCPU, 0);
  CHECK(error_of([&] { empty_raw({int64_t{1} << 44}, kFloat, cpu); }) ==
        "too many elements: [17592186044416] of float32");  // 64 TiB
  CHECK(error_of([&] { empty_raw({kHalf63}, kDouble, cpu); }) == "too many elements: [4611686018427387904] of float64");
  CHECK(empty_raw({0, kHalf63}, kDouble, cpu).numel() == 0);
  const std::vector<int64_t> most(kMaxDims, 1), more(kMaxDims + 1, 1);
  CHECK(empty_raw(most, kFloat, cpu).dim() == int64_t{kMaxDims});
  CHECK(error_of([&] { empty_raw(more, kFloat, cpu); }) ==
        concat("a tensor has at most ", kMaxDims, " dimensions, got ", kMaxDims + 1));
  const Tensor matrix = empty_raw({2, 3}, kFloat, cpu), number = empty_raw({}, kFloat, cpu);
  CHECK(matrix.size(-1) == 3);
  CHECK(matrix.stride(-2) == 3);
  CHECK(error_of([&] { matrix.size(2); }) == "dimension 2 is out of range: expected -2 to 1");
  CHECK(error_of([&] { matrix.stride(-3); }) == "dimension -3 is out of range: expected -2 to 1");
  CHECK(error_of([&] { number.size(0); }) == "dimension 0 specified but the tensor has no dimensions");
  CHECK(error_of([&] { matrix.item(); }) ==
        concat("item: expected one element, the tensor is [2, 3] float32 ", matrix.device()));
}

TEST_CASE("dense tensors without gaps, in any order of dimensions") {
  const struct {
    Dims sizes, strides;
    bool dense;
  } cases[] = {{{2, 3}, {3, 1}, true},
               {{2, 3}, {1, 2}, true},
               {{2, 3}, {4, 1}, false},
               {{2, 3}, {6, 2}, false},
               {{2, 1, 3}, {3, 77, 1}, true},
               {{2, 3, 4}, {4, 8, 1}, true},
               {{2, 3, 4}, {1, 8, 2}, true},
               {{2, 3, 4}, {1, 2, 5}, false},
               {{3}, {0}, false},
               {{1}, {5}, true},
               {{0, 3}, {7, 9}, true},
               {{}, {}, true},
               {{2, 2}, {1, 1}, false},
               {{4, 2, 3}, {1, 12, 4}, true},
               {{1, 1}, {0, 0}, true}};
  const Tensor memory = empty_raw({100}, kFloat, Device(kCPU, 0));
  for (const auto& c : cases) {
    INFO(concat(c.sizes, " ", c.strides));
    CHECK(alias(memory, c.sizes, c.strides, 0).is_non_overlapping_and_dense() == c.dense);
  }
}
