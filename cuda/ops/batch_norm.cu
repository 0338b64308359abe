// Batch normalisation on CUDA, over the columns of a matrix (batch_norm_columns.h). Sums of a few terms are added in
// double. Half types are computed in float32 (S is the stored type, T the computed one); what belongs to a channel is
// float32 then.
#include "tandem/cuda/device.h"

#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/fusion/core.h"
#include "tandem/cuda/fusion/formulas.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/batch_norm_sums.h"
#include "tandem/cuda/ops/batch_norm_tables.h"
#include "tandem/cuda/strict/batch_norm.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

template <class T>
struct Channels {
  const T *mean, *variance, *weight, *bias;
  T eps;
  __device__ T inverse(int64_t c) const { return norm_inverse(variance[c], eps); }
  __device__ T scale(int64_t c) const { return (weight != nullptr ? weight[c] : T(1)) * inverse(c); }
};

// ---- elementwise

template <class T>
struct Normalize {
  static constexpr bool kGradient = false;
  struct Channel {
    T mean, scale, shift;
  };
  Channels<T> p;
  bool divides;  // the weight by the deviation, as the CPU

  __device__ T scale(int64_t c) const {
    if (!divides) return p.scale(c);
    return (p.weight != nullptr ? p.weight[c] : T(1)) / std::sqrt(p.variance[c] + p.eps);
  }
  __device__ Channel channel(int64_t c) const { return {p.mean[c], scale(c), p.bias != nullptr ? p.bias[c] : T(0)}; }
  __device__ static T value(const Channel& c, T x, T) { return normalized(x, c.mean, c.scale, c.shift); }
};

// The means of g and of g h times 1 / s, with h = (x - mean) / s and s = sqrt(variance + eps).
template <class T>
struct Flow {
  T level, slope;
};

template <class T>
struct InputGradient {
  static constexpr bool kGradient = true;
  struct Channel {
    T mean, scale;
    Flow<T> flow;
  };
  Channels<T> p;
  const Flow<T>* flow;  // null for constant statistics

  __device__ Channel channel(int64_t c) const {
    return {p.mean[c], p.scale(c), flow != nullptr ? flow[c] : Flow<T>{0, 0}};
  }
  __device__ static T value(const Channel& c, T x, T g) {
    return c.scale * (g - c.flow.level - (x - c.mean) * c.flow.slope);
  }
};

// out = f(channel, in, grad). A thread has `rows` rows. Blocks go backwards, because the end of the tensors is still in
// the cache from the sums.
template <class S, class F, bool kWhole, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    map_columns(S* out, const S* in, const S* grad, F f, Columns m, int64_t rows) {
  constexpr int kRows = F::kGradient ? 2 : 4;  // at once
  const int64_t index = (int64_t{gridDim.x} - 1 - blockIdx.x) * kLineThreads + threadIdx.x,
                group = m.by_packs.quotient(index), first = (index - group * m.packs) * kPack<S>,
                column = m.column(first), from = group * rows, until = from + rows < m.rows ? from + rows : m.rows;
  if (from >= until) return;
  const int count = m.count(first);
  RawPack x[kRows], g[kRows];
  const auto load = [&](int64_t row) {
    TANDEM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (row + r >= until) continue;
      const int64_t at = m.row(row + r) + column;
      x[r] = load_pack(in + at, count, kWhole);
      if constexpr (F::kGradient) g[r] = load_pack(grad + at, count, kWhole);
    }
  };
  load(from);
  typename F::Channel channel[kPack<S>];  // computed while the first rows arrive
  m.per_channel(first, channel, [&](int64_t c) { return f.channel(c); });
  for (int64_t row = from; row < until; row += kRows) {
    if (row != from) load(row);
    TANDEM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (row + r >= until) continue;
      Pack<S> y = x[r].template elements<S>(), slopes = y;
      if constexpr (F::kGradient) slopes = g[r].template elements<S>();
      TANDEM_UNROLL
      for (int k = 0; k < kPack<S>; ++k)
        y.x[k] = static_cast<S>(f.value(channel[k], static_cast<T>(y.x[k]), static_cast<T>(slopes.x[k])));
      store_pack(out + m.row(row + r) + column, y, count, kWhole);
    }
  }
}

