// Recurrent layers on CUDA. One kernel goes through all time steps of a layer: a block of threads has a few rows of the
// batch, and keeps their state and the weight in shared memory. A thread adds the products of a column in order, so what
// becomes of a row's gates does not depend on the other rows. Larger weights are multiplied by cuBLAS, step by step.
#include "tandem/cuda/device.h"

#include <algorithm>

#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/core/formulas/recurrent_math.h"
#include "tandem/core/formulas/sum_order.h"
#include "tandem/cuda/copies.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kMostRows = 8, kMostThreads = 512;  // of a block
// A block reads what has no room in its shared memory of the weight at every step. Much more takes longer than cuBLAS.
constexpr int64_t kMostStreamed = 128 << 10;

// The steps of a layer. If all have the same rows, they are `stride` rows apart; otherwise there is a table.
struct Steps {
  const RecurrentStep* table;
  RecurrentStep first;
  int64_t stride;
  int count;

  __device__ RecurrentStep operator[](int t) const {
    return table != nullptr ? table[t] : RecurrentStep{first.at + t * stride, first.rows};
  }
};

// A row-major weight [k, n] that rows [k] are multiplied by. Its first `kept` lines are in shared memory.
template <class T>
struct Weight {
  const T* data;
  int k, n, kept;

  __device__ void keep(T* shared) const {
    for (int i = static_cast<int>(threadIdx.x); i < kept * n; i += static_cast<int>(blockDim.x)) shared[i] = data[i];
  }
};

// sums[r] += from[r * pitch + i] weight[i * line] for i from `i` up to `end`, in order. Rows of `from` are aligned.
template <int R, class T>
__device__ void add_products(T (&sums)[R], const T* from, int pitch, const T* weight, int line, int i, int end) {
  constexpr int kPack = Pack<T>::kSize;
  for (; i + kPack <= end; i += kPack) {
    T w[kPack];
    TANDEM_UNROLL
    for (int p = 0; p < kPack; ++p) w[p] = weight[(i + p) * line];
    TANDEM_UNROLL
    for (int r = 0; r < R; ++r) {
      const Pack<T> x = *reinterpret_cast<const Pack<T>*>(from + r * pitch + i);
      TANDEM_UNROLL
      for (int p = 0; p < kPack; ++p) sums[r] = fma(x.x[p], w[p], sums[r]);
    }
  }
  for (; i < end; ++i) {
    TANDEM_UNROLL
    for (int r = 0; r < R; ++r) sums[r] = fma(from[r * pitch + i], weight[i * line], sums[r]);
  }
}
template <int R, class T>
__device__ void multiply(T (&sums)[R], const T* from, int pitch, const Weight<T>& w, const T* shared, int column) {
  TANDEM_UNROLL
  for (int r = 0; r < R; ++r) sums[r] = 0;
  add_products(sums, from, pitch, shared + column, w.n, 0, w.kept);
  add_products(sums, from, pitch, w.data + column, w.n, w.kept, w.k);
}

__host__ __device__ constexpr int aligned(int64_t elements) { return static_cast<int>((elements + 3) / 4 * 4); }

// Calls f(row, column) for the elements of the first rows of a block.
template <class F>
__device__ void each_element(int rows, int columns, F f) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += static_cast<int>(blockDim.x))
    f(i / columns, i % columns);
}

// Calls f(first row, rows) for each step in which this block has rows.
template <int R, class F>
__device__ void each_step(const Steps& steps, F f) {
  const int64_t first = int64_t{blockIdx.x} * R;
  for (int t = 0; t < steps.count; ++t) {
    const RecurrentStep step = steps[t];
    if (step.rows > first) f(t, step.at + first, static_cast<int>(step.rows - first < R ? step.rows - first : R));
  }
}

// The states of a block's rows, which are copied to shared memory and back. c may be missing. Rows behind the batch are
// computed with whatever is there, and not stored.
template <int R, class T>
struct States {
  T *h, *c;  // of all rows
  int batch, size;

