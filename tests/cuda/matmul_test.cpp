// CUDA's matrix products against the CPU.
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/core/backend/linalg.h"
#include "tandem/core/global_context.h"
#include "tandem/core/reproducible.h"
#include "tandem/cuda/ops/linear_plan.h"
#include "tandem/cuda/ops/matmul_matrix.h"
#include "tandem/tests/cuda/on_device.h"
#include "tandem/tests/cuda/skip.h"
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda/device_calls.h"
#endif

using namespace tandem;

namespace {

using Inputs = std::vector<Tensor>;

Tensor numbers(IntArrayRef sizes, ScalarType dtype) {
  return is_floating_point(dtype) ? randn(sizes, dtype) : randint(20, sizes, dtype);
}
double tolerance(ScalarType dtype) { return dtype == kFloat ? 1e-5 : dtype == kDouble ? 1e-12 : 0; }

// The error of float32 sums of standard normal products grows with the root of their number; the CPU's is the larger.
double tolerance_of_sums(int64_t k) { return 5e-6 * std::sqrt(static_cast<double>(k)); }

void check_matmul(const Tensor& a, const Tensor& b, double beta, double alpha, double within = 0) {
  Dims sizes(a.sizes());
  sizes[sizes.size() - 1] = b.size(-1);
  CAPTURE(a.describe());
  CAPTURE(b.describe());
  nearly_same(numbers(sizes, a.dtype()), {a, b}, within > 0 ? within : tolerance(a.dtype()),
              [&](const Backend& backend, const Tensor& o, const Inputs& in) {
                backend.linalg.matmul(o, in[0], in[1], beta, alpha);
              });
}

}  // namespace

TEST_CASE("matrix products in any layout") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble, kInt, kByte, kLong})
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{5, 7, 3}, {1, 4, 6}, {4, 1, 6}, {4, 5, 1}, {1, 1, 1}, {20, 33, 40}}) {
      const Tensor a = numbers({m, k}, dtype), b = numbers({k, n}, dtype);
      const Tensor at = numbers({k, m}, dtype).t(), bt = numbers({n, k}, dtype).t();
      for (const Tensor& x : {a, at, numbers({m, k + 3}, dtype).narrow(1, 1, k)})
        for (const Tensor& y : {b, bt, numbers({k + 2, n}, dtype).narrow(0, 1, k)}) check_matmul(x, y, 0, 1);
      check_matmul(a, bt, 2, 3);
      check_matmul(at, b, 1, -1);
    }
}

TEST_CASE("small products of float32 beyond one tile and one step") {
  if (!has_devices(1)) return;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{256, 10, 128}, {128, 10, 256}, {256, 128, 10}, {9, 33, 300}}) {
    const Tensor a = numbers({m, k}, kFloat), b = numbers({k, n}, kFloat);
    const double within = tolerance_of_sums(k);
    for (const Tensor& x : {a, numbers({k, m}, kFloat).t(), numbers({m, 2 * k}, kFloat).slice(1, 0, 2 * k, 2)})
      for (const Tensor& y : {b, numbers({n, k}, kFloat).t()}) check_matmul(x, y, 0, 1, within);
    check_matmul(a, b, 1, 1, within);
    check_matmul(a, b, 2, -3, 3 * within);
  }
}

TEST_CASE("products of half types whose rows begin anywhere") {
  if (!has_devices(1)) return;
  const auto in = [](const Tensor& values, int64_t row, int64_t offset) {  // in rows so far apart, from this element on
    Tensor room = zeros({values.size(0) * row + offset}, values.dtype());
    Tensor at = alias(room, values.sizes(), {row, 1}, offset);
    at.copy_(values);
    return at;
  };
  for (const ScalarType dtype : {kHalf, kBFloat16})
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{21, 37, 19}, {8, 40, 16}, {24, 12, 35}, {17, 9, 24}}) {
      const auto matrix = [dtype = dtype](int64_t r, int64_t c) { return numbers({r, c}, kFloat).to(dtype); };
      const Tensor a = matrix(m, k), b = matrix(k, n);
      for (const Tensor& x : {a, in(a, 40, 0), in(a.t().contiguous(), 32, 0).t(), in(a, 40, 3)})
        for (const Tensor& y : {b, in(b, 48, 0), in(b.t().contiguous(), 40, 0).t()})
          for (const Tensor& out : {in(matrix(m, n), n, 0), in(matrix(m, n), n, 5), in(matrix(m, n), 48, 8)})
            for (const double beta : {0.0, 0.5}) {
              CAPTURE(x.describe());
              CAPTURE(y.describe());
              CAPTURE(out.describe());
              CAPTURE(beta);
              // A part of a sum is rounded before the rest is added to it: on a GPU, results near 0 differ by 2^-8.5.
              nearly_same(out, {x, y}, dtype == kHalf ? 0x1p-8 : 0x1p-5,
                          [&](const Backend& backend, const Tensor& o, const Inputs& inputs) {
                            if (o.is_cuda()) return cuda_impl::aligned_matmul(o, inputs[0], inputs[1], beta, 1.25);
                            const Tensor whole = o.clone(MemoryFormat::Contiguous);
                            backend.linalg.matmul(whole, inputs[0], inputs[1], beta, 1.25);
                            copy_raw(o, whole);
                          });
            }
    }
}

