// The cost of reading data and making batches. W is the number of workers; items are images.
//
//   read_images      Fashion-MNIST's training images and labels from gz to tensors; skipped if not found
//   order            the shuffled order of an epoch of 60,000 examples
//   gather/W         an epoch of shuffled batches of 256 images of 28 x 28 bytes
//   gather_float/W   the same with a transform to float in 0 … 1
//   loader/W         the same with make_data_loader over MNIST-like data, Normalize and Stack
//   examples/W       the same for a user-defined data set that returns single images, stacked afterwards
#include <benchmark/benchmark.h>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/datasets/data.h"
#include "tandem/datasets/image_data.h"
#include "tandem/datasets/order.h"
#include "tandem/datasets/sources.h"

using namespace tandem;
using namespace tandem::data;

namespace {

constexpr int64_t kImages = 60000, kBatch = 256;

const Tensor& images() {
  static const Tensor all = full({kImages, 28, 28}, 7, kUInt8);
  return all;
}
const Tensor& labels() {
  static const Tensor all = full({kImages}, 3, kLong);
  return all;
}

void read_images(benchmark::State& state) {
  DatasetFiles files;
  try {
    files = find_dataset("fashion-mnist");
  } catch (const Error&) {
    state.SkipWithError("Fashion-MNIST was not found on this machine");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(read_image_data(files.train_images, files.train_labels));
}
BENCHMARK(read_images)->Unit(benchmark::kMillisecond);

void order(benchmark::State& state) {
  int64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(shuffled_order(kImages, 0, epoch++));
}
BENCHMARK(order)->Unit(benchmark::kMicrosecond);

void run(benchmark::State& state, const BatchTransform& transform) {
  int64_t epoch = 0, batches = 0;
  for (auto _ : state) {
    BatchLoader loader(
        {images(), labels()},
        {.batch_size = kBatch, .shuffle = true, .workers = static_cast<int>(state.range(0)), .epoch = epoch++},
        transform);
    for (; auto batch = loader.next(); ++batches) benchmark::DoNotOptimize(*batch);
  }
  state.SetItemsProcessed(state.iterations() * kImages);
  state.counters["batches/s"] = benchmark::Counter(static_cast<double>(batches), benchmark::Counter::kIsRate);
}
void gather(benchmark::State& state) { run(state, {}); }
BENCHMARK(gather)->DenseRange(0, 2)->Unit(benchmark::kMillisecond)->UseRealTime();
void gather_float(benchmark::State& state) {
  run(state, [](std::vector<Tensor>& batch) { batch[0] = batch[0].to(kFloat).div(255); });
}
BENCHMARK(gather_float)->DenseRange(0, 2)->Unit(benchmark::kMillisecond)->UseRealTime();

template <class Dataset>
void run_loader(benchmark::State& state, Dataset dataset) {
  auto loader =
      make_data_loader(std::move(dataset), DataLoaderOptions(kBatch).workers(static_cast<size_t>(state.range(0))));
  for (auto _ : state)
    for (auto& batch : *loader) benchmark::DoNotOptimize(batch.data);
  state.SetItemsProcessed(state.iterations() * kImages);
}
void loader(benchmark::State& state) {
  static const Tensor floats = images().to(kFloat).unsqueeze(1);
  run_loader(
      state,
      datasets::PairDataset(floats, labels()).map(transforms::Normalize<>(0.1307, 0.3081)).map(transforms::Stack<>()));
}
BENCHMARK(loader)->DenseRange(0, 2)->Unit(benchmark::kMillisecond)->UseRealTime();

struct OneByOne : datasets::Dataset<OneByOne> {
  Example<> get(size_t i) override {
    const auto index = static_cast<int64_t>(i);
    return {images().select(0, index).to(kFloat).div(255), labels().select(0, index)};
  }
  optional<size_t> size() const override { return kImages; }
};
void examples(benchmark::State& state) { run_loader(state, OneByOne().map(transforms::Stack<>())); }
BENCHMARK(examples)->DenseRange(0, 2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