  __device__ void load(T* to_h, T* to_c) const {
    each([&](int64_t from, int to) {
      to_h[to] = h[from];
      if (c != nullptr) to_c[to] = c[from];
    });
  }
  __device__ void store(const T* from_h, const T* from_c) const {
    each([&](int64_t to, int from) {
      h[to] = from_h[from];
      if (c != nullptr) c[to] = from_c[from];
    });
  }

 private:
  template <class F>
  __device__ void each(F f) const {
    const int first = static_cast<int>(blockIdx.x) * R, pitch = aligned(size);
    each_element(min(batch - first, R), size, [&](int r, int j) { f(int64_t{first + r} * size + j, r * pitch + j); });
  }
};

template <class Cell>
constexpr bool is_apart = std::is_same_v<Cell, ops::GruCell>;  // the product is not added to the gates

// Elements of shared memory beside the weight.
template <class Cell>
int forward_elements(int64_t rows, int64_t size) {
  return static_cast<int>(rows) * (2 * aligned(size) + (is_apart<Cell> ? 2 : 1) * aligned(Cell::kGates * size));
}
template <class Cell>
int backward_elements(int64_t rows, int64_t size) {
  return static_cast<int>(rows) * (2 * aligned(size) + aligned(Cell::kGates * size));
}

// `layer` has the pointers of row 0; `batch` is the number of rows of the states.
template <class Cell, int R, class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    forward_layer(ops::CellForward<T> layer, Weight<T> weight, Steps steps, int batch) {
  const int size = static_cast<int>(layer.size), pitch = aligned(size), n = weight.n, wide = aligned(n);
  T* const h = dynamic_shared<T>();
  T* const c = h + R * pitch;
  T* const gates = c + R * pitch;
  T* const hidden = gates + R * wide;
  T* const kept = hidden + (is_apart<Cell> ? R * wide : 0);
  weight.keep(kept);
  const States<R, T> states{layer.h, layer.c, batch, size};
  states.load(h, c);
  __syncthreads();
  each_step<R>(steps, [&](int, int64_t at, int rows) {
    for (int column = static_cast<int>(threadIdx.x); column < n; column += static_cast<int>(blockDim.x)) {
      T of_input[R], sums[R];
      TANDEM_UNROLL
      for (int r = 0; r < R; ++r) of_input[r] = r < rows ? layer.gates[(at + r) * n + column] : T(0);
      multiply(sums, h, pitch, weight, kept, column);
      TANDEM_UNROLL
      for (int r = 0; r < R; ++r) {
        if constexpr (is_apart<Cell>) hidden[r * wide + column] = sums[r];
        gates[r * wide + column] = is_apart<Cell> ? of_input[r] : of_input[r] + sums[r];
      }
    }
    __syncthreads();
    each_element(rows, size, [&](int r, int j) {
      ops::CellForward<T> row = ops::row_of<Cell>(layer, at + r);
      T* const saved = row.gates;
      row.gates = gates + r * wide;
      row.hidden = hidden + r * wide;
      row.h = h + r * pitch;
      row.c = c + r * pitch;
      if (row.h_prev == nullptr) return Cell::template forward<false>(row, j);
      Cell::template forward<true>(row, j);
      for (int g = 0; g < Cell::kGates; ++g) saved[g * size + j] = row.gates[g * size + j];
    });
    __syncthreads();
  });
  states.store(h, c);
}

template <class Cell, int R, class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    backward_layer(ops::CellBackward<T> layer, Weight<T> weight, Steps steps, int batch, bool of_state) {
  const int size = static_cast<int>(layer.size), pitch = aligned(size), wide = aligned(weight.k);
  T* const dh = dynamic_shared<T>();
  T* const dc = dh + R * pitch;
  T* const product = dc + R * pitch;  // the gradient of the product
  T* const kept = product + R * wide;
  weight.keep(kept);
  const States<R, T> states{layer.dh, layer.dc, batch, size};
  states.load(dh, dc);
  __syncthreads();
  each_step<R>(steps, [&](int t, int64_t at, int rows) {
    each_element(rows, size, [&](int r, int j) {
      ops::CellBackward<T> row = ops::row_of<Cell>(layer, at + r);
      T*& shared = is_apart<Cell> ? row.d_hidden : row.d_gates;
      T* const result = shared;
      shared = product + r * wide;
      row.dh = dh + r * pitch;
      row.dc = dc + r * pitch;
      Cell::backward(row, j);
      for (int g = 0; g < Cell::kGates; ++g) result[g * size + j] = shared[g * size + j];
    });
    __syncthreads();
    if (t + 1 == steps.count && !of_state) return;
    for (int column = static_cast<int>(threadIdx.x); column < size; column += static_cast<int>(blockDim.x)) {
      T sums[R];
      multiply(sums, product, wide, weight, kept, column);
      TANDEM_UNROLL
      for (int r = 0; r < R; ++r) {
        if (r >= rows) continue;
        T& to = dh[r * pitch + column];
        to = is_apart<Cell> ? to + sums[r] : sums[r];
      }
    }
    __syncthreads();
  });
  states.store(dh, dc);
}

