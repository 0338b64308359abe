// The scheduler and its clock, with the standard library's ways to wait.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "tandem/tests/simulation/scheduler.h"

namespace tandem::simulation {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <class Body>
uint64_t simulate(const Body& body, uint64_t seed = 1, uint32_t preempt_every = 3) {
  Scheduler scheduler({.seed = seed, .preempt_every = preempt_every});
  scheduler.run(body);
  return scheduler.hash();
}

double seconds_of(const std::function<void()>& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The status of a child in which the simulation runs.
int status_of(const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(99);
    simulate(body);
    std::_Exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Threads add to a number without an atomic operation; `mutex` may be null.
int count_unguarded(std::mutex* mutex) {
  int sum = 0;
  std::mutex other;
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        std::unique_lock<std::mutex> lock = mutex ? std::unique_lock(*mutex) : std::unique_lock<std::mutex>();
        const int before = sum;
        { const std::lock_guard step(other); }
        sum = before + 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return sum;
}

}  // namespace

TEST_CASE("sleeping takes no time, and threads wake in the order of their deadlines") {
  const double real = seconds_of([] {
    simulate([] {
      std::vector<int> order;
      const double seconds = seconds_of([&] {
        std::vector<std::thread> threads;
        for (const int hours : {3, 1, 2})
          threads.emplace_back([&order, hours] {
            std::this_thread::sleep_for(std::chrono::hours(hours));
            order.push_back(hours);
          });
        for (std::thread& thread : threads) thread.join();
      });
      CHECK(order == std::vector<int>{1, 2, 3});
      CHECK(seconds >= 3 * 3600);
      CHECK(seconds < 3 * 3600 + 1);
    });
  });
  CHECK(real < 30);
}

TEST_CASE("waits of every kind end, and those with a limit end in time") {
  for (uint64_t seed = 0; seed < 50; ++seed)
    simulate(
        [] {
          std::mutex mutex;
          std::condition_variable changed;
          std::atomic<bool> flag{false};
          bool ready = false;
          std::promise<int> promise;
          std::thread other([&] {
            std::this_thread::sleep_for(10ms);
            {
              const std::lock_guard lock(mutex);
              ready = true;
            }
            changed.notify_one();
            std::this_thread::sleep_for(10ms);
            flag.store(true);
            flag.notify_all();
            std::this_thread::sleep_for(10ms);
            promise.set_value(7);
          });
          {
            std::unique_lock lock(mutex);
            CHECK_FALSE(changed.wait_for(lock, 5ms, [&] { return ready; }));
            CHECK_FALSE(changed.wait_until(lock, std::chrono::system_clock::now() + 1ms, [&] { return ready; }));
            CHECK(changed.wait_for(lock, 1h, [&] { return ready; }));
          }
          flag.wait(false);
          std::future<int> number = promise.get_future();
          CHECK(number.wait_for(5ms) == std::future_status::timeout);
          CHECK(number.get() == 7);
          other.join();
        },
        seed);
}

TEST_CASE("threads that are not joined end before the simulation does") {
  std::atomic<bool> ended{false};
  simulate([&] {
    std::thread([&] {
      std::this_thread::sleep_for(1h);
      ended = true;
    }).detach();
  });
  CHECK(ended);
}

TEST_CASE("a deadlock ends the process, whatever the threads wait for") {
  CHECK(status_of([] {}) == 0);
  CHECK(status_of([] {
          std::atomic<int> flag{0};
          flag.wait(0);
        }) == 3);
  CHECK(status_of([] {
          std::mutex a, b;
          std::condition_variable turn;
          const auto lock_both = [](std::mutex& first, std::mutex& second) {
            const std::lock_guard one(first);
            std::this_thread::sleep_for(1ms);
            const std::lock_guard two(second);
          };
          std::thread other([&] { lock_both(b, a); });
          lock_both(a, b);
          other.join();
        }) == 3);
  CHECK(status_of([] {
          for (;;) std::this_thread::sleep_for(1h);
        }) == 3);
}

TEST_CASE("a seed gives one order, and different seeds find what a lock prevents") {
  std::mutex mutex;
  std::set<int> sums;
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    int sum = 0, again = 0;
    const uint64_t hash = simulate([&] { sum = count_unguarded(nullptr); }, seed);
    CHECK(simulate([&] { again = count_unguarded(nullptr); }, seed) == hash);
    CHECK(again == sum);
    sums.insert(sum);
    hashes.insert(hash);
    simulate([&] { CHECK(count_unguarded(&mutex) == 30); }, seed);
  }
  CHECK(sums.size() > 3);
  CHECK(*sums.begin() < 30);
  CHECK(hashes.size() == 20);
}

TEST_CASE("a process whose clock jumps, and one that stalls") {
  simulate(
      [] {
        Scheduler& scheduler = Scheduler::instance();
        Process fast{"fast"}, slow{"slow"};
        const auto begin = std::chrono::system_clock::now();
        const auto steady = Clock::now();
        scheduler.enter(&fast);
        std::thread jumped([&] {
          scheduler.stall(slow, scheduler.now() + 5 * kSecond);
          fast.clock_offset = -3600 * kSecond;
          CHECK(std::chrono::system_clock::now() < begin - 50min);
          CHECK(Clock::now() >= steady);
        });
        scheduler.enter(&slow);
        std::thread stalled([&] {
          std::this_thread::sleep_for(1s);
          CHECK(Clock::now() - steady >= 5s);
        });
        scheduler.enter(nullptr);
        std::this_thread::sleep_for(2s);
        CHECK(Clock::now() - steady < 3s);
        jumped.join();
        stalled.join();
      },
      1, 0);
}

}  // namespace tandem::simulation
