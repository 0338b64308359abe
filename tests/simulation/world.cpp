#include "tandem/tests/simulation/world.h"

#include <algorithm>

#include "tandem/tests/simulation/engine.h"

namespace tandem::simulation {

namespace {
World* active = nullptr;
}

const char* name(Fault::Kind kind) {
  constexpr const char* kNames[] = {"none",        "crash",        "power loss",  "stall", "reset",  "silence",
                                    "store fails", "store silent", "clock jumps", "abort", "leaves", "other call"};
  return kNames[kind];
}

World::World(Scheduler& the_scheduler, uint64_t seed, const Conditions& the_conditions, std::vector<Fault> the_faults,
             Bug the_bug)
    : scheduler(the_scheduler),
      conditions(the_conditions),
      bug(the_bug),
      faults(std::move(the_faults)),
      random_(seed, 2) {
  active = this;
}
World::~World() { active = nullptr; }
World& World::instance() { return *active; }

Machine& World::add_machine(int rank, int attempt) {
  machines_.push_back(std::make_unique<Machine>());
  Machine& machine = *machines_.back();
  machine.rank = rank;
  machine.name = "rank" + std::to_string(rank) + (attempt > 0 ? "." + std::to_string(attempt) : "");
  return machine;
}

Machine& World::machine() const { return static_cast<Machine&>(*Scheduler::thread()->process); }

// ---- faults

void World::call() {
  Machine& here = machine();
  check_alive();
  ++here.calls;
  for (Fault& fault : faults)
    if (fault.kind < Fault::kAbort && fault.fired < 0 && fault.rank == here.rank && here.calls >= fault.at)
      fire(fault, here);
  scheduler.step();
  check_alive();
}

void World::check_alive() const {
  if (machine().dead) throw Died();
}

bool World::happens(Fault::Kind kind, int rank, int64_t step) {
  for (Fault& fault : faults)
    if (fault.kind == kind && fault.fired < 0 && fault.rank == rank && step >= fault.at) {
      fault.fired = scheduler.now();
      scheduler.trace([&] { return std::string("FAULT ") + name(kind); });
      return true;
    }
  return false;
}

void World::fire(Fault& fault, Machine& here) {
  fault.fired = scheduler.now();
  scheduler.trace([&] {
    return std::string("FAULT ") + name(fault.kind) + " " + std::to_string(fault.length / kMillisecond) +
           " ms, other rank " + std::to_string(fault.other);
  });
  const auto with_other = [&](const auto& action) {
    for (const auto& machine : machines_)
      if (machine->rank == fault.other && !machine->dead) action(*machine);
  };
  switch (fault.kind) {
    case Fault::kCrash:
    case Fault::kPowerLoss:
      return crash(here, fault.kind == Fault::kCrash);
    case Fault::kStall:
      scheduler.stall(here, scheduler.now() + fault.length);
      return scheduler.yield();
    case Fault::kReset:
      return with_other([&](Machine& other) {
        for (const auto& [id, engine] : engines_)
          if (&engine->machine() == &here || &engine->machine() == &other)
            engine->reset(&engine->machine() == &here ? other.rank : here.rank);
      });
    case Fault::kSilence:
      return with_other([&](Machine& other) { silent_.emplace_back(&here, &other); });
    case Fault::kStoreFails:
      store_fails_until_ = scheduler.now() + fault.length;
      return;
    case Fault::kStoreSilent:
      store_silent_until_ = scheduler.now() + fault.length;
      return;
    case Fault::kClockJumps:
      here.clock_offset += fault.length;
      return;
    default:
      return;
  }
}

void World::crash(Machine& here, bool closes) {
  here.dead = true;
  if (here.rank == store_host) (closes ? store_fails_until_ : store_silent_until_) = kNever;
  for (const auto& [id, engine] : engines_)
    if (&engine->machine() == &here) engine->die(closes);
}

void World::heal() { store_fails_until_ = store_silent_until_ = 0; }

std::vector<int64_t> World::calls() const {
  std::vector<int64_t> out;
  for (const auto& machine : machines_) out.push_back(machine->calls);
  return out;
}

// ---- the network

Time World::delay() {
  const Conditions& c = conditions;
  if (c.longest == 0) return 0;
  if (c.slow_one_in > 0 && random_.one_in(c.slow_one_in)) return c.slow;
  return random_.between(c.shortest, c.longest);
}

Time World::arrival(int from, int to, Time extra) {
  Time& last = last_arrivals_[{from, to}];
  last = std::max(last, scheduler.now() + delay() + extra);
  return last;
}

bool World::silent(const Machine& a, const Machine& b) const {
  return std::any_of(silent_.begin(), silent_.end(), [&](const auto& pair) {
    return (pair.first == &a && pair.second == &b) || (pair.first == &b && pair.second == &a);
  });
}

int World::add_engine(SimulatedEngine* engine) {
  engines_[next_engine_] = engine;
  return next_engine_++;
}

SimulatedEngine* World::engine(int id) const {
  const auto found = engines_.find(id);
  return found == engines_.end() ? nullptr : found->second;
}

}  // namespace tandem::simulation