template <class S, Of kOf, bool kWhole>
__global__ void __launch_bounds__(kLineThreads) sum_in_columns(const SumColumns<S> p) {
  sum_columns<S, kOf, kWhole>(p, FromMemory<S>{kOf == Of::kGradients ? p.grad : p.in});
}

// `lanes` threads, a warp or the block, add the parts of a channel.
template <class F>
__global__ void __launch_bounds__(kLineThreads)
    join(const Sums* partial, F finish, Columns m, ColumnTiles t, int lanes) {
  __shared__ Sums shared[kLineThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t c = int64_t{blockIdx.x} * (kLineThreads / lanes) + thread / lanes;
  const int64_t first = c * t.inner / t.tile(), span = ((c + 1) * t.inner - 1) / t.tile() - first + 1;
  Sums sums{0, 0};
  if (c < m.channels)
    for (int64_t j = thread % lanes; j < t.parts * span; j += lanes) {
      const int64_t part = j / span, tile = first + j - part * span;
      sums = sums + partial[t.place(part, tile) + c - t.first_channel(m, tile)];
    }
  sums = lanes == 32 ? fold_warp(sums, Plus()) : fold_block(sums, shared, Plus());
  if (c < m.channels && thread % lanes == 0) finish(c, sums);
}

template <class S, class T = computed_t<S>>
struct MeanAndVariance {
  T *mean, *variance;
  const S* in;
  int64_t plane;
  double count;

  __device__ void operator()(int64_t c, const Sums& s) const {
    const double off = s.plain / count, square = s.products / count, centred = square - off * off;
    mean[c] = static_cast<T>(off + (count > 0 ? static_cast<double>(static_cast<T>(in[c * plane])) : 0));
    variance[c] = static_cast<T>(centred < 0 ? 0 : centred == centred ? centred : square);  // no inf - inf
  }
};

template <class T>
struct Gradients {
  T *weight, *bias;  // may be null
  Flow<T>* flow;
  Channels<T> p;
  double count;

  __device__ void operator()(int64_t c, const Sums& s) const {
    const T inverse = p.inverse(c);
    const double product = count > 0 ? s.products * static_cast<double>(inverse) : 0;
    if (weight != nullptr) weight[c] = static_cast<T>(product);
    if (bias != nullptr) bias[c] = static_cast<T>(s.plain);
    flow[c] = {static_cast<T>(s.plain / count), static_cast<T>(product / count) * inverse};
  }
};

template <class S>
struct Plain {
  S* out;
  __device__ void operator()(int64_t c, const Sums& s) const { out[c] = static_cast<S>(computed_t<S>(s.plain)); }
};

// ---- host

template <class S>
Columns columns_of(const Tensor& input) {
  return Columns(input.size(0), input.size(1), input.size(2), kPack<S>);
}
// Whether packs are accessed as wholes.
bool is_whole(const Columns& m, std::initializer_list<const void*> pointers) {
  bool all = m.whole();
  for (const void* p : pointers) all = all && reinterpret_cast<uintptr_t>(p) % 16 == 0;
  return all;
}

// A thread has several rows, because finding its channels takes as long as a few of them, but not so many that the GPU
// is idle at the end.
template <class S, class F>
void map(const char* operation, Context& c, S* out, const S* in, const S* grad, const F& f, const Columns& m) {
  if (m.rows == 0) return;
  const int64_t threads = int64_t{c.gpu().multiprocessors} * c.gpu().threads_per_multiprocessor / 2,
                rows = std::clamp<int64_t>(m.rows * m.packs / threads, 1, 16);
  launch(operation, c, grid_for(ceil_div(m.rows, rows) * m.packs),
         is_whole(m, {out, in, grad}) ? map_columns<S, F, true> : map_columns<S, F, false>, out, in, grad, f, m, rows);
}

// Memory for the partial sums.
Tensor partial_sums(Context& c, const ColumnTiles& t) {
  return empty_raw({std::max<int64_t>(1, t.parts * t.tiles * t.slots) * 2}, kDouble, c.device());
}

// Adds the partial sums of each channel, and calls finish(channel, sums).
template <class F>
void join_sums(const char* operation, Context& c, const Sums* sums, const Columns& m, const ColumnTiles& t,
               const F& finish) {
  const int lanes = t.parts * (t.inner / t.tile() + 2) > 64 ? kLineThreads : 32;
  launch(operation, c, {ceil_div(m.channels, kLineThreads / lanes), kLineThreads}, join<F>, sums, finish, m, t, lanes);
}

// Sums over the columns of each channel, and calls finish(channel, sums).
template <class S, Of kOf, class F, class T = computed_t<S>>
void sum(const char* operation, Context& c, const S* in, const S* grad, const T* mean, const Columns& m,
         const F& finish) {
  const ColumnTiles t(m);
  const Tensor partial = partial_sums(c, t);
  auto* sums = static_cast<Sums*>(partial.data_ptr());
  launch(operation, c, {t.parts * t.tiles, kLineThreads},
         is_whole(m, {in, grad}) ? sum_in_columns<S, kOf, true> : sum_in_columns<S, kOf, false>,
         SumColumns<S>{sums, in, grad, mean, m, t});
  join_sums(operation, c, sums, m, t, finish);
}

void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  if (is_strict()) return strict::batch_statistics(mean, variance, input);
  dispatch(input.dtype(), StoredFloats{}, "batch_norm_statistics", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const S* x = input.ptr<S>();
    const MeanAndVariance<S> finish{mean.ptr<T>(), variance.ptr<T>(), x, input.size(2),
                                    static_cast<double>(input.size(0) * input.size(2))};
    sum<S, Of::kStatistics>("batch_norm_statistics", context(input.device()), x, static_cast<const S*>(nullptr),
                            static_cast<const T*>(nullptr), columns_of<S>(input), finish);
  });
}

