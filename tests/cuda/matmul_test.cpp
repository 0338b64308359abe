// CUDA's matrix products against the CPU.
#include <doctest/doctest.h>

#include "tandem/core/backend/linalg.h"
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

void check_matmul(const Tensor& a, const Tensor& b, double beta, double alpha) {
  Dims sizes(a.sizes());
  sizes[sizes.size() - 1] = b.size(-1);
  CAPTURE(a.describe());
  CAPTURE(b.describe());
  nearly_same(numbers(sizes, a.dtype()), {a, b}, tolerance(a.dtype()),
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
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{5, 7, 3}, {1, 4, 6}, {8, 1, 6}, {3, 5, 1}, {128, 10, 84}})
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

#ifdef TANDEM_CUDA_EMULATION
TEST_CASE("linear with a bias is one kernel, whatever the layouts") {
  const Tensor out = empty_raw({5, 7}, kFloat, Device("cuda:0")), bias = on_device(randn({7}));
  for (const Tensor& x : {randn({5, 3}), randn({3, 5}).t()})
    for (const Tensor& w : {randn({7, 3}), randn({3, 7}).t()}) {
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
      nearly_same(empty({6, 8}), {randn({6, 3}), randn({8, 3}), bias}, 1e-5,
                  [](const Backend& backend, const Tensor& o, const Inputs& in) {
                    backend.linalg.linear(o, in[0], in[1], in[2]);
                  });
    });
  };
  CHECK(linear(randn({12}).narrow(0, 4, 8)) == kBiasInEpilogue);
  CHECK(linear(randn({12}).narrow(0, 1, 8)) == kBiasFirst);
  cuda_emulation::fail_next("cublasLtMatmul", cudaErrorUnknown);
  CHECK(linear(randn({8})) == kBiasFirst);
  CHECK(linear(randn({8})) == kBiasFirst);  // permanently
}
#endif
