// Operations on tensors larger than the caches, and a LeNet step. The argument is the number of threads.
//
//   copy, relu, add, mul, exp        16 Mi floats; bytes count reads and writes
//   sum, mean_rows, mean_columns, amax, argmax, sum_int8
//   index                            65,536 rows of 64 floats picked by an index tensor
//   view                             a select, a transpose and a slice, which touch no elements
//   lenet_step                       forward, backward and SGD of LeNet on 256 images; counters after warm-up:
//                                    storages, storages from the system, calls of operator new
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tandem/tandem.h"

namespace {
std::atomic<uint64_t> calls_of_new{0};
}
// Never inlined, or g++ would warn that operator delete frees malloc's memory.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  calls_of_new.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace tandem;

namespace {

constexpr int64_t kCount = 16 << 20;

// Measures f; `bytes` is the number of bytes that one call moves.
template <class F>
auto* add(const char* name, int64_t bytes, F f) {
  const auto run = [=](benchmark::State& state) {
    NoGradGuard guard;
    set_num_threads(static_cast<int>(state.range(0)));
    f();
    for (auto _ : state) f();
    state.SetBytesProcessed(state.iterations() * bytes);
    set_num_threads(1);
  };
  return benchmark::RegisterBenchmark(name, run)->Arg(1);
}
// The same on 1 and 2 threads, of a function of which the result is not needed.
template <class F>
void add_large(const char* name, int64_t bytes, F f) {
  add(name, bytes, [f] { benchmark::DoNotOptimize(f()); })->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}

const Tensor& large() {
  static const Tensor x = randn({4096, kCount / 4096});
  return x;
}
const Tensor& other() {
  static const Tensor x = randn({4096, kCount / 4096});
  return x;
}

void lenet_step(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(0)));
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(1, 20, 3)), nn::ReLU(), nn::AvgPool2d(2),
                     nn::Conv2d(nn::Conv2dOptions(20, 50, 5)), nn::ReLU(), nn::AvgPool2d(2), nn::Flatten(),
                     nn::Linear(800, 128), nn::ReLU(), nn::Linear(128, 10));
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  const Tensor x = rand({256, 1, 28, 28}), y = randint(10, {256}, kLong);
  const auto step = [&] {
    optimizer.zero_grad();
    cross_entropy_loss(net->forward(x), y).backward();
    optimizer.step();
  };
  for (int i = 0; i < 3; ++i) step();
  const uint64_t system = cpu::system_allocations(), storages = memory_stats(kCPU).allocations,
                 calls = calls_of_new.load();
  step();
  state.counters["storages"] = static_cast<double>(memory_stats(kCPU).allocations - storages);
  state.counters["system"] = static_cast<double>(cpu::system_allocations() - system);
  state.counters["new"] = static_cast<double>(calls_of_new.load() - calls);
  state.counters["peak_MiB"] = static_cast<double>(memory_stats(kCPU).peak_bytes) / (1 << 20);
  for (auto _ : state) step();
  set_num_threads(1);
}
BENCHMARK(lenet_step)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  add_large("copy", 8 * kCount, [] {
    static Tensor result = zeros({4096, kCount / 4096});
    return result.copy_(large());
  });
  add_large("relu", 8 * kCount, [] { return relu(large()); });
  add_large("add", 12 * kCount, [] { return large() + other(); });
  add_large("mul", 12 * kCount, [] { return large() * other(); });
  add_large("add_transposed", 12 * kCount, [] {
    static const Tensor square = randn({4096, 4096});
    return square + square.t();
  });
  add_large("exp", 8 * kCount, [] { return exp(large()); });
  add_large("sum", 4 * kCount, [] { return large().sum(); });
  add_large("mean_rows", 4 * kCount, [] { return large().mean(1); });
  add_large("mean_columns", 4 * kCount, [] { return large().mean(0); });
  add_large("amax", 4 * kCount, [] { return large().amax(1); });
  add_large("argmax", 4 * kCount, [] { return large().argmax(1); });
  add_large("sum_int8", 4 * kCount, [] {
    static const Tensor x = ones({4 * kCount}, kInt8);
    return x.sum();
  });
  add_large("index", 2 * 65536 * 64 * 4, [] {
    static const Tensor rows = randn({65536, 64}), order = randperm(65536);
    return rows.index({order});
  });
  add("view", 0, [] {
    benchmark::DoNotOptimize(large().select(0, 3));
    benchmark::DoNotOptimize(large().t());
    benchmark::DoNotOptimize(large().slice(1, 10, 90, 2));
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