void batch_normalize(const Tensor& out, const Tensor& input, const Tensor& mean, const Tensor& variance,
                     const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor m = tandem::detail::computed(mean), v = tandem::detail::computed(variance),
               w = tandem::detail::computed(weight), b = tandem::detail::computed(bias);
  dispatch(out.dtype(), StoredFloats{}, "batch_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const Normalize<T> f{{m.ptr<T>(), v.ptr<T>(), data_or_null<T>(w), data_or_null<T>(b), static_cast<T>(eps)},
                         is_strict()};
    map<S>("batch_norm", context(out.device()), out.ptr<S>(), input.ptr<S>(), nullptr, f, columns_of<S>(input));
  });
}

// dw = sum g h, db = sum g, and dx = w / s (g - db / count - h dw / count) with h = (x - mean) / s and
// s = sqrt(variance + eps), or w / s g where mean and variance are constants.
template <class S>
struct Backward {
  using T = computed_t<S>;
  Tensor grad_input, grad_weight, grad_bias, grad_output, input;
  Channels<T> p;
  bool of_batch;

  Columns columns() const { return columns_of<S>(input); }
  bool needs_sums() const { return grad_weight.defined() || grad_bias.defined() || (of_batch && grad_input.defined()); }
  // Memory for two numbers of each channel.
  Tensor flow() const {
    return empty_raw({std::max<int64_t>(1, 2 * input.size(1))}, scalar_type_of<T>, input.device());
  }
  Gradients<T> finish(const Tensor& flow) const {
    return {data_or_null<T>(grad_weight), data_or_null<T>(grad_bias), static_cast<Flow<T>*>(flow.data_ptr()), p,
            static_cast<double>(input.size(0) * input.size(2))};
  }
  void find_input_gradient(Context& c, const Tensor& flow) const {
    if (!grad_input.defined()) return;
    const InputGradient<T> f{p, of_batch ? static_cast<const Flow<T>*>(flow.data_ptr()) : nullptr};
    map<S>("batch_norm_backward", c, grad_input.ptr<S>(), input.ptr<S>(), grad_output.ptr<S>(), f, columns());
  }
};

