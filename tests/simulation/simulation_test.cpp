// That the simulation finds what it is there to find: an engine that breaks its contract without a word.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tandem/tests/simulation/job.h"
#include "tandem/tests/simulation/judge.h"

namespace tandem::simulation {
namespace {

constexpr int kFound = 1, kDeadlock = 3;

// How a child ends that runs so many seeds, or up to the first that fails.
int status_of(Bug bug, uint64_t seeds) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(99);
    warm_up();
    for (uint64_t seed = 0; seed < seeds; ++seed)
      if (!run_seed(seed, {.bug = bug}).failure.empty()) std::_Exit(kFound);
    std::_Exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("what a network does wrong without a word is found") {
  CHECK(status_of(Bug::kNone, 300) == 0);
  CHECK(status_of(Bug::kArrivalOrder, 300) == kFound);
  CHECK(status_of(Bug::kLostData, 300) == kFound);
  CHECK(status_of(Bug::kLostMessage, 300) == kFound);
  CHECK(status_of(Bug::kEarlyEnd, 300) == kFound);
  const int endless = status_of(Bug::kNoTimeout, 300);
  CHECK((endless == kFound || endless == kDeadlock));
}

TEST_CASE("a seed gives the same run, whatever ran before") {
  warm_up();
  for (const uint64_t seed : {3, 70, 700}) {
    const uint64_t hash = run_seed(seed).hash;
    run_seed(seed + 1000);
    CHECK(run_seed(seed).hash == hash);
    CHECK(run_seed(seed + 1).hash != hash);
  }
}

TEST_CASE("the ranks that a message names") {
  const std::vector<int> everyone{0, 1, 2, 3, 4, 5}, some{4, 0, 2};
  CHECK(named_ranks("rank 3 left the group; ranks 0-1 wait since 1.0 s", everyone) == std::set<int>{3});
  CHECK(named_ranks("ranks 0-2, 5: barrier", everyone) == std::set<int>{0, 1, 2, 5});
  CHECK(named_ranks("closed by peer 1; the key 'group1/engine/2'", some) == std::set<int>{0, 2});
  CHECK(named_ranks("ranks wait in different calls\n  rank 0: barrier 3", some) == std::set<int>{4});
  CHECK(named_ranks("3 ranks are too slow", everyone).empty());
}

}  // namespace tandem::simulation

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setenv("TANDEM_ENGINES", argv[1], 1);
  setenv("TANDEM_NUM_THREADS", "1", 1);
  return doctest::Context(argc - 1, argv + 1).run();
}
