// make_data_loader and DataLoader: independence of the number of workers, epochs, failures, leaving loops
// early, and idioms of LibTorch programs.
#include "tandem/datasets/data_loader.h"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/core/backend/data.h"
#include "tandem/core/random/generator.h"
#include "tandem/datasets/data.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using test::error_of;
using testing::identical;

namespace {

// Example i has data {i, i} and target i. Counts the calls of get; throws at index `bad`; adds random noise
// if `noisy`.
struct Numbers : datasets::Dataset<Numbers> {
  explicit Numbers(size_t count, int64_t bad = -1) : count(count), bad(bad) {}
  Example<> get(size_t index) override {
    ++*gets;
    if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    if (static_cast<int64_t>(index) == bad) throw std::out_of_range("bad example");
    const auto i = static_cast<int64_t>(index);
    Tensor data = full({2}, static_cast<double>(index));
    return {noisy ? data + rand({2}) : data, full({}, i, kLong)};
  }
  optional<size_t> size() const override { return count; }

  size_t count;
  int64_t bad;
  bool noisy = false;
  int delay_ms = 0;
  std::shared_ptr<std::atomic<int>> gets = std::make_shared<std::atomic<int>>(0);
};

std::vector<int64_t> values(const Tensor& t) { return {t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel()}; }

struct Epoch {
  std::vector<Tensor> data, targets;
  friend bool operator==(const Epoch& a, const Epoch& b) {
    if (a.data.size() != b.data.size()) return false;
    for (std::size_t i = 0; i < a.data.size(); ++i)
      if (!identical(a.data[i], b.data[i]) || !identical(a.targets[i], b.targets[i])) return false;
    return true;
  }
};
template <class Loader>
Epoch run(Loader& loader) {
  Epoch out;
  for (auto& batch : loader) {
    out.data.push_back(batch.data);
    out.targets.push_back(batch.target);
  }
  return out;
}

// A stateful data set with batches 0, 1, … `count` - 1.
struct Ticks : datasets::StatefulDataset<Ticks, std::vector<int>> {
  explicit Ticks(int count) : count(count) {}
  optional<std::vector<int>> get_batch(size_t batch_size) override {
    if (at == count) return nullopt;
    return std::vector<int>(batch_size, at++);
  }
  optional<size_t> size() const override { return nullopt; }
  void reset() override { at = 0; }
  int count, at = 0;
};

struct ByCount : datasets::StreamDataset<ByCount, size_t> {
  size_t get_batch(size_t count) override { return count; }
  optional<size_t> size() const override { return 10; }
};

}  // namespace

TEST_CASE("batches, epochs and random numbers do not depend on the number of workers") {
  Numbers numbers(53);
  numbers.noisy = true;
  std::vector<Epoch> expected;
  for (const size_t workers : {0, 1, 2, 5}) {
    auto loader = make_data_loader(numbers.map(transforms::Stack<>()), DataLoaderOptions(8).workers(workers).seed(3));
    std::vector<Epoch> epochs = {run(*loader), run(*loader)};
    CHECK(epochs[0].data.size() == 7);
    CHECK_FALSE(epochs[0] == epochs[1]);
    std::set<int64_t> seen;
    for (const Tensor& t : epochs[1].targets)
      for (const int64_t v : values(t)) seen.insert(v);
    CHECK(seen.size() == 53);
    if (workers == 0) expected = epochs;
    CHECK(epochs == expected);
  }
}

TEST_CASE("manual_seed determines the order of a loader without a seed") {
  const auto first = [] {
    manual_seed(5);
    auto loader = make_data_loader(Numbers(20).map(transforms::Stack<>()), 20);
    return run(*loader);
  };
  CHECK(first() == first());
}

