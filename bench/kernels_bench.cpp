// The raw CPU kernels with LeNet's shapes (batch 256) and others. The argument is the number of threads.
//
//   eigen_gemm        Eigen's single-threaded float product 1024^3, for comparison with the peak
//   gemm              products of the fully connected layers, their gradients, and square matrices
//   conv1, conv2      forward, backward_input, backward_weight, backward_bias
//   pool1, pool2      average and maximum pooling, 2 x 2
//   lenet_kernels     all kernels of a training step from the list above, in order; epoch_s is 235 such steps
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/pool2d.h"
#include "tandem/core/threads/parallel_for.h"

using namespace tandem;
using cpu::Conv2dShape;
using cpu::ConvMethod;
using cpu::Pool2dShape;

namespace {

constexpr int64_t kBatch = 256;
constexpr double kStepsPerEpoch = 235;
Conv2dShape conv_shape(int64_t batch, int64_t in_channels, int64_t side, int64_t out_channels, int64_t kernel,
                       int64_t padding = 0, int64_t groups = 1) {
  Conv2dShape s{.batch = batch, .in_channels = in_channels, .in_h = side, .in_w = side, .out_channels = out_channels};
  s.kernel_h = s.kernel_w = kernel;
  s.p.padding = {padding, padding};
  s.p.groups = groups;
  return s;
}
const Conv2dShape kConv1 = conv_shape(kBatch, 1, 28, 20, 3), kConv2 = conv_shape(kBatch, 20, 13, 50, 5);
const Pool2dShape kPool1{.planes = kBatch * 20, .in_h = 26, .in_w = 26, .p = {.kernel = {2, 2}, .stride = {2, 2}}};
const Pool2dShape kPool2{.planes = kBatch * 50, .in_h = 9, .in_w = 9, .p = {.kernel = {2, 2}, .stride = {2, 2}}};

std::vector<float> filled(int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;
  return values;
}

// Runs `body` on state.range(0) threads; `flops` and `bytes` are per call.
template <class F>
void measure(benchmark::State& state, double flops, double bytes, F body) {
  set_num_threads(static_cast<int>(state.range(0)));
  body();
  for (auto _ : state) body();
  const double calls = static_cast<double>(state.iterations());
  if (flops > 0) state.counters["GFLOP/s"] = benchmark::Counter(flops * calls * 1e-9, benchmark::Counter::kIsRate);
  if (bytes > 0) state.counters["GB/s"] = benchmark::Counter(bytes * calls * 1e-9, benchmark::Counter::kIsRate);
}

double conv_flops(const Conv2dShape& s) {
  return 2.0 * static_cast<double>(s.batch * s.out_channels * s.out_plane() * s.depth());
}

void eigen_gemm(benchmark::State& state) {
  const Eigen::MatrixXf a = Eigen::MatrixXf::Random(1024, 1024), b = Eigen::MatrixXf::Random(1024, 1024);
  Eigen::MatrixXf c(1024, 1024);
  measure(state, 2.0 * 1024 * 1024 * 1024, 0, [&] { c.noalias() = a * b; });
}
BENCHMARK(eigen_gemm)->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);

// c [m, n] = a [m, k] b [k, n], of dense matrices that may be stored transposed.
template <class T>
void product(int64_t m, int64_t n, int64_t k, const T* a, bool ta, const T* b, bool tb, T* c) {
  cpu::gemm<T>({m, n, k, a, ta ? m : k, ta, b, tb ? k : n, tb, c, n});
}

