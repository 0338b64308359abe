// Runs process groups and what uses them over a simulated network, once per seed.
//
//   simulation ENGINES [--seed N] [--count N] [--trace] [--verbose]
//
// ENGINES is the folder of the simulated engine. A seed draws what the processes do, the order in which threads run,
// how long messages take, and what fails. The same seed gives the same run. Seeds run in child processes, so that a
// crash and an endless loop cost one seed.
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "tandem/core/error.h"
#include "tandem/tests/sanitized.h"
#include "tandem/tests/simulation/job.h"

namespace tandem::simulation {

namespace {

constexpr double kSecondsPerSeed = 60;
constexpr uint64_t kRepeatEvery = 50;  // so many seeds run again, which must give the same run
constexpr uint64_t kDefaultCount = test::kSanitized ? 300 : 10'000;

struct Arguments {
  std::string engines;
  uint64_t seed = 0;
  uint64_t count = kDefaultCount;
  bool trace = false, verbose = false;
};

// What a child tells its parent.
struct Progress {
  std::atomic<uint64_t> next{0};  // the seed that runs, or will
  std::atomic<uint64_t> passed{0}, failed{0}, attempts{0};
};

void report(const Arguments& arguments, uint64_t seed, const std::string& failure, const std::string& plan) {
  std::printf("seed %llu: %s\n  %s\n  simulation %s --seed %llu --trace repeats it\n",
              static_cast<unsigned long long>(seed), failure.c_str(), plan.c_str(), arguments.engines.c_str(),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
}

// One thread runs at a time, and handing over is faster within a core.
void stay_on_one_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  int core = sched_getcpu();
  if (core < 0 || !CPU_ISSET(core, &set)) return;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

[[noreturn]] void run_seeds(const Arguments& arguments, Progress& progress, uint64_t end) {
  stay_on_one_core();
  warm_up();
  for (; progress.next < end; ++progress.next) {
    const uint64_t seed = progress.next;
    SeedResult result = run_seed(seed, {.trace = arguments.trace});
    if (seed % kRepeatEvery == 0 && result.failure.empty() && run_seed(seed).hash != result.hash)
      result.failure = "the seed does not give the same run again";
    if (arguments.verbose)
      std::printf("seed %llu: hash %016llx, %d attempts; %s\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(result.hash), result.attempts, result.plan.c_str());
    if (!result.failure.empty()) report(arguments, seed, result.failure, result.plan);
    progress.attempts += static_cast<uint64_t>(result.attempts);
    ++(result.failure.empty() ? progress.passed : progress.failed);
  }
  std::fflush(stdout);
  std::_Exit(0);
}

// Waits for the child; kills it if a seed takes too long. Returns how it ended.
std::string await(pid_t child, const Progress& progress) {
  uint64_t seed = progress.next;
  auto began = std::chrono::steady_clock::now();
  for (int status = 0;; usleep(1000)) {
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) return std::string("the process ended with ") + strsignal(WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? "" : "the process ended with status " + std::to_string(WEXITSTATUS(status));
    }
    const auto now = std::chrono::steady_clock::now();
    if (progress.next != seed) seed = progress.next, began = now;
    if (std::chrono::duration<double>(now - began).count() < kSecondsPerSeed) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return "takes more than " + std::to_string(static_cast<int>(kSecondsPerSeed)) + " s";
  }
}

int run_all(const Arguments& arguments) {
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  Progress& progress = *new (shared) Progress;
  progress.next = arguments.seed;
  const uint64_t end = arguments.seed + arguments.count;
  while (progress.next < end) {
    const pid_t child = fork();
    if (child == 0) run_seeds(arguments, progress, end);
    const std::string problem = await(child, progress);
    if (problem.empty()) continue;
    report(arguments, progress.next, problem, "--trace shows what happens");
    ++progress.failed;
    ++progress.next;
  }
  std::printf("%llu attempts\n%llu passed, %llu failed\n", static_cast<unsigned long long>(progress.attempts.load()),
              static_cast<unsigned long long>(progress.passed.load()),
              static_cast<unsigned long long>(progress.failed.load()));
  return progress.failed == 0 ? 0 : 1;
}

Arguments parse(int argc, char** argv) {
  Arguments out;
  if (argc < 2) fail("usage: simulation ENGINES [--seed N] [--count N] [--trace] [--verbose]");
  out.engines = argv[1];
  bool counted = false;
  for (int k = 2; k < argc; ++k) {
    const std::string word = argv[k];
    const auto number = [&] {
      if (++k == argc) fail(word, ": a number is missing");
      return std::stoull(argv[k]);
    };
    if (word == "--seed")
      out.seed = number(), out.count = counted ? out.count : 1;
    else if (word == "--count")
      out.count = number(), counted = true;
    else if (word == "--trace")
      out.trace = true;
    else if (word == "--verbose")
      out.verbose = true;
    else
      fail("unknown argument ", word);
  }
  return out;
}

}  // namespace

}  // namespace tandem::simulation

int main(int argc, char** argv) {
  using namespace tandem::simulation;
  try {
    const Arguments arguments = parse(argc, argv);
    setenv("TANDEM_ENGINES", arguments.engines.c_str(), 1);
    setenv("TANDEM_NUM_THREADS", "1", 1);
    return run_all(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
