// Layer normalisation of rows on CUDA (layer_norm_rows.h). Gradients of weight and bias are sums over columns, in parts
// that the shape determines, in double.
#include "tandem/cuda/device.h"

#include <algorithm>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/layer_norm.h"
#include "tandem/cuda/fusion/core.h"
#include "tandem/cuda/fusion/formulas.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_geometry.h"
#include "tandem/cuda/ops/layer_norm_rows.h"
#include "tandem/cuda/strict/layer_norm.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

constexpr int64_t kMaxBlocks = 4096;
constexpr int64_t kWarpRow = 2048;  // longer rows take a whole block

template <class S, int kCount>
__global__ void __launch_bounds__(kLineThreads) normalize(const NormalizeRows<S> p) {
  normalize_rows<S, kCount>(p, FromMemory<S>{p.in}, ToMemory<S>{p.out});
}
template <class S, int kCount>
__global__ void __launch_bounds__(kLineThreads) input_gradient(const RowGradients<S> p) {
  row_gradients<S, kCount>(p, FromMemory<S>{p.grad}, ToMemory<S>{p.out});
}

// partial [parts, n, 2]: sums of g h and of g over the rows of a part.
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    sum_columns(double* partial, const S* grad, const S* in, const T* statistics, int64_t part_size, int64_t rows,
                int64_t n, int64_t tiles, int lines) {
  __shared__ RowSums<double> shared[kLineThreads];
  const int thread = static_cast<int>(threadIdx.x), across = kLineThreads / lines, line = thread / across;
  const int64_t part = blockIdx.x / tiles, column = (blockIdx.x - part * tiles) * across + thread % across;
  const int64_t from = part * part_size, until = from + part_size < rows ? from + part_size : rows;
  RowSums<double> sums{0, 0};
  if (column < n)
    for (int64_t r = from + line; r < until; r += lines) {
      const T g = static_cast<T>(grad[r * n + column]);
      const T h = Row<T>(statistics + 3 * r)(static_cast<T>(in[r * n + column]));
      sums = sums + RowSums<double>{static_cast<double>(g * h), static_cast<double>(g)};
    }
  shared[thread] = sums;
  __syncthreads();
  if (line != 0 || column >= n) return;
  for (int l = 1; l < lines; ++l) sums = sums + shared[l * across + thread];
  partial[2 * (part * n + column)] = sums.first;
  partial[2 * (part * n + column) + 1] = sums.second;
}

template <class T>
__global__ void join(T* grad_weight, T* grad_bias, const double* partial, int64_t parts, int64_t n) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= n) return;
  double weight = 0, bias = 0;
  for (int64_t part = 0; part < parts; ++part) {
    weight += partial[2 * (part * n + column)];
    bias += partial[2 * (part * n + column) + 1];
  }
  if (grad_weight != nullptr) grad_weight[column] = static_cast<T>(weight);
  if (grad_bias != nullptr) grad_bias[column] = static_cast<T>(bias);
}

// ---- host

// Calls run(elements accessed at once) as a constant.
template <class S, class Run>
void by_vectors(int64_t n, std::initializer_list<const void*> pointers, Run run) {
  constexpr int kVector = 16 / sizeof(S);
  bool vector = n % kVector == 0;
  for (const void* p : pointers) vector = vector && reinterpret_cast<uintptr_t>(p) % 16 == 0;
  if (vector)
    run(std::integral_constant<int, kVector>{});
  else
    run(std::integral_constant<int, 1>{});
}

int lanes_of(int64_t n) { return n <= kWarpRow ? 32 : kLineThreads; }
Grid grid_of(int64_t rows, int lanes) { return {ceil_div(rows, kLineThreads / lanes), kLineThreads}; }

template <class S>
NormalizeRows<S> normalize_rows_of(const Tensor& out, const Tensor& statistics, const Tensor& input,
                                   const Tensor& weight, const Tensor& bias, double eps) {
  using T = computed_t<S>;
  const int64_t n = input.size(1);
  return {out.ptr<S>(),
          statistics.ptr<T>(),
          input.ptr<S>(),
          data_or_null<T>(weight),
          data_or_null<T>(bias),
          static_cast<T>(eps),
          input.size(0),
          n,
          lanes_of(n)};
}

void forward(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight, const Tensor& bias,
             double eps) {
  if (is_strict()) return strict::layer_norm(out, statistics, input, weight, bias, eps);
  const Tensor weights = tandem::detail::computed(weight), biases = tandem::detail::computed(bias);
  dispatch(input.dtype(), StoredFloats{}, "layer_norm", [&]<class S>(Type<S>) {
    const NormalizeRows<S> p = normalize_rows_of<S>(out, statistics, input, weights, biases, eps);
    by_vectors<S>(p.n, {p.out, p.in}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      launch("layer_norm", context(out.device()), grid_of(p.rows, p.lanes), normalize<S, kCount>, p);
    });
  });
}