// Arguments: threads, m, n, k, trans_a, trans_b.
template <class T>
void gemm(benchmark::State& state) {
  const int64_t m = state.range(1), n = state.range(2), k = state.range(3);
  const bool ta = state.range(4), tb = state.range(5);
  std::vector<T> a(static_cast<std::size_t>(m * k), T(0.5)), b(static_cast<std::size_t>(k * n), T(0.5));
  std::vector<T> c(static_cast<std::size_t>(m * n));
  measure(state, 2.0 * static_cast<double>(m * n * k), 0,
          [&] { product(m, n, k, a.data(), ta, b.data(), tb, c.data()); });
}
void gemm_shapes(benchmark::internal::Benchmark* b) {
  for (int threads : {1, 2}) {
    b->Args({threads, 256, 128, 800, 0, 0})->Args({threads, 256, 800, 128, 0, 1})->Args({threads, 800, 128, 256, 1, 0});
    b->Args({threads, 256, 10, 128, 0, 0})->Args({threads, 256, 128, 10, 0, 1})->Args({threads, 128, 10, 256, 1, 0});
    b->Args({threads, 1024, 1024, 1024, 0, 0})
        ->Args({threads, 1024, 1024, 1024, 0, 1})
        ->Args({threads, 64, 64, 64, 0, 0});
    b->Args({threads, 1024, 1, 1024, 0, 0})->Args({threads, 1, 1024, 1024, 0, 0});
  }
  b->UseRealTime()->Unit(benchmark::kMicrosecond);
}
BENCHMARK(gemm<float>)->Apply(gemm_shapes);
BENCHMARK(gemm<double>)->Args({1, 1024, 1024, 1024, 0, 0})->UseRealTime()->Unit(benchmark::kMicrosecond);

struct Conv {
  Conv2dShape s;
  std::vector<float> x = filled(s.batch * s.in_channels * s.in_plane()), w = filled(s.out_channels * s.depth());
  std::vector<float> bias = filled(s.out_channels), y = filled(s.batch * s.out_channels * s.out_plane());
  std::vector<float> dy = y, dx = x, dw = w, db = bias;

  ConvMethod forward_method = cpu::choose_forward<float>(s), input_method = cpu::choose_backward_input<float>(s),
             weight_method = cpu::choose_backward_weight<float>(s);

  void forward() { cpu::conv2d_forward<float>(forward_method, s, x.data(), {w.data()}, y.data(), {bias.data()}); }
  void backward_input() { cpu::conv2d_backward_input(input_method, s, dy.data(), w.data(), dx.data()); }
  void backward_weight() { cpu::conv2d_backward_weight(weight_method, s, x.data(), dy.data(), dw.data()); }
  void backward_parameters() {
    cpu::conv2d_backward_weight(weight_method, s, x.data(), dy.data(), dw.data(), db.data());
  }
  void backward_bias() { cpu::conv2d_backward_bias(s, dy.data(), db.data()); }
};

void conv(benchmark::State& state, const Conv2dShape& shape, void (Conv::*pass)(), const ConvMethod* method = nullptr) {
  Conv c{shape};
  if (method != nullptr) c.forward_method = c.input_method = c.weight_method = *method;
  const bool bias = pass == &Conv::backward_bias;
  measure(state, bias ? 0 : conv_flops(shape), bias ? static_cast<double>(c.dy.size() * sizeof(float)) : 0,
          [&] { (c.*pass)(); });
}

struct Pool {
  Pool2dShape s;
  std::vector<float> x = filled(s.planes * s.in_h * s.in_w), y = filled(s.planes * s.out_h() * s.out_w());
  std::vector<int64_t> indices = std::vector<int64_t>(y.size());

  void avg_forward() { cpu::avg_pool2d_forward(s, x.data(), y.data()); }
  void avg_backward() { cpu::avg_pool2d_backward(s, y.data(), x.data()); }
  void max_forward() { cpu::max_pool2d_forward(s, x.data(), y.data(), indices.data()); }
  void max_backward() { cpu::max_pool2d_backward(s, y.data(), indices.data(), x.data()); }
};

void pool(benchmark::State& state, const Pool2dShape& shape, void (Pool::*pass)()) {
  Pool p{shape};
  p.max_forward();
  measure(state, 0, static_cast<double>((p.x.size() + p.y.size()) * sizeof(float)), [&] { (p.*pass)(); });
}