TEST_CASE("sequential batches, drop_last, max_jobs") {
  for (const size_t workers : {0, 3}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(
        Numbers(10).map(transforms::Stack<>()), DataLoaderOptions().batch_size(4).workers(workers).max_jobs(1));
    const Epoch whole = run(*loader);
    REQUIRE(whole.targets.size() == 3);
    CHECK(values(whole.targets[1]) == std::vector<int64_t>{4, 5, 6, 7});
    CHECK(values(whole.targets[2]) == std::vector<int64_t>{8, 9});
    auto even = make_data_loader<samplers::SequentialSampler>(Numbers(10).map(transforms::Stack<>()),
                                                              DataLoaderOptions(4).workers(workers).drop_last(true));
    CHECK(run(*even).targets.size() == 2);
    auto none = make_data_loader(Numbers(3).map(transforms::Stack<>()), DataLoaderOptions(4).drop_last(true));
    CHECK(run(*none).targets.empty());
  }
}

TEST_CASE("without Stack a batch is a vector of examples; gathered batches agree with it") {
  const Tensor x = randn({20, 3}, Generator(1)), y = randint(0, 9, {20}, Generator(2));
  datasets::PairDataset pairs(x, y);
  auto plain = make_data_loader(pairs, DataLoaderOptions(6).seed(1));
  auto fast = make_data_loader(pairs.map(transforms::Stack<>()), DataLoaderOptions(6).seed(1).workers(2));
  std::vector<Example<>> batches;
  for (std::vector<Example<>>& batch : *plain) batches.push_back(transforms::Stack<>().apply_batch(batch));
  std::size_t k = 0;
  for (Example<>& batch : *fast) {
    CHECK(identical(batch.data, batches[k].data));
    CHECK(identical(batch.target, batches[k++].target));
  }
  CHECK(k == 4);
}

TEST_CASE("a data set's exception arrives as WorkerException; without workers unchanged") {
  for (const size_t workers : {0, 1, 4}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(20, 9).map(transforms::Stack<>()),
                                                                DataLoaderOptions(4).workers(workers));
    auto batch = loader->begin();
    CHECK(values(batch->target)[0] == 0);
    ++batch;
    if (workers == 0) {
      CHECK_THROWS_AS(++batch, std::out_of_range);
    } else {
      bool thrown = false;
      try {
        ++batch;
      } catch (const WorkerException& error) {
        thrown = true;
        CHECK(error.batch == 2);
        CHECK(error.what() ==
              std::string("Caught exception in DataLoader worker thread. Original message: bad example"));
        CHECK(error.message == "data loader: batch 2 failed in worker " + std::to_string(error.worker) +
                                   ". Original message: bad example");
        CHECK_THROWS_AS(std::rethrow_exception(error.original_exception), std::out_of_range);
      }
      CHECK(thrown);
    }
    ++batch;  // continues after it
    CHECK(values(batch->target)[0] == 12);
  }
}

TEST_CASE("the first batch is taken, and its exception thrown, when the iterator is first used") {
  for (const size_t workers : {0, 2}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(12, 1).map(transforms::Stack<>()),
                                                                DataLoaderOptions(4).workers(workers));
    auto batch = loader->begin();
    CHECK(loader->position() == 0);
    CHECK_THROWS_AS(static_cast<void>(*batch), std::exception);
    auto copy = batch;
    CHECK(values(batch->target)[0] == 4);  // goes on after the failed one
    CHECK(copy == batch);
    CHECK(copy != loader->end());
    CHECK(values(copy->target)[0] == 4);
    ++copy;
    CHECK(values(batch->target)[0] == 8);
    ++copy;
    CHECK(batch == loader->end());
    CHECK_THROWS_AS(++batch, Error);

    auto second = loader->begin();
    CHECK_THROWS_AS(++second, std::exception);  // takes the first batch before it moves on
    ++second;
    CHECK(values(second->target)[0] == 4);
  }
}

TEST_CASE("leaving a loop early is safe, and the next loop starts the next epoch") {
  Numbers numbers(200);
  numbers.delay_ms = 1;
  for (const size_t workers : {0, 2}) {
    auto loader = make_data_loader(numbers.map(transforms::Stack<>()),
                                   DataLoaderOptions(2).workers(workers).seed(1).max_jobs(30));
    std::vector<int64_t> first;
    for (auto& batch : *loader) {
      first = values(batch.target);
      break;
    }
    CHECK(loader->epoch() == 0);
    for (auto& batch : *loader) {
      CHECK(values(batch.target) != first);
      break;
    }
    CHECK(loader->epoch() == 1);
    CHECK(loader->position() == 1);
    loader->join();
  }
  CHECK(*numbers.gets < 400);
}

