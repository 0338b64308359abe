// The overhead of single operations: tensors of eight floats.
//
//   add               two tensors, without recording (NoGradGuard)
//   add_recorded      one tensor requires a gradient
//   add_inplace       a += b
//   chain             20 chained multiplications, forward and backward; the counters are storages and system
//                     allocations of one chain after warm-up
//   grad_of_grad/N    y = grad((y * y).sum(), y) with create_graph, N times: linear in N,
//                     because a pass ends at its input
#include <benchmark/benchmark.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/core/memory/cpu_allocator.h"

using namespace tandem;

namespace {

void add(benchmark::State& state) {
  NoGradGuard guard;
  const Tensor a = ones({8}), b = ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add);

void add_recorded(benchmark::State& state) {
  const Tensor a = ones({8}, requires_grad()), b = ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(add_recorded);

void add_inplace(benchmark::State& state) {
  NoGradGuard guard;
  Tensor a = ones({8}), b = ones({8});
  for (auto _ : state) a += b;
}
BENCHMARK(add_inplace);

void run_chain(const Tensor& x, const Tensor& w) {
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = y * w;
  y.backward(ones({8}));
}

void chain(benchmark::State& state) {
  const Tensor x = ones({8}, requires_grad()), w = ones({8}, requires_grad());
  for (auto _ : state) run_chain(x, w);
  const uint64_t system = cpu::system_allocations(), storages = memory_stats(x.device()).allocations;
  run_chain(x, w);
  state.counters["system_allocations"] = static_cast<double>(cpu::system_allocations() - system);
  state.counters["storages"] = static_cast<double>(memory_stats(x.device()).allocations - storages);
}
BENCHMARK(chain)->Unit(benchmark::kMicrosecond);

void grad_of_grad(benchmark::State& state) {
  for (auto _ : state) {
    Tensor y = ones({8}, requires_grad()) * 0.5;
    for (int64_t i = 0; i < state.range(0); ++i)
      y = autograd::grad({(y * y).sum()}, {y}, {}, nullopt, /*create_graph=*/true)[0];
    benchmark::DoNotOptimize(y);
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(grad_of_grad)->RangeMultiplier(2)->Range(500, 4000)->Unit(benchmark::kMillisecond)->Complexity();

}  // namespace

BENCHMARK_MAIN();