// A fully connected layer: y = x w, dx = dy w^T, dw = x^T dy.
struct Linear {
  int64_t in, out;
  std::vector<float> x = filled(kBatch * in), w = filled(in * out), y = filled(kBatch * out), dy = y, dx = x, dw = w;

  void forward() { product(kBatch, out, in, x.data(), false, w.data(), false, y.data()); }
  void backward() {
    product(kBatch, in, out, dy.data(), false, w.data(), true, dx.data());
    product(in, out, kBatch, x.data(), true, dy.data(), false, dw.data());
  }
};

void lenet_kernels(benchmark::State& state) {
  Conv c1{kConv1}, c2{kConv2};
  Pool p1{kPool1}, p2{kPool2};
  Linear l1{800, 128}, l2{128, 10};
  const double flops = 2 * conv_flops(kConv1) + 3 * conv_flops(kConv2) + 6.0 * kBatch * (800 * 128 + 128 * 10);
  measure(state, flops, 0, [&] {
    c1.forward(), p1.avg_forward(), c2.forward(), p2.avg_forward(), l1.forward(), l2.forward();
    l2.backward(), l1.backward(), p2.avg_backward();
    c2.backward_parameters(), c2.backward_input(), p1.avg_backward(), c1.backward_parameters();
  });
  state.counters["epoch_s"] = benchmark::Counter(static_cast<double>(state.iterations()) / kStepsPerEpoch,
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(lenet_kernels)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

template <class F>
void add(const std::string& name, F run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);
}

void add_conv(const char* name, const Conv2dShape& shape) {
  const std::pair<const char*, void (Conv::*)()> passes[] = {{"/forward", &Conv::forward},
                                                             {"/backward_input", &Conv::backward_input},
                                                             {"/backward_weight", &Conv::backward_weight},
                                                             {"/backward_bias", &Conv::backward_bias}};
  for (const auto& pass : passes)
    add(name + std::string(pass.first), [=](benchmark::State& state) { conv(state, shape, pass.second); });
  // Whatever can compute a pass: forward, the gradients of the input and of the weights.
  using Can = bool (*)(ConvMethod, const Conv2dShape&);
  const Can can[] = {cpu::can_forward<float>, cpu::can_backward_input<float>, cpu::can_backward_weight<float>};
  for (std::size_t i = 0; i < std::size(can); ++i)
    for (const ConvMethod& method : cpu::kConvMethods)
      if (can[i](method, shape))
        add(concat(name, passes[i].first, "/", cpu::name_of(method)),
            [=, pass = passes[i].second](benchmark::State& state) { conv(state, shape, pass, &method); });
}

void add_pool(const char* name, const Pool2dShape& shape) {
  const std::pair<const char*, void (Pool::*)()> passes[] = {{"/avg_forward", &Pool::avg_forward},
                                                             {"/avg_backward", &Pool::avg_backward},
                                                             {"/max_forward", &Pool::max_forward},
                                                             {"/max_backward", &Pool::max_backward}};
  for (const auto& pass : passes)
    add(name + std::string(pass.first), [=](benchmark::State& state) { pool(state, shape, pass.second); });
}

}  // namespace

int main(int argc, char** argv) {
  add_conv("conv1", kConv1);
  add_conv("conv2", kConv2);
  // Layers of other networks: ResNet's 3 x 3 and 1 x 1, one of VGG's on a single image, and a depthwise one.
  add_conv("resnet_3x3", conv_shape(16, 64, 28, 64, 3, 1));
  add_conv("resnet_late", conv_shape(16, 256, 7, 256, 3, 1));
  add_conv("resnet_1x1", conv_shape(16, 256, 14, 128, 1));
  add_conv("vgg_one_image", conv_shape(1, 64, 112, 128, 3, 1));
  add_conv("depthwise", conv_shape(32, 96, 28, 96, 3, 1, 96));
  add_pool("pool1", kPool1);
  add_pool("pool2", kPool2);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
