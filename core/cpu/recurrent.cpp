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
  parallel_for_each(rows, std::max<int64_t>(1, kGrain / 16 / std::max<int64_t>(1, size)), f);
}

// Products of the rows of steps and a weight [K, N], or [N, K] if it is transposed, which is packed once.
template <class T>
class StepProduct {
 public:
  StepProduct(const Tensor& weight, bool transposed) {
    g_.k = weight.size(transposed ? 1 : 0);
    g_.n = weight.size(transposed ? 0 : 1);
    g_.b = weight.ptr<T>();
    g_.trans_b = transposed;
    g_.ldb = std::max<int64_t>(1, weight.size(1));
    packed_ = empty_raw({packed_b_size<T>(g_.n, g_.k)}, weight.dtype(), weight.device());
    pack_b(g_, packed_.ptr<T>());
    g_.packed_b = packed_.ptr<T>();
    g_.lda = std::max<int64_t>(1, g_.k);
    g_.ldc = std::max<int64_t>(1, g_.n);
  }
  // to = from weight, or += if `add`.
  void operator()(T* to, const T* from, int64_t rows, bool add) {
    g_.m = rows;
    g_.a = from;
    g_.c = to;
    g_.beta = add ? T(1) : T(0);
    gemm(g_);
  }

 private:
  GemmArgs<T> g_;
  Tensor packed_;
};

void forward(const RecurrentForward& layer) {
  dispatch(layer.gates.dtype(), FloatTypes{}, "recurrent_forward", [&]<class T>(Type<T>) {
    StepProduct<T> product(layer.weight, true);
    const bool apart = layer.kind == RecurrentKind::kGru, save = layer.h_prev.defined();
    const Tensor hidden =
        apart ? empty_raw({layer.h.size(0), layer.gates.size(1)}, layer.h.dtype(), layer.h.device()) : Tensor();
    ops::with_cell(layer.kind, [&]<class Cell>(Cell) {
      for (const RecurrentStep& step : layer.steps) {
        const ops::CellForward<T> s = ops::cell_forward<T>(layer, ops::rows_from<T>(hidden, 0), step.at);
        product(apart ? hidden.ptr<T>() : s.gates, s.h, step.rows, !apart);
        for_rows(step.rows, s.size, [&](int64_t r) {
          const ops::CellForward<T> row = ops::row_of<Cell>(s, r);
          if (save)
            for_elements(row.size, [row](int64_t j) { Cell::template forward<true>(row, j); });
          else
            for_elements(row.size, [row](int64_t j) { Cell::template forward<false>(row, j); });
        });
      }
    });
  });
}

void backward(const RecurrentBackward& layer) {
  dispatch(layer.gates.dtype(), FloatTypes{}, "recurrent_backward", [&]<class T>(Type<T>) {
    StepProduct<T> product(layer.weight, false);
    const bool apart = layer.kind == RecurrentKind::kGru;
    ops::with_cell(layer.kind, [&]<class Cell>(Cell) {
      for (const RecurrentStep& step : layer.steps) {
        const ops::CellBackward<T> s = ops::cell_backward<T>(layer, step.at);
        for_rows(step.rows, s.size, [&](int64_t r) {
          const ops::CellBackward<T> row = ops::row_of<Cell>(s, r);
          for_elements(row.size, [row](int64_t j) { Cell::backward(row, j); });
        });
        if (layer.of_state || &step != &layer.steps.back())
          product(s.dh, apart ? s.d_hidden : s.d_gates, step.rows, apart);
      }
    });
  });
}

}  // namespace

constinit const RecurrentKernels recurrent_kernels{.forward = forward, .backward = backward};

}  // namespace tandem::cpu
