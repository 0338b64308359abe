// Index arithmetic of CUDA kernels, which is plain host code: division by multiplication, walks over strided
// tensors, and splitting what does not fit in 32 bits.
#include "tandem/cuda/strided.h"

#include <doctest/doctest.h>

#include "tandem/tandem.h"

using namespace tandem;
using namespace tandem::cuda_impl;

TEST_CASE("division by multiplication is exact") {
  const uint32_t divisors[] = {1,     2,       3,          5,          7,          10,         12,
                               28,    255,     256,        257,        641,        65535,      65536,
                               65537, 1000003, 0x3fffffff, 0x40000000, 0x40000001, 0x7ffffffe, 0x7fffffff};
  for (const uint32_t d : divisors) {
    const FastDivide by(d);
    const auto agrees = [&](uint64_t n) {
      if (n >= uint64_t{1} << 31) return;
      CAPTURE(n);
      CHECK(by.quotient(static_cast<uint32_t>(n)) == n / d);
    };
    CAPTURE(d);
    for (uint64_t k = 0; k < 40; ++k)
      for (int off = -1; off <= 1; ++off) {
        if (k * d + 1 >= 1) agrees(k * d + static_cast<uint64_t>(off + 1));
        agrees((uint64_t{0x7fffffff} / d - k % (0x7fffffff / d + 1)) * d + static_cast<uint64_t>(off + 1));
      }
    uint32_t n = 12345;
    for (int i = 0; i < 2000; ++i) {
      n = n * 1664525u + 1013904223u;
      agrees(n >> 1);
    }
  }
}

namespace {

// Sums the offsets of a piece's walk and compares with nested loops over the tensors' own strides.
void walks_as_indexed(const Tensor& out, const Tensor& a, const Tensor& b) {
  std::vector<std::array<int64_t, 3>> walked, wanted;
  for_pieces(make_plan<3>({&out, &a, &b}), [&](const Piece<3>& piece) {
    for (uint32_t p = 0; p < piece.numel; ++p) {
      const auto offsets = piece.walk.offsets(p);
      walked.push_back({offsets.at[0], offsets.at[1], offsets.at[2]});
      if (!piece.dense) continue;
      for (std::size_t k = 0; k < 3; ++k) CHECK(offsets.at[k] == (piece.walk.strides[0][k] == 0 ? 0 : p));
    }
  });
  const auto offset = [&](const Tensor& t, int64_t number) {
    int64_t at = 0;
    for (int64_t d = out.dim() - 1; d >= 0; --d) {
      const int64_t index = number % out.size(d), own = d - (out.dim() - t.dim());
      if (own >= 0 && t.size(own) != 1) at += index * t.stride(own);
      number /= out.size(d);
    }
    return at;
  };
  for (int64_t i = 0; i < out.numel(); ++i) wanted.push_back({offset(out, i), offset(a, i), offset(b, i)});
  std::sort(walked.begin(), walked.end());
  std::sort(wanted.begin(), wanted.end());
  CHECK(walked == wanted);
}

}  // namespace

TEST_CASE("a walk visits the same elements as indexing") {
  const Tensor x = tandem::empty({4, 3, 5}), row = tandem::empty({5}), column = tandem::empty({4, 1, 1});
  walks_as_indexed(x, x, x);
  walks_as_indexed(x, row, column);
  walks_as_indexed(x.transpose(0, 2), x.transpose(0, 2), x.transpose(0, 2));
  walks_as_indexed(tandem::empty({5, 3, 4}), x.permute({2, 1, 0}), row.unsqueeze(1).unsqueeze(2));
  walks_as_indexed(x.select(1, 2), row, column.select(1, 0));
  walks_as_indexed(x.slice(2, 0, 5, 2), row.slice(0, 0, 5, 2), column);
  walks_as_indexed(tandem::empty({}), tandem::empty({}), tandem::empty({1}));
  walks_as_indexed(tandem::empty({1, 1}), tandem::empty({1}), tandem::empty({}));
}

TEST_CASE("dense means unit strides throughout") {
  const Tensor x = tandem::empty({4, 6}), number = tandem::empty({});
  const auto dense = [](const Tensor& out, const Tensor& a) {
    bool all = true;
    int pieces = 0;
    for_pieces(make_plan<2>({&out, &a}), [&](const Piece<2>& p) {
      all &= p.dense;
      ++pieces;
    });
    CHECK(pieces == 1);
    return all;
  };
  CHECK(dense(x, x));
  CHECK(dense(x, number));
  CHECK(dense(x.t(), x.t()));
  CHECK_FALSE(dense(x, tandem::empty({6, 4}).t()));
  CHECK_FALSE(dense(x.slice(1, 0, 6, 2), x.slice(1, 0, 6, 2)));
  CHECK_FALSE(dense(x, tandem::empty({6})));
  CHECK(dense(number, number));
}

TEST_CASE("no elements: no pieces") {
  int pieces = 0;
  const Tensor none = tandem::empty({3, 0, 2});
  for_pieces(make_plan<1>({&none}), [&](const Piece<1>&) { ++pieces; });
  CHECK(pieces == 0);
}

TEST_CASE("a plan that does not fit in 32 bits is split into pieces that cover it") {
  // Made-up plans: nothing is read or written.
  LoopPlan<2> plan;
  plan.ndim = 3;
  plan.sizes[0] = 7, plan.sizes[1] = 100003, plan.sizes[2] = 11003;
  plan.numel = plan.sizes[0] * plan.sizes[1] * plan.sizes[2];
  plan.strides[0] = {1, 100003}, plan.strides[1] = {7, 1}, plan.strides[2] = {7 * 100003, 0};
  char* const base = reinterpret_cast<char*>(uintptr_t{1} << 40);
  plan.data = {base, base};
  plan.item_sizes = {4, 8};
  int64_t covered = 0;
  char* next = base;
  for_pieces(plan, [&](const Piece<2>& piece) {
    CHECK(int64_t{piece.numel} < kMaxElements);
    CHECK(piece.data[0] == next);  // the output is dense: pieces follow each other
    CHECK(piece.data[1] == base);  // the second operand does not advance along the outermost dimension
    next += int64_t{piece.numel} * 4;
    covered += piece.numel;
    const auto last = piece.walk.offsets(piece.numel - 1);
    CHECK(last.at[0] == piece.numel - 1);
  });
  CHECK(covered == plan.numel);

  LoopPlan<1> flat;  // one dimension with stride 3
  flat.ndim = 1;
  flat.sizes[0] = flat.numel = (int64_t{1} << 33) + 5;
  flat.strides[0] = {3};
  flat.data = {base};
  flat.item_sizes = {2};
  int64_t reached = 0;
  for_pieces(flat, [&](const Piece<1>& piece) {
    CHECK(piece.data[0] == base + reached * 3 * 2);
    reached += piece.numel;
    CHECK(uint64_t{piece.walk.offsets(piece.numel - 1).at[0]} == (uint64_t{piece.numel} - 1) * 3);
  });
  CHECK(reached == flat.numel);
}
