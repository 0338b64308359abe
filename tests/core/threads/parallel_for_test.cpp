// The thread pool: the split depends only on the shape, exceptions propagate, nested calls run.
#include "tandem/core/threads/parallel_for.h"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/tests/few_threads.h"

using namespace tandem;

TEST_CASE("parallel_for cuts by grain, whatever the number of threads") {
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::set<std::pair<int64_t, int64_t>> seen;
    std::mutex mutex;
    parallel_for(10, 4, [&](int64_t begin, int64_t end) {
      std::lock_guard lock(mutex);
      seen.insert({begin, end});
    });
    CHECK(seen == std::set<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}});
  }
}

TEST_CASE("parallel_for rethrows and stays usable") {
  set_num_threads(4);
  for (int round = 0; round < 50; ++round) {
    CHECK_THROWS_AS(parallel_for(100, 1,
                                 [](int64_t begin, int64_t) {
                                   if (begin == 37) throw std::runtime_error("x");
                                 }),
                    std::runtime_error);
    std::atomic<int64_t> sum{0};
    parallel_for(1000, 7, [&](int64_t begin, int64_t end) {
      parallel_for(end - begin, 2, [&](int64_t b, int64_t e) { sum += e - b; });
    });
    CHECK(sum == 1000);
  }
}

TEST_CASE("threads that cannot be started: the error gives the number") {
  {
    const test::FewThreads few;
    if (!few.works()) {
      MESSAGE("skipped: cannot make thread stacks huge here");
      return;
    }
    set_num_threads(64);
    CHECK_THROWS_WITH_AS(parallel_for(100, 1, [](int64_t, int64_t) {}),
                         doctest::Contains(" of 63 worker threads could be started"), Error);
  }
  std::atomic<int64_t> sum{0};
  parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  CHECK(sum == 100);
  set_num_threads(2);
}

TEST_CASE("a body may replace the pool it runs on") {
  const int before = get_num_threads();
  for (int round = 0; round < 20; ++round) {
    set_num_threads(2);
    std::atomic<int64_t> sum{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      if (begin % 10 == 5) set_num_threads(3);
      sum += end - begin;
    });
    CHECK(sum == 100);
  }
  set_num_threads(before);
}