TEST_CASE("without workers, begin() ends an outer loop, which says so") {
  auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(6).map(transforms::Stack<>()), 2);
  auto outer = loader->begin();
  CHECK(outer->data.size(0) == 2);
  auto inner = loader->begin();
  CHECK(inner != outer);
  CHECK(values(inner->target) == std::vector<int64_t>{0, 1});
  CHECK(error_of([&] { ++outer; }).find("another begin() has ended the loop") != std::string::npos);
  for (int i = 0; i < 3; ++i) ++inner;
  CHECK(inner == loader->end());
  inner = loader->begin();
  ++inner;
  inner = loader->begin();  // begins again while the old iterator is there
  CHECK(values(inner->target) == std::vector<int64_t>{0, 1});
}

TEST_CASE("iterators of different loops are equal only at their ends") {
  auto loader = make_data_loader(Numbers(2), 2);
  auto first = loader->begin();
  ++first;
  auto second = loader->begin();
  CHECK(first != second);
  ++second;
  CHECK(first == second);
  CHECK(error_of([&] { *second; }) == "Attempted to dereference iterator that was past the end");
  CHECK(error_of([&] { ++second; }) == "Attempted to increment iterator past the end");
}

TEST_CASE("with workers, a nested loop over the same loader is refused before a batch is lost") {
  for (size_t workers : {1, 2}) {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers(6).map(transforms::Stack<>()),
                                                                DataLoaderOptions(2).workers(workers));
    int outer = 0;
    for (auto& batch : *loader) {
      CHECK(values(batch.target) == std::vector<int64_t>{2 * outer, 2 * outer + 1});
      CHECK(error_of([&] { run(*loader); }).find("begin() inside a loop over the same loader") != std::string::npos);
      ++outer;
    }
    CHECK(outer == 3);
    // A loop that was left, by break or by an exception, does not count.
    for (auto& batch : *loader)
      if (batch.data.size(0) == 2) break;
    CHECK_THROWS_AS(
        [&] {
          for (auto& batch : *loader) throw batch.data.size(0);
        }(),
        int64_t);
    CHECK(loader->begin()->data.size(0) == 2);
    CHECK(run(*loader).data.size() == 3);

    auto it = loader->begin(), copy = it;
    CHECK(error_of([&] { loader->begin(); }) != "");
    loader->join();
    CHECK(run(*loader).data.size() == 3);
    CHECK(error_of([&] { ++it; }).find("join() or another begin() has ended the loop") != std::string::npos);
    it = loader->begin();
    for (copy = it; it != loader->end();) ++it;
    CHECK(run(*loader).data.size() == 3);  // copy is inside a loop that has reached its end
    CHECK(error_of([&] { ++copy; }) != "");
  }
}

