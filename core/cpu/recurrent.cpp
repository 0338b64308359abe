// The steps of recurrent layers on the CPU.
#include <algorithm>

#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/recurrent_math.h"

namespace tandem::cpu {
namespace {

// Calls f(j) for j < n. Elements are independent; a compiler cannot see that from a dozen pointers.
template <class F>
inline __attribute__((always_inline)) void for_elements(int64_t n, F f) {
#ifndef __clang__
#pragma GCC ivdep
#endif
  for (int64_t j = 0; j < n; ++j) f(j);
}

// Calls f(row) for the rows of a step, in chunks that depend only on the size.
template <class F>
void for_rows(int64_t rows, int64_t size, F f) {
  parallel_for(rows, std::max<int64_t>(1, kGrain / 16 / std::max<int64_t>(1, size)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r);
  });
}

void forward(const RecurrentForward& step, int64_t at, int64_t rows) {
  dispatch(step.gates.dtype(), FloatTypes{}, "recurrent_forward", [&]<class T>(Type<T>) {
    ops::with_cell(step.kind, [&]<class Cell>(Cell) {
      const ops::CellForward<T> s = ops::cell_forward<T>(step, at);
      const bool save = step.h_prev.defined();
      for_rows(rows, s.size, [&](int64_t r) {
        const ops::CellForward<T> row = ops::row_of<Cell>(s, r);
        if (save)
          for_elements(row.size, [row](int64_t j) { Cell::template forward<true>(row, j); });
        else
          for_elements(row.size, [row](int64_t j) { Cell::template forward<false>(row, j); });
      });
    });
  });
}

void backward(const RecurrentBackward& step, int64_t at, int64_t rows) {
  dispatch(step.gates.dtype(), FloatTypes{}, "recurrent_backward", [&]<class T>(Type<T>) {
    ops::with_cell(step.kind, [&]<class Cell>(Cell) {
      const ops::CellBackward<T> s = ops::cell_backward<T>(step, at);
      for_rows(rows, s.size, [&](int64_t r) {
        const ops::CellBackward<T> row = ops::row_of<Cell>(s, r);
        for_elements(row.size, [row](int64_t j) { Cell::backward(row, j); });
      });
    });
  });
}

// B of gemm: the weight [K, N] with contiguous rows or contiguous columns.
template <class T>
void set_weight(GemmArgs<T>& g, const Tensor& weight) {
  g.k = weight.size(0);
  g.n = weight.size(1);
  g.b = weight.ptr<T>();
  g.trans_b = weight.stride(1) != 1 && g.n > 1;
  g.ldb = std::max<int64_t>(1, weight.stride(g.trans_b ? 1 : 0));
}

Tensor pack(const Tensor& weight) {
  Tensor packed;
  dispatch(weight.dtype(), FloatTypes{}, "recurrent_pack", [&]<class T>(Type<T>) {
    GemmArgs<T> g;
    set_weight(g, weight);
    packed = empty_raw({packed_b_size<T>(g.n, g.k)}, weight.dtype(), weight.device());
    pack_b(g, packed.ptr<T>());
  });
  return packed;
}

void product(const StepProduct& p, int64_t to_at, int64_t from_at, int64_t rows) {
  dispatch(p.to.dtype(), FloatTypes{}, "recurrent_product", [&]<class T>(Type<T>) {
    GemmArgs<T> g;
    set_weight(g, p.weight);
    g.m = rows;
    g.a = p.from.ptr<T>() + from_at * p.from.size(1);
    g.lda = std::max<int64_t>(1, p.from.size(1));
    g.packed_b = p.packed.ptr<T>();
    g.c = p.to.ptr<T>() + to_at * p.to.size(1);
    g.ldc = std::max<int64_t>(1, p.to.size(1));
    g.beta = p.add ? T(1) : T(0);
    gemm(g);
  });
}

}  // namespace

constinit const RecurrentKernels recurrent_kernels{
    .forward = forward, .backward = backward, .pack = pack, .product = product};

}  // namespace tandem::cpu