// ---- one step at a time

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

Tensor rows_of(const Tensor& t, const RecurrentStep& step) {
  return alias(t, {step.rows, t.size(1)}, {t.size(1), 1}, t.storage_offset() + step.at * t.size(1));
}
Tensor transposed(const Tensor& t) { return alias(t, {t.size(1), t.size(0)}, {1, t.size(1)}, t.storage_offset()); }

template <class Cell, class T>
void forward_by_steps(Context& c, const RecurrentForward& layer) {
  const Tensor hidden =
      is_apart<Cell> ? empty_raw({layer.h.size(0), layer.gates.size(1)}, layer.h.dtype(), c.device()) : Tensor();
  for (const RecurrentStep& step : layer.steps) {
    const RecurrentStep state{0, step.rows};
    linalg_kernels.matmul(is_apart<Cell> ? rows_of(hidden, state) : rows_of(layer.gates, step), rows_of(layer.h, state),
                          transposed(layer.weight), is_apart<Cell> ? 0 : 1, 1);
    const ops::CellForward<T> s = ops::cell_forward<T>(layer, ops::rows_from<T>(hidden, 0), step.at);
    const int64_t count = step.rows * s.size;
    launch("recurrent_forward", c, grid_for(count),
           layer.h_prev.defined() ? forward_kernel<Cell, true, T> : forward_kernel<Cell, false, T>, s, count);
  }
}
template <class Cell, class T>
void backward_by_steps(Context& c, const RecurrentBackward& layer) {
  for (const RecurrentStep& step : layer.steps) {
    const ops::CellBackward<T> s = ops::cell_backward<T>(layer, step.at);
    const int64_t count = step.rows * s.size;
    launch("recurrent_backward", c, grid_for(count), backward_kernel<Cell, T>, s, count);
    if (layer.of_state || &step != &layer.steps.back())
      linalg_kernels.matmul(rows_of(layer.dh, {0, step.rows}),
                            rows_of(is_apart<Cell> ? layer.d_hidden : layer.d_gates, step), layer.weight,
                            is_apart<Cell> ? 1 : 0, 1);
  }
}

// ---- all steps at once

// How a layer with a weight [k, n] is cut, if it is small enough. `elements`: see forward_elements().
template <class T>
struct Cut {
  int rows, kept;
  Grid grid;
  bool fits;

  // A weight that is read once is not kept.
  Cut(const Gpu& gpu, int64_t batch, int64_t k, int64_t n, int (*elements)(int64_t rows, int64_t size), int64_t size,
      bool once) {
    const auto room = [&](int64_t most_rows) {
      return static_cast<int64_t>(gpu.shared_bytes / sizeof(T)) - elements(most_rows, size);
    };
    // With the most rows, so that a row's bits do not depend on how many there are. The kernels add products in one chain,
    // the CPU in pieces.
    fits = (!is_strict() || k <= piece_depth<T>(k)) &&
           (k * n - room(kMostRows)) * static_cast<int64_t>(sizeof(T)) <= kMostStreamed;
    if (!fits) return;
    rows = 1;
    while (rows < kMostRows && ceil_div(batch, rows) > gpu.multiprocessors) rows *= 2;
    kept = once ? 0 : static_cast<int>(std::min(k, room(rows) / n / 4 * 4));
    const int64_t rounds = ceil_div(n, kMostThreads);
    grid = {ceil_div(batch, rows), static_cast<int>(ceil_div(n, 32 * rounds) * 32),
            static_cast<std::size_t>(elements(rows, size) + kept * n) * sizeof(T)};
  }
};

