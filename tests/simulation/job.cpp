#include "tandem/tests/simulation/job.h"

#include <algorithm>
#include <set>
#include <thread>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/parallel/distributed/store.h"
#include "tandem/tests/simulation/interpose.h"
#include "tandem/tests/simulation/judge.h"
#include "tandem/tests/simulation/plan.h"
#include "tandem/tests/simulation/scenario.h"
#include "tandem/tests/simulation/store.h"

namespace tandem::simulation {

namespace {

constexpr int kMaxAttempts = 4;
constexpr Time kLimit = 2 * 3600 * kSecond;

void run_rank(const Scenario& scenario, const Rank& rank) {
  Outcome& out = rank.outcome;
  const auto failed = [&](Outcome::End end, const char* what) {
    out.end = rank.world.machine().dead ? Outcome::kDied : end;
    out.error = what;
  };
  try {
    scenario.run(rank);
    out.end = rank.world.machine().dead ? Outcome::kDied : Outcome::kDone;
  } catch (const Left&) {
    out.end = Outcome::kLeft;
  } catch (const distributed::DistributedError& error) {
    failed(Outcome::kFailed, error.what());
  } catch (const std::exception& error) {
    failed(Outcome::kWrong, error.what());
  }
  out.ended = rank.world.scheduler.now();
  rank.world.scheduler.trace([&] { return concat("END ", static_cast<int>(out.end), " ", out.error); });
}

// Runs all ranks to their ends.
std::vector<Outcome> attempt(const Scenario& scenario, World& world, Disk& disk, int number,
                             const std::shared_ptr<distributed::HashStore>& data) {
  const auto size = static_cast<std::size_t>(scenario.size);
  std::vector<Outcome> outcomes(size);
  std::vector<std::thread> threads;
  distributed::ProcessGroupOptions options;
  options.timeout = scenario.timeout;
  options.interface = "127.0.0.1";
  for (Outcome& outcome : outcomes)
    for (int rank = 0; rank < scenario.size; ++rank) outcome.members.push_back(rank);
  for (int rank = 0; rank < scenario.size; ++rank) {
    Machine& machine = world.add_machine(rank, number);
    threads.emplace_back([&, rank] {
      world.scheduler.enter(&machine);
      const auto store = std::make_shared<distributed::PrefixStore>(concat("run", number),
                                                                    std::make_shared<SimulatedStore>(world, data));
      run_rank(scenario, {world, rank, scenario.size, store, options, disk, outcomes[static_cast<std::size_t>(rank)]});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

// Runs attempts until one succeeds. The plan's faults happen once.
void run_job(const Scenario& scenario, World& world, const Judge& judge, SeedResult& result) {
  Disk disk;
  const auto data = std::make_shared<distributed::HashStore>();
  for (int number = 0; number < kMaxAttempts; ++number) {
    const Time began = world.scheduler.now();
    const std::vector<Outcome> outcomes = attempt(scenario, world, disk, number, data);
    ++result.attempts;
    result.failure = judge.verdict(outcomes, world, began);
    const auto done = [](const Outcome& outcome) { return outcome.end == Outcome::kDone; };
    if (!result.failure.empty() || std::all_of(outcomes.begin(), outcomes.end(), done)) return;
    world.heal();
  }
  result.failure = concat("the job has not succeeded after ", kMaxAttempts, " attempts");
}

// What an undisturbed run gives, and how many calls each process makes.
struct Reference {
  uint64_t seed = ~uint64_t{0};
  std::unique_ptr<Scenario> scenario;
  std::vector<Outcome> outcomes;
  std::vector<int64_t> calls;
  std::string failure;
};

void run_reference(Reference& reference) {
  Scheduler scheduler({.seed = reference.seed});
  World world(scheduler, reference.seed, {}, {}, Bug::kNone);
  scheduler.run([&] {
    Disk disk;
    reference.outcomes = attempt(*reference.scenario, world, disk, 0, std::make_shared<distributed::HashStore>());
  });
  reference.calls = world.calls();
  for (const Outcome& outcome : reference.outcomes)
    if (outcome.end != Outcome::kDone) reference.failure = "without disturbance: " + outcome.error;
}

const Reference& reference_of(uint64_t seed) {
  static Reference reference;
  if (reference.seed != seed) {
    reference = {};
    reference.seed = seed;
    reference.scenario = draw_scenario(seed);
    run_reference(reference);
  }
  return reference;
}

}  // namespace

SeedResult run_seed(uint64_t seed, const SeedOptions& options) {
  SeedResult result;
  const Reference& reference = reference_of(seed / kPlansPerScenario);
  const Scenario& scenario = *reference.scenario;
  const Plan plan = draw_plan(seed, scenario, reference.calls);
  result.plan =
      concat(scenario.size, " ranks, timeout ", scenario.timeout.count(), " ms, ", scenario.text(), plan.text());
  result.failure = reference.failure;
  if (!result.failure.empty()) return result;
  const int64_t bytes = memory_stats(kCPU).current_bytes;
  {
    Scheduler scheduler({.seed = seed, .preempt_every = plan.preempt_every, .limit = kLimit, .trace = options.trace});
    World world(scheduler, seed, plan.conditions, plan.faults, options.bug);
    world.store_host = plan.store_host;
    scheduler.run([&] { run_job(scenario, world, Judge(scenario, reference.outcomes), result); });
    result.hash = scheduler.hash();
    if (result.failure.empty() && !world.violations.empty()) result.failure = world.violations[0];
    if (result.failure.empty() && world.engines() > 0) result.failure = concat(world.engines(), " engines are left");
  }
  const int64_t left = memory_stats(kCPU).current_bytes - bytes;
  if (result.failure.empty() && left != 0) result.failure = concat("tensors of ", left, " bytes are left");
  return result;
}

void warm_up() {
  silence_mutexes_of([] { cpu::empty_cache(); });
  for (uint64_t seed = 0; seed < 4; ++seed) run_seed(seed * kPlansPerScenario);
}

}  // namespace tandem::simulation
