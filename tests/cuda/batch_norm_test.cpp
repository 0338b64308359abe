// Batch normalisation on CUDA against the CPU.
#include "tandem/core/backend/batch_norm.h"
#include "tandem/autograd/ops/nn/running_statistics.h"
#include "tandem/tests/cuda/compare_devices.h"

using namespace tandem;

namespace {

Tensor sample(IntArrayRef sizes, ScalarType type, uint64_t seed = 3) {
  Generator generator(seed);
  return randn(sizes, generator, TensorOptions(kDouble)).to(type);
}

// The tensor on a device, its first element `offset` elements after an aligned address.
Tensor moved(const Tensor& t, Device device, int64_t offset = 0) {
  if (!t.defined()) return t;
  const Tensor memory = empty_raw({t.numel() + offset}, t.dtype(), device);
  const Tensor to = alias(memory, t.sizes(), contiguous_strides(t.sizes()), offset);
  to.copy_(t);
  return to;
}

struct Example {
  Tensor x, grad, weight, bias;
  Example(IntArrayRef sizes, ScalarType type, bool plain)
      : x((sample(sizes, kDouble) + 1).to(type)), grad(sample(sizes, type, 4)) {
    if (plain) return;
    weight = sample({sizes[1]}, type, 5);
    bias = sample({sizes[1]}, type, 6);
  }

  // Mean and variance, the output, gradients, and the gradient where the statistics are constants.
  std::vector<Tensor> run(Device device, int64_t offset = 0) const {
    const ScalarType of_channels = toOpMathType(x.dtype());
    const auto channel = [&] { return empty_raw({x.size(1)}, of_channels, device); };
    const auto like_x = [&] { return moved(x, device, offset); };
    const Tensor in = like_x(), g = moved(grad, device, offset), w = moved(weight, device), b = moved(bias, device);
    std::vector<Tensor> out{channel(), channel(), like_x(), like_x(), channel(), channel(), like_x()};
    const auto& kernels = backend(device).batch_norm;
    kernels.statistics(out[0], out[1], in);
    kernels.normalize(out[2], in, out[0], out[1], w, b, 1e-5);
    kernels.backward(out[3], out[4], out[5], g, in, out[0], out[1], w, 1e-5, true);
    kernels.backward(out[6], Tensor(), Tensor(), g, in, out[0], out[1], w, 1e-5, false);
    for (Tensor& t : out) t = t.cpu();
    return out;
  }
};

// Statistics of [N, C, S] on CUDA.
std::pair<Tensor, Tensor> statistics(const Tensor& x) {
  const Tensor mean = empty_raw({x.size(1)}, toOpMathType(x.dtype()), cuda0()),
               variance = empty_raw(mean.sizes(), mean.dtype(), cuda0());
  backend(kCUDA).batch_norm.statistics(mean, variance, x.to(cuda0()));
  return {mean.cpu(), variance.cpu()};
}

// Half types: results are rounded from numbers that differ a little.
double allowed(ScalarType type) { return type == kBFloat16 ? 0.008 : type == kHalf ? 0.001 : tolerance_of(type) * 2; }

const std::vector<std::vector<int64_t>> kShapes = {
    {4, 3, 1},    {300, 70, 1}, {5, 3, 49},  {8, 16, 64},   {2, 5, 5000}, {9, 4, 6},    {40, 1, 700},
    {2500, 3, 4}, {20, 24, 49}, {1, 16, 49}, {3, 40, 196},  {1, 3, 4096}, {200, 64, 1}, {70, 24, 1},
    {2, 4100, 1}, {3, 700, 3},  {7, 1, 1},   {1, 1, 12345}, {0, 3, 5},    {3, 0, 5},    {3, 5, 0}};

void check_example(const std::vector<int64_t>& sizes, ScalarType type, bool plain) {
  const Example example(sizes, type, plain);
  const auto a = example.run(kCPU), b = example.run(cuda0());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(std::string(name(type)), " ", sizes[0], " x ", sizes[1], " x ", sizes[2], " plain ", plain, " result ", i);
    const bool of_input = i == 2 || i == 3 || i == 6;  // the others are sums, in float32 at least
    const ScalarType computed = toOpMathType(type);
    CHECK(near(b[i], a[i], of_input ? unless_strict(allowed(type)) : tolerance_of(computed) * (i < 2 ? 2 : 50)));
  }
}

}  // namespace

