// BatchLoader: the examples of a batch with any number of workers, resumption, early destruction, failing
// transforms.
#include "tandem/datasets/loader.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <latch>
#include <set>
#include <thread>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/datasets/job_queue.h"
#include "tandem/datasets/order.h"
#include "tandem/testing.h"
#include "tandem/tests/few_threads.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using test::error_of;

namespace {

constexpr int64_t kExamples = 103;

// Row i of both identifies i: {10 i, 10 i + 1, 10 i + 2} and i.
std::vector<Tensor> example_tensors() {
  Tensor x = empty_raw({kExamples, 3}, kFloat, Device(kCPU, 0)), y = empty_raw({kExamples}, kLong, x.device());
  for (int64_t i = 0; i < kExamples; ++i) {
    for (int64_t k = 0; k < 3; ++k) x.data_ptr<float>()[3 * i + k] = static_cast<float>(10 * i + k);
    y.data_ptr<int64_t>()[i] = i;
  }
  return {x, y};
}

std::vector<int64_t> values(const Tensor& t) { return {t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel()}; }

// The labels of all batches in order; checks that the images match them.
std::vector<std::vector<int64_t>> labels_of(BatchLoader& loader) {
  std::vector<std::vector<int64_t>> out;
  while (auto batch = loader.next()) {
    REQUIRE(batch->size() == 2);
    const Tensor &x = (*batch)[0], &y = (*batch)[1];
    REQUIRE(x.size(0) == y.size(0));
    for (int64_t i = 0; i < y.numel(); ++i)
      CHECK(x.data_ptr<float>()[3 * i + 1] == static_cast<float>(10 * y.data_ptr<int64_t>()[i] + 1));
    out.push_back(values(y));
  }
  return out;
}

std::vector<std::vector<int64_t>> epoch(BatchLoaderOptions options) {
  BatchLoader loader(example_tensors(), options);
  return labels_of(loader);
}

// Replaces the first label with a random number from the default generator.
void add_random(std::vector<Tensor>& batch) {
  const Generator::Draw draw = default_generator().next();
  batch[1].data_ptr<int64_t>()[0] = static_cast<int64_t>((draw.seed ^ draw.offset) >> 1);
}

}  // namespace

TEST_CASE("without shuffling batches contain the rows in order") {
  const auto batches = epoch({.batch_size = 25});
  REQUIRE(batches.size() == 5);
  CHECK(batches[4] == std::vector<int64_t>{100, 101, 102});
  CHECK(batches[1][0] == 25);
  CHECK(epoch({.batch_size = 25, .drop_last = true}).size() == 4);
  CHECK(epoch({.batch_size = 200, .drop_last = true}).empty());
  CHECK(epoch({.batch_size = 200}).size() == 1);
}