TEST_CASE("a loader resumes from another one's state, bitwise identically") {
  Numbers numbers(40);
  numbers.noisy = true;
  for (const size_t workers : {0, 2}) {
    const auto make = [&](uint64_t seed) {
      return make_data_loader(numbers.map(transforms::Stack<>()), DataLoaderOptions(8).workers(workers).seed(seed));
    };
    auto whole = make(3);
    run(*whole);
    const Epoch second = run(*whole), third = run(*whole);
    auto part = make(3);
    run(*part);
    LoaderState state;
    for ([[maybe_unused]] auto& batch : *part)
      if (part->position() == 2) {
        state = part->state();
        break;
      }
    CHECK((state.epoch == 1 && state.position == 2 && state.seed == 3));
    part.reset();  // its workers still make batches in advance, which count
    auto resumed = make(99);
    *numbers.gets = 0;
    resumed->load_state(state);
    CHECK(resumed->state().position == 2);
    const Epoch rest = run(*resumed);
    CHECK(*numbers.gets == 24);  // completed batches are not made again
    REQUIRE(rest.data.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(identical(rest.data[i], second.data[i + 2]));
    CHECK(run(*resumed) == third);
    resumed->set_epoch(1);
    CHECK(run(*resumed) == second);
    resumed->seek(1, 5);
    CHECK(run(*resumed).data.empty());
    CHECK(run(*resumed) == third);
  }
}

TEST_CASE("waiting for a slow worker fails after the timeout") {
  Numbers numbers(4);
  numbers.delay_ms = 300;
  auto loader = make_data_loader(numbers, DataLoaderOptions(1).workers(1).timeout(std::chrono::milliseconds(20)));
  CHECK(error_of([&] { *loader->begin(); }) ==
        "Timeout in DataLoader queue while waiting for next batch (timeout was 20 ms)");
  CHECK(loader->position() == 0);
}

TEST_CASE("without enforced ordering every batch still arrives once") {
  auto loader =
      make_data_loader(Numbers(60).map(transforms::Stack<>()), DataLoaderOptions(7).workers(3).enforce_ordering(false));
  std::multiset<int64_t> seen;
  for (auto& batch : *loader)
    for (const int64_t v : values(batch.target)) seen.insert(v);
  CHECK(seen.size() == 60);
  CHECK(std::set<int64_t>(seen.begin(), seen.end()).size() == 60);
}

TEST_CASE("stateful data sets define their own epochs") {
  for (const size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader(Ticks(5), DataLoaderOptions(2).workers(workers));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<int> seen;
      for (std::vector<int>& batch : *loader) seen.push_back(batch.at(1));
      CHECK(seen == std::vector<int>{0, 1, 2, 3, 4});
    }
    auto mapped = make_data_loader(
        Ticks(3).map(transforms::BatchLambda<std::vector<int>, int>([](std::vector<int> b) { return b[0] * 10; })),
        DataLoaderOptions(2).workers(workers));
    std::vector<int> seen;
    for (int batch : *mapped) seen.push_back(batch);
    CHECK(seen == std::vector<int>{0, 10, 20});
  }
}

TEST_CASE("stream data sets receive counts; shared data sets are not copied") {
  auto loader = make_data_loader(ByCount(), samplers::StreamSampler(10), DataLoaderOptions(4).workers(2));
  std::vector<size_t> counts;
  for (size_t count : *loader) counts.push_back(count);
  CHECK(counts == std::vector<size_t>{4, 4, 2});
  auto shared = datasets::make_shared_dataset<Numbers>(10);
  auto over = make_data_loader(shared, DataLoaderOptions(5).workers(3));
  for ([[maybe_unused]] auto& batch : *over) {
  }
  CHECK(*shared->gets == 10);
}

TEST_CASE("distributed loaders obey set_epoch") {
  const auto labels = [](size_t rank, int64_t epoch) {
    auto loader = make_data_loader(Numbers(10).map(transforms::Stack<>()),
                                   samplers::DistributedRandomSampler(10, 2, rank), DataLoaderOptions(5));
    loader->set_epoch(epoch);
    return values(loader->begin()->target);
  };
  CHECK(labels(0, 1) == labels(0, 1));
  CHECK(labels(0, 1) != labels(0, 2));
  auto all = labels(0, 7);
  for (const int64_t v : labels(1, 7)) all.push_back(v);
  CHECK(std::set<int64_t>(all.begin(), all.end()).size() == 10);
}

TEST_CASE("DataLoader with PyTorch's interface") {
  manual_seed(0);
  DataLoader tour(datasets::RandomDataset(5, 100), {.batch_size = 30, .shuffle = true});
  std::vector<int64_t> sizes;
  for (Tensor& batch : tour) sizes.push_back(batch.size(0));
  CHECK(sizes == std::vector<int64_t>{30, 30, 30, 10});
  CHECK(tour.size() == 4);
  DataLoader collated(Numbers(10), {.batch_size = 4, .num_workers = 2, .drop_last = true},
                      [](std::vector<Example<>> examples) { return examples.size(); });
  std::vector<size_t> counts;
  for (size_t count : collated) counts.push_back(count);
  CHECK(counts == std::vector<size_t>{4, 4});
  CHECK(collated.size() == 2);
}