// Calls run(R) as a constant.
template <class Run>
void by_rows(int rows, Run run) {
  if (rows == 1) return run(std::integral_constant<int, 1>());
  if (rows == 2) return run(std::integral_constant<int, 2>());
  if (rows == 4) return run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, kMostRows>());
}

// `table` keeps what the steps point to.
Steps steps_on(Context& c, const RecurrentSteps& steps, Tensor& table) {
  const RecurrentStep first = steps.front();
  const int count = static_cast<int>(steps.size());
  const int64_t stride = count > 1 ? steps[1].at - first.at : 0;
  if (std::all_of(steps.begin(), steps.end(), [&](const RecurrentStep& step) { return step.rows == first.rows; }))
    return {nullptr, first, stride, count};
  table = empty_raw({count, 2}, kLong, c.device());
  write_constant(c, table.data_ptr(), steps.data(), steps.size() * sizeof first);
  return {reinterpret_cast<const RecurrentStep*>(table.data_ptr()), first, stride, count};
}

template <class Cell, class T>
void forward_at_once(Context& c, const RecurrentForward& layer, const Cut<T>& cut) {
  const int n = static_cast<int>(layer.weight.size(0)), k = static_cast<int>(layer.weight.size(1));
  const Tensor lines = empty_raw({k, n}, layer.weight.dtype(), c.device());
  copy_kernels.copy(lines, transposed(layer.weight));
  Tensor table;
  const Steps steps = steps_on(c, layer.steps, table);
  by_rows(cut.rows, [&](auto rows) {
    launch("recurrent_forward", c, cut.grid, forward_layer<Cell, rows.value, T>,
           ops::cell_forward<T>(layer, nullptr, 0), Weight<T>{lines.ptr<T>(), k, n, cut.kept}, steps,
           static_cast<int>(layer.h.size(0)));
  });
}
template <class Cell, class T>
void backward_at_once(Context& c, const RecurrentBackward& layer, const Cut<T>& cut) {
  const int k = static_cast<int>(layer.weight.size(0)), n = static_cast<int>(layer.weight.size(1));
  Tensor table;
  const Steps steps = steps_on(c, layer.steps, table);
  by_rows(cut.rows, [&](auto rows) {
    launch("recurrent_backward", c, cut.grid, backward_layer<Cell, rows.value, T>, ops::cell_backward<T>(layer, 0),
           Weight<T>{layer.weight.ptr<T>(), k, n, cut.kept}, steps, static_cast<int>(layer.dh.size(0)), layer.of_state);
  });
}

void forward(const RecurrentForward& layer) {
  Context& c = context(layer.gates.device());
  dispatch(layer.gates.dtype(), FloatTypes{}, "recurrent_forward", [&]<class T>(Type<T>) {
    ops::with_cell(layer.kind, [&]<class Cell>(Cell) {
      const Cut<T> cut(c.gpu(), layer.h.size(0), layer.weight.size(1), layer.weight.size(0), forward_elements<Cell>,
                       layer.h.size(1), layer.steps.size() == 1);
      cut.fits ? forward_at_once<Cell>(c, layer, cut) : forward_by_steps<Cell, T>(c, layer);
    });
  });
}

void backward(const RecurrentBackward& layer) {
  Context& c = context(layer.gates.device());
  dispatch(layer.gates.dtype(), FloatTypes{}, "recurrent_backward", [&]<class T>(Type<T>) {
    ops::with_cell(layer.kind, [&]<class Cell>(Cell) {
      const Cut<T> cut(c.gpu(), layer.dh.size(0), layer.weight.size(0), layer.weight.size(1), backward_elements<Cell>,
                       layer.dh.size(1), layer.steps.size() == 1);
      cut.fits ? backward_at_once<Cell>(c, layer, cut) : backward_by_steps<Cell, T>(c, layer);
    });
  });
}

}  // namespace

constinit const RecurrentKernels recurrent_kernels{.forward = forward, .backward = backward};

}  // namespace tandem::cuda_impl