TEST_CASE("shuffling visits every row once, in an order that depends on (seed, epoch)") {
  const BatchLoaderOptions options{.batch_size = 10, .shuffle = true, .seed = 3, .epoch = 1};
  const auto batches = epoch(options);
  std::multiset<int64_t> seen;
  for (const auto& batch : batches) seen.insert(batch.begin(), batch.end());
  CHECK(seen.size() == kExamples);
  CHECK(std::set<int64_t>(seen.begin(), seen.end()).size() == kExamples);
  CHECK(epoch(options) == batches);
  BatchLoaderOptions other = options;
  other.epoch = 2;
  CHECK(epoch(other) != batches);
  other = options;
  other.seed = 4;
  CHECK(epoch(other) != batches);
  CHECK(batches[0] != std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("the order is uniform and does not change between versions") {
  CHECK(shuffled_order(0, 1, 1).empty());
  CHECK(shuffled_order(1, 1, 1) == std::vector<int64_t>{0});
  // How often each of 4 indices is at each of 4 positions in 4,000 epochs: 1,000 expected, standard
  // deviation 27.
  int counts[4][4] = {};
  for (int64_t e = 0; e < 4000; ++e) {
    const auto order = shuffled_order(4, 0, e);
    for (std::size_t k = 0; k < 4; ++k) ++counts[k][order[k]];
  }
  for (auto& row : counts)
    for (int count : row) CHECK(std::abs(count - 1000) < 150);
  CHECK(shuffled_order(8, 0, 0) == std::vector<int64_t>{6, 4, 3, 2, 5, 0, 7, 1});
  // All 64 random bits of each step count.
  uint64_t sum = 0;
  for (const int64_t i : shuffled_order(400000, 3, 2)) sum = sum * 0x100000001b3u + static_cast<uint64_t>(i);
  CHECK(sum == 1743095295575537852u);
}

TEST_CASE("batches do not depend on the number of workers") {
  for (const bool shuffle : {false, true})
    for (const bool drop_last : {false, true}) {
      BatchLoaderOptions options{.batch_size = 7, .shuffle = shuffle, .drop_last = drop_last, .seed = 5};
      const auto expected = epoch(options);
      for (const int workers : {1, 2, 5})
        for (const int64_t prefetch : {1, 3}) {
          options.workers = workers;
          options.prefetch = prefetch;
          CHECK(epoch(options) == expected);
        }
    }
}

TEST_CASE("random transforms do not depend on the workers or on where an epoch is resumed") {
  std::vector<std::vector<int64_t>> expected;
  for (const int workers : {0, 1, 2, 5}) {
    std::vector<std::vector<int64_t>> got;
    BatchLoader loader(example_tensors(), {.batch_size = 10, .shuffle = true, .workers = workers}, add_random);
    while (auto batch = loader.next()) got.push_back(values((*batch)[1]));
    if (workers == 0) expected = got;
    CHECK(got == expected);
  }
  CHECK(expected[0][0] != expected[1][0]);
  BatchLoader rest(example_tensors(), {.batch_size = 10, .shuffle = true, .workers = 2, .first_batch = 4}, add_random);
  CHECK(values((*rest.next())[1]) == expected[4]);
}

TEST_CASE("an epoch can be resumed in the middle") {
  BatchLoaderOptions options{.batch_size = 10, .shuffle = true, .workers = 2, .seed = 9, .epoch = 4};
  const auto whole = epoch(options);
  BatchLoader loader(example_tensors(), options);
  CHECK(loader.batches() == 11);
  CHECK(loader.examples() == kExamples);
  for (int i = 0; i < 4; ++i) loader.next();
  CHECK(loader.position() == 4);
  options.first_batch = loader.position();
  const auto rest = epoch(options);
  CHECK(rest == std::vector<std::vector<int64_t>>(whole.begin() + 4, whole.end()));
  options.first_batch = 11;
  CHECK(epoch(options).empty());
  options.first_batch = 12;
  CHECK(error_of([&] { epoch(options); }) == "BatchLoader: first_batch = 12, but the epoch has 11 batches");
}

TEST_CASE("an in-place transform does not modify the data set") {
  const auto tensors = example_tensors();
  for (const int workers : {0, 2}) {
    BatchLoader loader(tensors, {.batch_size = 50, .workers = workers}, [](std::vector<Tensor>& batch) {
      std::memset(batch[0].data_ptr(), 0, batch[0].nbytes());
      batch.pop_back();
    });
    const auto batch = loader.next();
    CHECK(batch->size() == 1);
    CHECK((*batch)[0].data_ptr<float>()[5] == 0);
  }
  CHECK(tensors[0].data_ptr<float>()[3] == 10);
}

TEST_CASE("a transform's exception is rethrown with its worker and batch, and the loader continues after it") {
  for (const int workers : {0, 1, 3}) {
    BatchLoader loader(example_tensors(), {.batch_size = 20, .workers = workers}, [](std::vector<Tensor>& batch) {
      if (batch[1].data_ptr<int64_t>()[0] == 40) fail("bad image");
    });
    CHECK(values((*loader.next())[1])[0] == 0);
    CHECK(values((*loader.next())[1])[0] == 20);
    bool thrown = false;
    try {
      loader.next();
    } catch (const WorkerException& error) {
      thrown = true;
      CHECK(error.batch == 2);
      CHECK((workers == 0 ? error.worker == -1 : error.worker >= 0 && error.worker < workers));
      const std::string where = workers == 0 ? "in the calling thread" : "in worker " + std::to_string(error.worker);
      CHECK(error.message == "data loader: batch 2 failed " + where + ". Original message: bad image");
      CHECK_THROWS_AS(std::rethrow_exception(error.original_exception), Error);
    }
    CHECK(thrown);
    CHECK(loader.position() == 3);
    CHECK(values((*loader.next())[1])[0] == 60);
    CHECK(loader.next().has_value());
    CHECK(loader.next().has_value());
    CHECK_FALSE(loader.next().has_value());
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("a loader can be destroyed at any time without finishing queued batches") {
  std::atomic<int> made = 0;
  const auto start = std::chrono::steady_clock::now();
  {
    BatchLoader loader(example_tensors(), {.batch_size = 1, .workers = 2, .prefetch = 50}, [&](std::vector<Tensor>&) {
      ++made;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    loader.next();
  }
  CHECK(made < 20);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  for (int i = 0; i < 20; ++i) BatchLoader(example_tensors(), {.batch_size = 3, .workers = 3});
}

TEST_CASE("a transform runs in the consumer's modes, and single-threaded in each worker") {
  for (const int workers : {0, 2}) {
    const NoGradGuard no_grad;
    BatchLoader loader(example_tensors(), {.batch_size = 60, .workers = workers}, [&](std::vector<Tensor>&) {
      check(!GradMode::is_enabled(), "grad mode is on");
      if (workers == 0) return;
      const auto self = std::this_thread::get_id();
      parallel_for(64, 1, [&](int64_t, int64_t) { check(std::this_thread::get_id() == self, "the pool was used"); });
    });
    CHECK(error_of([&] {
            while (loader.next()) {
            }
          }) == "");
  }
}

TEST_CASE("invalid options are refused") {
  const auto refusal = [](BatchLoaderOptions options) { return error_of([&] { epoch(options); }); };
  CHECK(refusal({.batch_size = 0}) == "BatchLoader: batch_size = 0, expected at least 1");
  CHECK(refusal({.workers = -1}) == "data loader: workers = -1, expected 0 to 1024");
  CHECK(refusal({.prefetch = 0}) == "BatchLoader: prefetch = 0, expected at least 1");
  CHECK(error_of([] { BatchLoader({}, {}); }) == "BatchLoader: no tensors");
  auto tensors = example_tensors();
  tensors[1] = alias(tensors[1], {kExamples - 1}, {1}, 0);
  CHECK(error_of([&] { BatchLoader(tensors, {}); }) ==
        "BatchLoader: tensors have different lengths: [103, 3] float32 cpu and [102] int64 cpu");
}

TEST_CASE("pixels: images are gathered, converted and scaled, on workers and for a transform") {
  const Tensor images = arange(2 * 3 * 10).view({10, 2, 3}).to(kByte), labels = arange(10);
  const auto scaled = [&](const Tensor& rows) {
    return (images.index_select(0, rows).to(kFloat) - 10).div(4).unsqueeze(1);
  };
  for (const int workers : {0, 2}) {
    const BatchLoaderOptions options{
        .batch_size = 4, .shuffle = true, .workers = workers, .pixels = PixelScale{.scale = 4, .shift = 10}};
    BatchLoader plain({images, labels}, options);
    BatchLoader doubled({images, labels}, options, [](std::vector<Tensor>& batch) { batch[0] *= 2; });
    for (int64_t k = 0; k < 3; ++k) {
      const std::vector<Tensor> batch = *plain.next();
      CHECK(testing::identical(batch[0], scaled(batch[1])));
      CHECK(testing::identical(doubled.next()->at(0), scaled(batch[1]) * 2));
    }
    CHECK_FALSE(plain.next().has_value());
    CHECK_FALSE(plain.next().has_value());
  }
  const auto refusal = [](std::vector<Tensor> tensors) {
    return error_of([&] { BatchLoader(std::move(tensors), {.pixels = PixelScale()}); });
  };
  CHECK(refusal({images}) == "BatchLoader: with pixels, expected images and labels, got 1 tensors");
  CHECK(refusal({images.to(kFloat), labels}).starts_with("BatchLoader: images must be uint8"));
  CHECK(refusal({images, labels.to(kInt)}).starts_with("BatchLoader: labels must be int64 [10]"));
  CHECK(refusal({images, labels.slice(0, 1)}).starts_with("BatchLoader: tensors have different lengths"));
}

TEST_CASE("pin_memory is ignored without a GPU; rows may be strided") {
  if (device_count(kCUDA) == 0) CHECK(epoch({.batch_size = 50, .pin_memory = true}).size() == 3);
  const auto tensors = example_tensors();
  BatchLoader loader({alias(tensors[0], {kExamples, 2}, {3, 1}, 1)}, {.batch_size = 10, .workers = 1});
  const auto batch = loader.next();
  CHECK((*batch)[0].is_contiguous());
  CHECK((*batch)[0].data_ptr<float>()[2] == 11);
}

TEST_CASE("an empty data set has no batches") {
  const Tensor none = empty_raw({0, 3}, kFloat, Device(kCPU, 0));
  BatchLoader loader({none}, {.batch_size = 4, .shuffle = true, .workers = 1});
  CHECK(loader.batches() == 0);
  CHECK_FALSE(loader.next().has_value());
}

TEST_CASE("a job fails if its device no longer exists when it runs") {
  const int before = cpu::device_count();
  cpu::set_device_count(2);
  std::atomic<bool> go{false};
  data::detail::JobQueue queue(1);
  queue.push(0, [&](int) {
    while (!go) std::this_thread::yield();
    return data::detail::JobQueue::Result();
  });
  cpu::set_current_device(1);
  queue.push(1, [](int) { return data::detail::JobQueue::Result(); });
  cpu::set_current_device(0);
  cpu::set_device_count(1);
  go = true;
  CHECK(queue.pop() == nullptr);
  CHECK_THROWS_WITH_AS(queue.pop(), doctest::Contains("cpu:1"), data::WorkerException);
  cpu::set_device_count(before);
}

TEST_CASE("a second thread in a loader is refused, and the first continues") {
  std::latch inside(2), done(1);
  BatchLoader loader(example_tensors(), {.batch_size = 50}, [&](std::vector<Tensor>& batch) {
    if (batch[1].data_ptr<int64_t>()[0] != 0) return;
    inside.arrive_and_wait();
    done.wait();
  });
  std::thread first([&] { CHECK(loader.next()->at(1).size(0) == 50); });
  inside.arrive_and_wait();
  CHECK(error_of([&] { loader.next(); }).find("one thread at a time") != std::string::npos);
  done.count_down();
  first.join();
  CHECK(loader.next()->at(1).size(0) == 50);  // another thread, but after the first
  CHECK(loader.position() == 2);
}

TEST_CASE("threads that share a loader get each batch once, or an error") {
  for (const int workers : {0, 2}) {
    BatchLoader loader(example_tensors(), {.batch_size = 1, .shuffle = true, .workers = workers});
    std::atomic<int64_t> batches{0}, sum{0}, other{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (bool more = true; more;) try {
            const auto batch = loader.next();
            more = batch.has_value();
            if (more) ++batches, sum += (*batch)[1].data_ptr<int64_t>()[0];
          } catch (const Error& error) {
            if (std::string(error.what()).find("one thread at a time") == std::string::npos) ++other;
          }
      });
    for (auto& thread : threads) thread.join();
    CHECK(batches == kExamples);
    CHECK(sum == kExamples * (kExamples - 1) / 2);
    CHECK(other == 0);
  }
}

TEST_CASE("if workers cannot be started, the error says how many there are") {
  const test::FewThreads few;
  if (!few.works()) {
    MESSAGE("skipped: cannot set a huge thread stack size here");
    return;
  }
  CHECK_THROWS_WITH_AS(BatchLoader(example_tensors(), {.batch_size = 10, .workers = 50}),
                       doctest::Contains(" of 50 worker threads could be started"), Error);
}