TEST_CASE("only large products of unaligned half types are aligned") {
  if (!has_devices(1)) return;
  const auto applies = [](ScalarType dtype, int64_t rows, int64_t classes, int64_t row, int64_t inner) {
    const Tensor one = empty_raw({8}, dtype, Device("cuda:0"));
    const Tensor hidden = alias(one, {rows, inner}, {inner, 1}, 0),
                 weight = alias(one, {classes, inner}, {inner, 1}, 0),
                 scores = alias(one, {rows, classes}, {row, 1}, 0);
    const auto turned = [](const Tensor& t) { return alias(t, {t.size(1), t.size(0)}, {t.stride(1), t.stride(0)}, 0); };
    return std::array{cuda_impl::aligned_matmul_applies(scores, hidden, turned(weight)),
                      cuda_impl::aligned_matmul_applies(hidden, scores, weight),
                      cuda_impl::aligned_matmul_applies(weight, turned(scores), hidden)};
  };
  constexpr std::array kAll{true, true, true}, kNone{false, false, false};
  CHECK(applies(kBFloat16, 8192, 50257, 50257, 768) == kAll);
  CHECK(applies(kHalf, 8192, 50257, 50264, 768) == kAll);  // the extents are not whole vectors
  CHECK(applies(kBFloat16, 8192, 50304, 50304, 768) == kNone);
  CHECK(applies(kBFloat16, 8191, 50304, 50304, 768) == kNone);
  CHECK(applies(kFloat, 8192, 50257, 50257, 768) == kNone);
  CHECK(applies(kBFloat16, 128, 50257, 50257, 768) == kNone);
  CHECK(applies(kBFloat16, 512, 1001, 1001, 768) == kNone);

  // One of the matrices is enough, if its rows are apart by no whole vectors or begin between two.
  const Tensor one = empty_raw({16}, kHalf, Device("cuda:0"));
  const auto matrix = [&](int64_t rows, int64_t columns, bool odd_rows, int64_t offset) {
    return alias(one, {rows, columns}, {columns + odd_rows, 1}, offset);
  };
  for (int which = 0; which < 4; ++which)  // 3: none
    for (const bool by_offset : {false, true}) {
      CAPTURE(which);
      const auto of = [&](int i, int64_t rows, int64_t columns) {
        return matrix(rows, columns, i == which && !by_offset, i == which && by_offset ? 4 : 0);
      };
      CHECK(cuda_impl::aligned_matmul_applies(of(0, 2048, 1024), of(1, 2048, 1024), of(2, 1024, 1024)) == (which < 3));
    }
  CHECK_FALSE(cuda_impl::aligned_matmul_applies(matrix(2048, 1024, true, 0), matrix(2048, 1023, false, 0),
                                                matrix(1023, 1024, false, 0)));  // fewer products than are worth it
}

TEST_CASE("batched and empty products") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble, kShort}) {
    const Tensor a = numbers({6, 3, 4}, dtype), b = numbers({6, 4, 5}, dtype);
    check_matmul(a, b, 0, 1);
    check_matmul(a, b, 1, 2);
    check_matmul(a.narrow(0, 0, 1), b.narrow(0, 2, 1), 0, 1);
    check_matmul(numbers({6, 4, 3}, dtype).transpose(1, 2), numbers({6, 5, 4}, dtype).transpose(1, 2), 0, 1);
    check_matmul(numbers({3, 4}, dtype).expand({6, 3, 4}), b, 0, 1);
    check_matmul(numbers({0, 3, 4}, dtype), numbers({0, 4, 5}, dtype), 0, 1);
    check_matmul(numbers({0, 4}, dtype), numbers({4, 5}, dtype), 0, 1);
  }
}

TEST_CASE("linear, with and without bias") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{5, 7, 3}, {1, 4, 6}, {8, 1, 6}, {3, 5, 1}, {128, 10, 84}, {40, 33, 50}})
      for (int twice = 0; twice < 2; ++twice) {  // the plan is created, then found
        const Tensor x = numbers({m, k}, dtype), bias = numbers({n}, dtype);
        for (const Tensor& w : {numbers({n, k}, dtype), numbers({k, n}, dtype).t()})
          for (const Tensor& b : {bias, Tensor()})
            for (const Tensor& input : {x, numbers({k, m}, dtype).t()})
              nearly_same(empty({m, n}, dtype), {input, w, b}, tolerance(dtype),
                          [](const Backend& backend, const Tensor& o, const Inputs& in) {
                            backend.linalg.linear(o, in[0], in[1], in[2]);
                          });
      }
}