template <class S, class T = computed_t<S>>
void parameter_gradients(Context& c, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad,
                         const Tensor& in, const Tensor& statistics) {
  const int64_t rows = in.size(0), n = in.size(1);
  const int lines = column_rows(rows);
  const int64_t tiles = ceil_div(n, kLineThreads / lines);
  const int64_t wanted = std::clamp<int64_t>(rows / (32 * lines), 1, std::max<int64_t>(1, kMaxBlocks / tiles));
  const int64_t part_size = ceil_div(rows, wanted), parts = ceil_div(rows, part_size);
  const Tensor partial = empty_raw({2 * parts * n}, kDouble, c.device());
  launch("layer_norm_backward", c, {tiles * parts, kLineThreads}, sum_columns<S>, partial.ptr<double>(),
         static_cast<const S*>(grad.ptr<S>()), static_cast<const S*>(in.ptr<S>()),
         static_cast<const T*>(statistics.ptr<T>()), part_size, rows, n, tiles, lines);
  launch("layer_norm_backward", c, {ceil_div(n, kLineThreads), kLineThreads}, join<T>, data_or_null<T>(grad_weight),
         data_or_null<T>(grad_bias), static_cast<const double*>(partial.ptr<double>()), parts, n);
}

template <class S>
RowGradients<S> row_gradients_of(const Tensor& out, const Tensor& grad, const Tensor& input, const Tensor& statistics,
                                 const Tensor& weight) {
  using T = computed_t<S>;
  const int64_t n = input.size(1);
  return {out.ptr<S>(), grad.ptr<S>(), input.ptr<S>(), statistics.ptr<T>(), data_or_null<T>(weight), input.size(0), n,
          lanes_of(n)};
}

void backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output,
              const Tensor& input, const Tensor& statistics, const Tensor& weight) {
  if (is_strict())
    return strict::layer_norm_backward(grad_input, grad_weight, grad_bias, grad_output, input, statistics, weight);
  const Tensor weights = tandem::detail::computed(weight);
  dispatch(input.dtype(), StoredFloats{}, "layer_norm_backward", [&]<class S>(Type<S>) {
    Context& c = context(input.device());
    if (grad_weight.defined() || grad_bias.defined())
      parameter_gradients<S>(c, grad_weight, grad_bias, grad_output, input, statistics);
    if (!grad_input.defined()) return;
    const RowGradients<S> p = row_gradients_of<S>(grad_input, grad_output, input, statistics, weights);
    by_vectors<S>(p.n, {p.out, p.grad, p.in}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      launch("layer_norm_backward", c, grid_of(p.rows, p.lanes), input_gradient<S, kCount>, p);
    });
  });
}

}  // namespace

Core layer_norm_core(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight,
                     const Tensor& bias, double eps) {
  Core core{.source = input, .sink = out, .reads = {weight, bias}, .writes = {statistics}, .memory = "in"};
  dispatch(input.dtype(), StoredFloats{}, "layer_norm", [&]<class S>(Type<S>) {
    const NormalizeRows<S> p = normalize_rows_of<S>(out, statistics, input, weight, bias, eps);
    by_vectors<S>(p.n, {p.out, p.in}, [&](auto count) { core.vector = count; });
    core.kernel = concat("normalize_rows<", cpp_name(scalar_type_of<S>), ", ", core.vector, ">");
    core.parameter = concat("NormalizeRows<", cpp_name(scalar_type_of<S>), ">");
    core.value = bytes_of(p);
    core.grid = grid_of(p.rows, p.lanes);
  });
  core.alone = [=] { forward(out, statistics, input, weight, bias, eps); };
  return core;
}

Core layer_norm_backward_core(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                              const Tensor& grad_output, const Tensor& input, const Tensor& statistics,
                              const Tensor& weight) {
  Core core{.source = grad_output,
            .sink = grad_input,
            .reads = {input, statistics, weight},
            .writes = {grad_weight, grad_bias},
            .memory = "grad"};
  dispatch(input.dtype(), StoredFloats{}, "layer_norm_backward", [&]<class S>(Type<S>) {
    const RowGradients<S> p = row_gradients_of<S>(grad_input, grad_output, input, statistics, weight);
    by_vectors<S>(p.n, {p.out, p.grad, p.in}, [&](auto count) { core.vector = count; });
    core.kernel = concat("row_gradients<", cpp_name(scalar_type_of<S>), ", ", core.vector, ">");
    core.parameter = concat("RowGradients<", cpp_name(scalar_type_of<S>), ">");
    core.value = bytes_of(p);
    core.grid = grid_of(p.rows, p.lanes);
    core.after = [=] {
      if (grad_weight.defined() || grad_bias.defined())
        parameter_gradients<S>(context(input.device()), grad_weight, grad_bias, grad_output, input, statistics);
    };
  });
  core.alone = [=] { backward(grad_input, grad_weight, grad_bias, grad_output, input, statistics, weight); };
  return core;
}

constinit const LayerNormKernels layer_norm_kernels{.forward = {forward, kTakesHalf},
                                                    .backward = {backward, kTakesHalf}};

}  // namespace tandem::cuda_impl