TEST_CASE("batch normalisation agrees with the CPU") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16})
    for (const auto& sizes : kShapes)
      for (const bool plain : {true, false}) check_example(sizes, type, plain);
}

TEST_CASE("batch normalisation of so many elements that threads have several rows") {
  if (!has_devices(1)) return;
  check_example({1401, 3, 330}, kDouble, false);  // five rows of two elements, for half of a GPU's 270,336 threads
}

TEST_CASE("the bits of batch normalisation are the same at any address and in every run") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16})
    for (const auto& sizes : {std::vector<int64_t>{8, 16, 49}, {3, 5, 49}, {70, 24, 1}, {1, 3, 4096}}) {
      const Example example(sizes, type, false);
      const auto first = example.run(cuda0());
      for (const int64_t offset : {0, 1, 3}) {
        const auto again = example.run(cuda0(), offset);
        for (std::size_t i = 0; i < first.size(); ++i) {
          INFO(std::string(name(type)), " ", sizes[0], " x ", sizes[1], " x ", sizes[2], " offset ", offset, " result ",
               i);
          CHECK(testing::identical(again[i], first[i]));
        }
      }
    }
}

TEST_CASE("batch statistics lose no digits to a large mean or a far element") {
  if (!has_devices(1)) return;
  for (const auto& sizes : {std::vector<int64_t>{64, 6, 49}, {5, 3, 4096}, {3000, 8, 1}, {1, 2, 20000}})
    for (const double far : {0., 1e4}) {
      Tensor x = (sample(sizes, kDouble) + 1000).to(kFloat);
      x.select(0, 0).select(1, 0).add_(far);  // the first element of every channel
      const auto [mean, variance] = statistics(x);
      const Tensor exact = x.to(kDouble).transpose(0, 1).reshape({sizes[1], -1});
      INFO(sizes[0], " x ", sizes[1], " x ", sizes[2], " far ", far);
      CHECK(near(mean.to(kDouble), exact.mean(1), 1e-7));
      CHECK(near(variance.to(kDouble), exact.var(1, false), 2e-6));
    }
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16}) {
    const auto [mean, variance] = statistics(full({40, 5, 49}, 1234.5, TensorOptions(type)));
    CHECK(testing::identical(variance, zeros({5}, TensorOptions(variance.dtype()))));
    CHECK(testing::identical(mean, full({5}, 1234.5, TensorOptions(type)).to(mean.dtype())));
  }
}

TEST_CASE("running statistics are updated as on the CPU, with and without a count") {
  if (!has_devices(1)) return;
  for (const bool counted : {false, true})
    for (const ScalarType type : {kFloat, kDouble}) {  // float32 has one kernel for all
      const auto run = [&](Device device) {
        const TensorOptions options = TensorOptions(type);
        Tensor mean = sample({300}, type).to(device), variance = full({300}, 2, options).to(device),
               batches = counted ? zeros({}, TensorOptions(kLong)).to(device) : Tensor();
        for (uint64_t i = 0; i < 3; ++i)
          autograd::batch_norm_tracked(sample({4, 300, 2}, type, i).to(device), {}, {}, mean, variance, batches, true,
                                       0.3, 1e-5);
        CHECK(mean._version() > 2);
        return std::vector<Tensor>{mean.cpu(), variance.cpu(), counted ? batches.cpu() : zeros({})};
      };
      const auto expected = run(kCPU), found = run(cuda0());
      CHECK(found[2].item<double>() == (counted ? 3 : 0));
      for (std::size_t i = 0; i < 2; ++i) CHECK(near(found[i], expected[i], unless_strict(1e-5)));
    }
}
