// The steps of recurrent layers on CUDA: one thread per element of the state.
#include "tandem/cuda/device.h"

#include "tandem/core/backend/linalg.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/core/formulas/recurrent_math.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

template <class Cell, bool save, class T>
__global__ void forward_kernel(const ops::CellForward<T> step, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Cell::template forward<save>(ops::row_of<Cell>(step, i / step.size), i % step.size);
}
template <class Cell, class T>
__global__ void backward_kernel(const ops::CellBackward<T> step, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Cell::backward(ops::row_of<Cell>(step, i / step.size), i % step.size);
}

void forward(const RecurrentForward& step, int64_t at, int64_t rows) {
  Context& c = context(step.gates.device());
  dispatch(step.gates.dtype(), FloatTypes{}, "recurrent_forward", [&]<class T>(Type<T>) {
    ops::with_cell(step.kind, [&]<class Cell>(Cell) {
      const ops::CellForward<T> s = ops::cell_forward<T>(step, at);
      const int64_t count = rows * s.size;
      if (step.h_prev.defined())
        launch("recurrent_forward", c, grid_for(count), forward_kernel<Cell, true, T>, s, count);
      else
        launch("recurrent_forward", c, grid_for(count), forward_kernel<Cell, false, T>, s, count);
    });
  });
}

void backward(const RecurrentBackward& step, int64_t at, int64_t rows) {
  Context& c = context(step.gates.device());
  dispatch(step.gates.dtype(), FloatTypes{}, "recurrent_backward", [&]<class T>(Type<T>) {
    ops::with_cell(step.kind, [&]<class Cell>(Cell) {
      const ops::CellBackward<T> s = ops::cell_backward<T>(step, at);
      const int64_t count = rows * s.size;
      launch("recurrent_backward", c, grid_for(count), backward_kernel<Cell, T>, s, count);
    });
  });
}

// cuBLAS packs by itself.
Tensor pack(const Tensor& weight) { return weight; }

void product(const StepProduct& p, int64_t to_at, int64_t from_at, int64_t rows) {
  const auto rows_of = [rows](const Tensor& t, int64_t at) {
    return alias(t, {rows, t.size(1)}, {t.size(1), 1}, t.storage_offset() + at * t.size(1));
  };
  linalg_kernels.matmul(rows_of(p.to, to_at), rows_of(p.from, from_at), p.weight, p.add ? 1 : 0, 1);
}

}  // namespace

constinit const RecurrentKernels recurrent_kernels{
    .forward = forward, .backward = backward, .pack = pack, .product = product};

}  // namespace tandem::cuda_impl