TEST_CASE("a transposed weight is converted, and its gradient made, as it lies") {
  if (!has_devices(1)) return;
  const Tensor x = randn({3, 4, 6}), w = randn({6, 5}), g = randn({3, 4, 5});
  const auto gradient = [&](Device device, bool half) {
    const Tensor leaf = (w + 0).to(device).requires_grad_();
    Tensor y;
    {
      const autocast::AutocastGuard mixed(kCUDA, kBFloat16, half);
      y = linear(x.to(device), leaf.t());
    }
    y.backward(g.to(device, y.dtype()));
    CHECK(leaf.grad().is_contiguous());
    return leaf.grad().cpu();
  };
  const Tensor expected = gradient(kCPU, false);
  std::string why;
  CHECK_MESSAGE(testing::close(gradient(Device("cuda:0"), false), expected, unless_strict(1e-5), &why), why);
  CHECK_MESSAGE(testing::close(gradient(Device("cuda:0"), true), expected, 0.03, &why), why);
}

TEST_CASE("TF32 is for products of float32 only, and only if it is allowed") {
  CHECK(cuda_impl::compute_type(kDouble, true) == CUBLAS_COMPUTE_64F);
  CHECK(cuda_impl::compute_type(kFloat, true) == CUBLAS_COMPUTE_32F_FAST_TF32);
  for (const ScalarType dtype : {kHalf, kBFloat16}) CHECK(cuda_impl::compute_type(dtype, true) == CUBLAS_COMPUTE_32F);
  for (const ScalarType dtype : {kFloat, kHalf}) CHECK(cuda_impl::compute_type(dtype, false) == CUBLAS_COMPUTE_32F);
  if (!has_devices(1)) return;
  // TF32 has ten bits behind the point.
  const auto product = [](ScalarType dtype, bool with_bias) {
    const TensorOptions options = TensorOptions(Device("cuda:0")).dtype(dtype);
    const Tensor x = full({136, 144}, 1 + 0x1p-13, options), w = full({152, 144}, 1, options);
    const Tensor y = with_bias ? linear(x, w, zeros({152}, options)) : matmul(x, w.t());
    return y.to(kDouble).cpu()[0][0].item<double>();
  };
  const double exact = 144 * (1 + 0x1p-13);
  for (const bool with_bias : {false, true}) {
    CHECK(product(kFloat, with_bias) == exact);
    globalContext().setAllowTF32CuBLAS(true);
    CHECK(product(kFloat, with_bias) == (reproducible() == Reproducible::kStrict ? exact : 144));
    CHECK(product(kDouble, with_bias) == exact);
    globalContext().setAllowTF32CuBLAS(false);
  }
}

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("a small product is one kernel of ours, and an unaligned result is written in place") {
  const Tensor out = empty_raw({256, 10}, kFloat, Device("cuda:0")), a = on_device(randn({256, 128})),
               b = on_device(randn({128, 10})), bias = on_device(randn({10}));
  CHECK(calls_of([&] { backend(kCUDA).linalg.matmul(out, a, b, 1, 1); }) == Calls{0, 1});
  CHECK(calls_of([&] { backend(kCUDA).linalg.linear(out, a, b.t(), bias); }) == Calls{0, 1});
  const Tensor scores = empty_raw({16, 37}, kHalf, Device("cuda:0")), hidden = on_device(randn({16, 24}).to(kHalf)),
               weight = on_device(randn({37, 24}).to(kHalf));
  // Eight groups of rows and both ends, which are copied.
  CHECK(calls_of([&] { cuda_impl::aligned_matmul(scores, hidden, weight.t(), 0, 1); }) == Calls{10, 2});
}

TEST_CASE("linear with a bias is one kernel, whatever the layouts") {
  const Tensor out = empty_raw({35, 37}, kFloat, Device("cuda:0")), bias = on_device(randn({37}));
  for (const Tensor& x : {randn({35, 33}), randn({33, 35}).t()})
    for (const Tensor& w : {randn({37, 33}), randn({33, 37}).t()}) {
      const Tensor a = on_device(x), b = on_device(w);
      const auto before = cuda_emulation::counters();
      backend(kCUDA).linalg.linear(out, a, b, bias);
      const auto after = cuda_emulation::counters();
      CHECK(after.library_calls == before.library_calls + 1);
      CHECK(after.launches == before.launches);
      CHECK(after.syncs == before.syncs);
    }
}

constexpr Calls kBiasInEpilogue{1, 0}, kBiasFirst{1, 1};

TEST_CASE("linear adds the bias first where cuBLASLt fails, and for a bias of small alignment") {
  const auto linear = [](const Tensor& bias) {
    return calls_of([&] {
      nearly_same(empty({36, 40}), {randn({36, 33}), randn({40, 33}), bias}, 1e-5,
                  [](const Backend& backend, const Tensor& o, const Inputs& in) {
                    backend.linalg.linear(o, in[0], in[1], in[2]);
                  });
    });
  };
  CHECK(linear(randn({44}).narrow(0, 4, 40)) == kBiasInEpilogue);
  CHECK(linear(randn({44}).narrow(0, 1, 40)) == kBiasFirst);
  cuda_emulation::fail_next("cublasLtMatmul", cudaErrorUnknown);
  CHECK(linear(randn({40})) == kBiasFirst);
  CHECK(linear(randn({40})) == kBiasFirst);  // permanently
}
#endif
