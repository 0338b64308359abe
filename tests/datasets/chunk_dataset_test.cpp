// ChunkDataset: batches over chunks, orders, epochs, loaders.
#include "tandem/datasets/chunk_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "tandem/autograd/ops/random/random.h"
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
  CHECK_THROWS_AS(datasets::ChunkDatasetOptions((size_t{1} << 32) + 1, 4), Error);
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

TEST_CASE("random numbers of a ChunkDataset's readers do not depend on the number of preloaders") {
  std::vector<std::vector<int>> seen;
  std::vector<int> later;  // from the calling thread's generator, after the epoch
  for (const size_t preloaders : {1U, 3U}) {
    manual_seed(5);
    InOrder set(Reader(), samplers::SequentialSampler(0), samplers::SequentialSampler(0),
                datasets::ChunkDatasetOptions(preloaders, 4), [](std::vector<int>& examples) {
                  for (int& example : examples) example = 1000 * example + randint(1000, {}).item<int>();
                });
    set.reset();
    seen.emplace_back();
    while (const auto batch = set.get_batch()) seen.back().insert(seen.back().end(), batch->begin(), batch->end());
    later.push_back(randint(1000000, {}).item<int>());
  }
  CHECK(seen[0].size() == 10);
  CHECK(seen[0] == seen[1]);
  CHECK(later[0] == later[1]);
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

namespace {

// Chunk i has the examples 10 i and 10 i + 1.
struct Watched : datasets::ChunkDataReader<int> {
  struct Log {
    std::mutex mutex;
    std::condition_variable changed;
    int begun = 0, at_once = 0, most_at_once = 0;
    int most() {
      std::lock_guard lock(mutex);
      return most_at_once;
    }
  };
  Watched(Log& shared, int wait_until_begun, int bad = -1)
      : log(&shared), wait_until(wait_until_begun), bad_chunk(bad) {}
  std::vector<int> read_chunk(size_t index) override {
    std::unique_lock lock(log->mutex);
    ++log->begun;
    log->most_at_once = std::max(log->most_at_once, ++log->at_once);
    log->changed.notify_all();
    log->changed.wait_for(lock, std::chrono::seconds(20), [&] { return log->begun >= wait_until; });
    --log->at_once;
    if (static_cast<int>(index) == bad_chunk) throw std::out_of_range("broken file");
    return {10 * static_cast<int>(index), 10 * static_cast<int>(index) + 1};
  }
  size_t chunk_count() override { return 6; }
  void reset() override {}
  Log* log;
  int wait_until, bad_chunk;
};
using Preloaded = datasets::ChunkDataset<Watched, samplers::SequentialSampler, samplers::SequentialSampler>;
const samplers::SequentialSampler kInOrder(0);

}  // namespace

TEST_CASE("preloaders read chunks at once, and batches are in the order of the chunks") {
  Watched::Log log;
  Preloaded set(Watched(log, 3), kInOrder, kInOrder, {3, 4});
  set.reset();
  for (int epoch = 0; epoch < 2; ++epoch) {
    CHECK(set.get_batch(4) == std::vector<int>{0, 1, 10, 11});
    CHECK(set.get_batch(4) == std::vector<int>{20, 21, 30, 31});
    CHECK(set.get_batch(4) == std::vector<int>{40, 41, 50, 51});
    CHECK(!set.get_batch(4).has_value());
    CHECK(!set.get_batch(4).has_value());
    set.reset();
  }
  CHECK(log.most() == 3);
}

TEST_CASE("a full cache begins no chunks, and one preloader reads one at a time") {
  Watched::Log log;
  Preloaded set(Watched(log, 4), kInOrder, kInOrder, {4, 1, 1});
  set.reset();
  CHECK(set.get_batch(1) == std::vector<int>{0});
  {
    std::unique_lock lock(log.mutex);
    const auto more = [&] { return log.begun > 4; };
    CHECK_FALSE(log.changed.wait_for(lock, std::chrono::milliseconds(50), more));
    CHECK(log.begun == 4);
  }
  Watched::Log alone;
  Preloaded one(Watched(alone, 0), kInOrder, kInOrder, {1, 2});
  one.reset();
  while (one.get_batch(2)) {
  }
  CHECK(alone.begun == 6);
  CHECK(alone.most_at_once == 1);
}

TEST_CASE("what a reader throws is thrown in place of its chunk, and no other example is lost") {
  for (const size_t preloaders : {1U, 3U}) {
    Watched::Log log;
    Preloaded set(Watched(log, 0, 1), kInOrder, kInOrder, {preloaders, 3});
    set.reset();
    try {
      set.get_batch(3);
      FAIL("no exception");
    } catch (const WorkerException& error) {
      CHECK(error.message.find("chunk 1 failed") != std::string::npos);
      CHECK(std::string(error.what()).find("broken file") != std::string::npos);
      CHECK_THROWS_AS(std::rethrow_exception(error.original_exception), std::out_of_range);
    }
    CHECK(set.get_batch(3) == std::vector<int>{0, 1, 20});
    CHECK(set.get_batch(3) == std::vector<int>{21, 30, 31});
    set.reset();
    CHECK_THROWS_AS(set.get_batch(3), WorkerException);
  }
}

TEST_CASE("of chunks that are read together, the one that threw is named") {
  Watched::Log log;
  Preloaded set(Watched(log, 0, 2), kInOrder, kInOrder, {1, 2, 2048, 4});
  set.reset();
  try {
    set.get_batch(2);
    FAIL("no exception");
  } catch (const WorkerException& error) {
    CHECK(error.batch == 2);
    CHECK(error.message.find("chunk 2 failed") != std::string::npos);
    CHECK_THROWS_AS(std::rethrow_exception(error.original_exception), std::out_of_range);
  }
  CHECK(set.get_batch(2) == std::vector<int>{40, 41});
}

TEST_CASE("a set can be saved, begun again and destroyed while chunks are read") {
  Watched::Log log;
  Preloaded set(Watched(log, 2), kInOrder, kInOrder, {2, 2}), other(Watched(log, 2), kInOrder, kInOrder, {2, 2});
  set.reset();
  CHECK(set.get_batch(2) == std::vector<int>{0, 1});
  serialize::OutputArchive out;
  set.save(out);
  serialize::InputArchive in(out.tensors(), out.metadata());
  other.load(in);
  other.reset();
  CHECK(other.get_batch(2) == std::vector<int>{10, 11});
  set.reset();
  CHECK(set.get_batch(2) == std::vector<int>{0, 1});
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