void batch_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                    const Tensor& grad_output, const Tensor& input, const Tensor& mean, const Tensor& variance,
                    const Tensor& weight, double eps, bool of_batch) {
  const Tensor m = tandem::detail::computed(mean), v = tandem::detail::computed(variance),
               w = tandem::detail::computed(weight);
  dispatch(input.dtype(), StoredFloats{}, "batch_norm_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const Channels<T> p{m.ptr<T>(), v.ptr<T>(), data_or_null<T>(w), nullptr, static_cast<T>(eps)};
    const Backward<S> backward{grad_input, grad_weight, grad_bias, grad_output, input, p, of_batch};
    const Tensor flow = backward.flow();
    if (backward.needs_sums() && is_strict())
      strict::batch_gradients(grad_weight, grad_bias, flow, grad_output, input, m, v, eps);
    else if (backward.needs_sums())
      sum<S, Of::kGradients>("batch_norm_backward", c, input.ptr<S>(), grad_output.ptr<S>(), p.mean, backward.columns(),
                             backward.finish(flow));
    backward.find_input_gradient(c, flow);
  });
}

}  // namespace

Core batch_norm_backward_core(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                              const Tensor& grad_output, const Tensor& input, const Tensor& mean,
                              const Tensor& variance, const Tensor& weight, double eps, bool of_batch) {
  Core core{.source = grad_output,
            .reads = {input, mean, variance, weight},
            .writes = {grad_input, grad_weight, grad_bias},
            .memory = "grad"};
  dispatch(input.dtype(), StoredFloats{}, "batch_norm_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const Channels<T> p{mean.ptr<T>(), variance.ptr<T>(), data_or_null<T>(weight), nullptr, static_cast<T>(eps)};
    const Backward<S> backward{grad_input, grad_weight, grad_bias, grad_output, input, p, of_batch};
    const Columns m = backward.columns();
    const ColumnTiles t(m);
    const Tensor partial = partial_sums(c, t);
    const SumColumns<S> sums{
        static_cast<Sums*>(partial.data_ptr()), input.ptr<S>(), grad_output.ptr<S>(), p.mean, m, t};
    core.kernel = concat("sum_columns<", cpp_name(scalar_type_of<S>), ", Of::kGradients, ",
                         is_whole(m, {sums.in, sums.grad}) ? "true>" : "false>");
    core.parameter = concat("SumColumns<", cpp_name(scalar_type_of<S>), ">");
    core.value = bytes_of(sums);
    core.vector = kPack<S>;
    core.grid = {t.parts * t.tiles, kLineThreads};
    core.after = [=, &c] {
      const Tensor flow = backward.flow();
      join_sums("batch_norm_backward", c, static_cast<const Sums*>(partial.data_ptr()), m, t, backward.finish(flow));
      backward.find_input_gradient(c, flow);
    };
  });
  core.alone = [=] {
    batch_backward(grad_input, grad_weight, grad_bias, grad_output, input, mean, variance, weight, eps, of_batch);
  };
  return core;
}

void sum_channels(const Tensor& out, const Tensor& in) {
  dispatch(in.dtype(), StoredFloats{}, "sum", [&]<class S>(Type<S>) {
    sum<S, Of::kPlain>("sum", context(in.device()), in.ptr<S>(), static_cast<const S*>(nullptr),
                       static_cast<const computed_t<S>*>(nullptr), columns_of<S>(in), Plain<S>{out.ptr<S>()});
  });
}

constinit const BatchNormKernels batch_norm_kernels{.statistics = {batch_statistics, kTakesHalf},
                                                    .normalize = {batch_normalize, kTakesHalf},
                                                    .backward = {batch_backward, kTakesHalf},
                                                    .track = track_statistics};

}  // namespace tandem::cuda_impl