TEST_CASE("LibTorch's idioms compile and run") {
  auto dataset = Numbers(12)
                     .map(transforms::Lambda<Example<>>([](Example<> e) { return e; }))
                     .map(transforms::TensorLambda<>([](Tensor t) { return t; }))
                     .map(transforms::Stack<>());
  const size_t size = dataset.size().value();
  auto loader = make_data_loader<samplers::SequentialSampler>(
      std::move(dataset), DataLoaderOptions().batch_size(5).workers(2).enforce_ordering(true));
  size_t seen = 0, index = 0;
  for (const auto& batch : *loader) {
    seen += static_cast<size_t>(batch.data.size(0));
    ++index;
  }
  CHECK((seen == size && index == 3));
  Example<Tensor, Tensor> batch = *loader->begin();
  CHECK(batch.target.size(0) == 5);
  int64_t total = 0;
  for (auto it = loader->begin(); it != loader->end(); ++it) total += it->data.size(0);
  CHECK(total == 12);
  CHECK(loader->options().workers == 2);
}

namespace {
// Batch i is {i}. All workers must have a batch before the first is finished; they finish it in an order given by the
// number that each worker's data set got when it was copied.
struct Ordered : datasets::BatchDataset<Ordered, std::vector<size_t>> {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<size_t> turns{2, 0, 3, 1};
    size_t copies = 0, begun = 0, finished = 0;
  };
  Ordered() = default;
  Ordered(const Ordered& other) : shared(other.shared), number(shared->copies++) {}
  Ordered(Ordered&&) = default;
  std::vector<size_t> get_batch(ArrayRef<size_t> indices) override {
    std::unique_lock lock(shared->mutex);
    ++shared->begun;
    shared->changed.notify_all();
    const auto my_turn = [&] {
      return shared->begun == shared->turns.size() && shared->turns[shared->finished] == number;
    };
    if (!shared->changed.wait_for(lock, std::chrono::seconds(60), my_turn))
      throw std::runtime_error("no turn for worker " + std::to_string(number));
    ++shared->finished;
    shared->changed.notify_all();
    return {indices.front()};
  }
  optional<size_t> size() const override { return shared->turns.size(); }

  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  size_t number = 0;
};
}  // namespace

TEST_CASE("each worker has its own copy of the data set, and all work at once; batches arrive in order") {
  auto loader = make_data_loader(Ordered(), samplers::SequentialSampler(4),
                                 DataLoaderOptions().batch_size(1).workers(4).enforce_ordering(true));
  std::vector<size_t> seen;
  for (const auto& batch : *loader) seen.push_back(batch.front());
  CHECK(seen == std::vector<size_t>{0, 1, 2, 3});
}

TEST_CASE("invalid options are refused") {
  CHECK(error_of([] { make_data_loader(Numbers(3), 0); }) == "data loader: batch_size must be at least 1, got 0");
  CHECK(error_of([] { make_data_loader(Numbers(3), DataLoaderOptions(1).workers(5000)); }) ==
        "data loader: workers = 5000, expected 0 to 1024");
  auto loader = make_data_loader(Numbers(3), 1);
  CHECK(error_of([&] { loader->seek(-1, 0); }) == "data loader: epoch -1, position 0: neither may be negative");
  CHECK(error_of([&] { ++loader->end(); }) == "Incrementing the DataLoader's past-the-end iterator is not allowed");
  CHECK(error_of([&] { *loader->end(); }) == "Dereferencing the DataLoader's past-the-end iterator is not allowed");
}

TEST_CASE("threads that share a data loader get batches or a clear error") {
  for (const size_t workers : {size_t{0}, size_t{2}}) {
    DataLoader loader(Numbers(40), {.batch_size = 3, .shuffle = true, .num_workers = workers});
    std::atomic<int> other{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) try {
            for (auto& batch : loader)
              if (batch.data.size(1) != 2 || batch.data.size(0) != batch.target.size(0)) ++other;
          } catch (const Error& error) {
            const std::string text = error.what();  // another thread is inside now, or between two batches
            if (text.find("one thread at a time") == std::string::npos &&
                text.find("begin() inside a loop") == std::string::npos &&
                text.find("begin() has ended the loop") == std::string::npos)
              ++other;
          }
      });
    for (auto& thread : threads) thread.join();
    CHECK(other == 0);
    int64_t sum = 0;
    for (auto& batch : loader) sum += batch.target.sum().item<int64_t>();
    CHECK(sum == 40 * 39 / 2);
  }
}
