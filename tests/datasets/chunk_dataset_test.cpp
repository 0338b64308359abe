// ChunkDataset: batches over chunks, orders, epochs, loaders.
#include "tandem/datasets/chunk_dataset.h"

#include <doctest/doctest.h>

#include "tandem/datasets/data_loader.h"
#include "tandem/nn/files/archive.h"

using namespace tandem;
using namespace tandem::data;

namespace {

// Chunk i has the examples 100 i, 100 i + 1, …; chunk 1 is empty.
struct Reader : datasets::ChunkDataReader<int> {
  std::vector<int> read_chunk(size_t index) override {
    std::vector<int> chunk;
    for (int k = 0; index != 1 && k < 5; ++k) chunk.push_back(100 * static_cast<int>(index) + k);
    return chunk;
  }
  size_t chunk_count() override { return 3; }
  void reset() override { ++epochs; }
  int epochs = 0;
};
using InOrder = datasets::ChunkDataset<Reader, samplers::SequentialSampler, samplers::SequentialSampler>;
using Shuffled = datasets::ChunkDataset<Reader>;

template <class Loader>
std::vector<int> sorted(Loader& loader) {
  std::vector<int> out;
  for (auto& batch : loader) out.insert(out.end(), batch.begin(), batch.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("ChunkDataset fills batches across chunks") {
  InOrder set(Reader(), samplers::SequentialSampler(0), samplers::SequentialSampler(0), {1, 4});
  CHECK_THROWS_WITH_AS(set.get_batch(4), doctest::Contains("reset()"), Error);
  for (int epoch = 0; epoch < 2; ++epoch) {
    set.reset();
    CHECK(set.get_batch(4) == std::vector<int>{0, 1, 2, 3});
    CHECK(set.get_batch(4) == std::vector<int>{4, 200, 201, 202});
    CHECK(set.get_batch(4) == std::vector<int>{203, 204});
    CHECK(!set.get_batch(4).has_value());
  }
  CHECK_THROWS_WITH_AS(set.get_batch(3), doctest::Contains("batch size"), Error);
  CHECK(!set.size().has_value());
  CHECK_THROWS_AS(datasets::ChunkDatasetOptions(0, 4), Error);
  CHECK_THROWS_AS(datasets::ChunkDatasetOptions(1, 4, 3), Error);
}

TEST_CASE("ChunkDataset shuffles chunks and examples, shared by a loader's workers") {
  const std::vector<int> all{0, 1, 2, 3, 4, 200, 201, 202, 203, 204};
  for (const size_t together : {1U, 3U}) {
    auto set = datasets::make_shared_dataset<Shuffled>(
        Reader(), samplers::RandomSampler(0, uint64_t{1}), samplers::RandomSampler(0, uint64_t{2}),
        datasets::ChunkDatasetOptions(2, 3).cross_chunk_shuffle_count(together),
        [](std::vector<int>& examples) { std::sort(examples.begin(), examples.end()); });
    for (const size_t workers : {0U, 1U}) {
      auto loader = make_data_loader(set, DataLoaderOptions(3).workers(workers));
      CHECK(sorted(*loader) == all);
      CHECK(sorted(*loader) == all);
    }
  }
}

TEST_CASE("a loaded ChunkDataset goes on with the chunks that had not been read") {
  const auto make = [] {
    return InOrder(Reader(), samplers::SequentialSampler(0), samplers::SequentialSampler(0), {1, 5});
  };
  InOrder set = make(), other = make();
  set.reset();
  CHECK(set.get_batch(5)->front() == 0);
  serialize::OutputArchive out;
  set.save(out);
  serialize::InputArchive in(out.tensors(), out.metadata());
  other.load(in);
  other.reset();
  CHECK(other.get_batch(5)->front() == 200);
  CHECK(!other.get_batch(5).has_value());
  other.reset();
  CHECK(other.get_batch(5)->front() == 0);
}

TEST_CASE("options of a loader are also assigned") {
  DataLoaderOptions options;
  options.batch_size() = 4;
  options.workers() = 2;
  options.drop_last() = true;
  options.max_jobs(5).timeout(std::chrono::seconds(3)).enforce_ordering(false);
  const FullDataLoaderOptions full(options);
  CHECK(full.batch_size == 4);
  CHECK(full.workers == 2);
  CHECK(full.max_jobs == 5);
  CHECK(full.drop_last);
  CHECK(!full.enforce_ordering);
  CHECK(full.timeout == std::chrono::milliseconds(3000));
}
