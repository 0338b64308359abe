// Which elementwise kernels use vectors, and how transposing copies split planes into tiles. Host code.
#include "tandem/cuda/elementwise_plan.h"

#include <doctest/doctest.h>

#include "tandem/cuda/transpose_plan.h"
#include "tandem/tandem.h"

using namespace tandem;
using namespace tandem::cuda_impl;

namespace {

bool vectors(const Tensor& out, const Tensor* a, int count = 4) {
  bool all = true;
  auto collect = [&](const Piece<2>&, bool by_vectors) { all &= by_vectors; };
  for_elementwise_pieces<2>(make_plan<2>({&out, a}), count, PieceCall<2>(collect));
  return all;
}
bool vectors(const Tensor& out, const Tensor& a, int count = 4) { return vectors(out, &a, count); }

}  // namespace

TEST_CASE("vectors: aligned rows, and elements repeated along a row") {
  const Tensor x = tandem::empty({6, 8}), odd = tandem::empty({6, 7}), flat = tandem::empty({1001});
  CHECK(vectors(x, x));
  CHECK(vectors(x, nullptr));
  CHECK(vectors(odd, odd));  // one dimension of 42: the remainder goes element by element
  CHECK(vectors(x, tandem::empty({8})));
  CHECK(vectors(x, tandem::empty({6, 1})));
  CHECK(vectors(x, tandem::empty({})));
  CHECK(vectors(x.t(), x.t()));
  CHECK(vectors(x.slice(1, 4), x.slice(1, 0, 4)));
  CHECK(vectors(flat.slice(0, 0, 1000), flat.slice(0, 0, 1000)));
  CHECK(vectors(x, tandem::empty({6, 8}, kByte)));
  // Rows that are not whole vectors, or do not start at a vector boundary.
  CHECK_FALSE(vectors(odd, tandem::empty({7})));
  CHECK_FALSE(vectors(x.slice(1, 0, 6), x.slice(1, 0, 6)));
  CHECK_FALSE(vectors(x.slice(1, 1, 5), x.slice(1, 0, 4)));
  CHECK_FALSE(vectors(x.slice(1, 0, 4), odd.slice(1, 0, 4)));
  CHECK_FALSE(vectors(flat.slice(0, 1), flat.slice(0, 1)));
  CHECK_FALSE(vectors(x, tandem::empty({8, 6}).t()));
  CHECK_FALSE(vectors(x.slice(1, 0, 8, 2), x.slice(1, 0, 4)));
}

TEST_CASE("every piece of a tensor with more than 2^31 elements uses vectors") {
  LoopPlan<2> plan;  // made up: nothing is read
  plan.ndim = 1;
  plan.sizes[0] = plan.numel = (int64_t{1} << 33) + 12345;
  plan.strides[0] = {1, 1};
  char* const base = reinterpret_cast<char*>(uintptr_t{1} << 40);
  plan.data = {base, base};
  plan.item_sizes = {4, 4};
  int64_t covered = 0, pieces = 0;
  auto collect = [&](const Piece<2>& piece, bool by_vectors) {
    CHECK(by_vectors);
    CHECK(piece.data[0] == base + 4 * covered);
    covered += piece.numel;
    ++pieces;
  };
  for_elementwise_pieces<2>(plan, 4, PieceCall<2>(collect));
  CHECK(covered == plan.numel);
  CHECK(pieces <= 9);
}

TEST_CASE("tiles cover every element of a transposing copy once") {
  const auto covers = [](const Tensor& out, const Tensor& in, int side) {
    const LoopPlan<2> plan = make_plan<2>({&out, &in});
    REQUIRE(transpose_applies(plan));
    std::map<std::pair<uint32_t, uint32_t>, int> wanted, got;
    for_pieces(plan, [&](const Piece<2>& piece) {
      for (uint32_t p = 0; p < piece.numel; ++p) {
        const auto [at] = piece.walk.offsets(p);
        ++wanted[{at[0], at[1]}];
      }
      const TransposePlan t(piece, side);
      const auto n = static_cast<uint32_t>(side);
      for (uint32_t number = 0; number < t.tiles; ++number) {
        const TransposeTile at = t.tile(number, n);
        for (uint32_t r = at.row; r < std::min(at.row + n, t.rows); ++r)
          for (uint32_t c = at.column; c < std::min(at.column + n, t.columns); ++c)
            ++got[{at.out + r + c * t.column_out, at.in + r * t.row_in + c}];
      }
    });
    CHECK(got == wanted);
  };
  const auto row_major = [](const Tensor& t) { return tandem::empty(t.sizes()); };
  const auto both = [&](const Tensor& in) { covers(row_major(in), in, 32), covers(row_major(in), in, 64); };
  both(tandem::empty({100, 70}).t());
  both(tandem::empty({3, 40, 50}).permute({2, 0, 1}));
  both(tandem::empty({4, 33, 9, 10}).permute({0, 2, 3, 1}));
  both(tandem::empty({9, 1031}).t());
  both(tandem::empty({100, 70}).slice(1, 3, 60).t());
}

TEST_CASE("no tiles for copies along rows, narrow copies or small copies") {
  const auto tiles = [](const Tensor& out, const Tensor& in) { return transpose_applies(make_plan<2>({&out, &in})); };
  const Tensor x = tandem::empty({100, 100});
  CHECK(tiles(x, x.t()));
  CHECK_FALSE(tiles(x, x));
  CHECK_FALSE(tiles(x.t(), x.t()));
  CHECK_FALSE(tiles(x, x.slice(0, 0, 1)));
  CHECK_FALSE(tiles(tandem::empty({7, 5000}), tandem::empty({5000, 7}).t()));
  CHECK_FALSE(tiles(tandem::empty({30, 30}), tandem::empty({30, 30}).t()));
}
