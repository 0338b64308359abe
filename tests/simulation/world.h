// The simulated job: its processes, the network between them, and what goes wrong.
#pragma once
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tandem/tests/simulation/scheduler.h"

namespace tandem::simulation {

class SimulatedEngine;

struct Machine : Process {
  bool dead = false;
  int64_t calls = 0;  ///< of its store and its engines
};

/// How long things take, and how messages travel, when nothing fails.
struct Conditions {
  Time shortest = 0, longest = 0;  ///< delay of a message
  uint32_t slow_one_in = 0;        ///< this share of messages takes `slow`; 0: none
  Time slow = 0;
  bool eager = false;  ///< a send is complete before the other side receives
};

struct Fault {
  enum Kind {
    kNone,
    kCrash,        ///< the process ends; its connections close
    kPowerLoss,    ///< the machine is gone without a word
    kStall,        ///< the threads of the process do not run for `length`
    kReset,        ///< the connections between two processes close
    kSilence,      ///< messages between two processes are lost from now on
    kStoreFails,   ///< calls of the store throw for `length`
    kStoreSilent,  ///< calls of the store take so long that callers give up, for `length`
    kClockJumps,   ///< the system's clock jumps by `length`; no failure
    kAbort,        ///< the process aborts its group
    kLeaves,       ///< the process ends its part with an exception of its own
    kOtherCall,    ///< the process makes another call than the others
  };
  Kind kind = kNone;
  int rank = 0, other = 0;
  int64_t at = 0;  ///< before this call of the process; from kAbort on: before this step of the scenario
  Time length = 0;
  Time fired = -1;
};
const char* name(Fault::Kind kind);

/// What the simulated network does wrong on purpose, to show that the tests notice.
enum class Bug : uint8_t {
  kNone,
  kArrivalOrder,  ///< sums are computed in the order in which messages come
  kLostData,      ///< some messages come without their bytes
  kLostMessage,   ///< some messages do not come
  kNoTimeout,     ///< waits do not end
  kEarlyEnd,      ///< sends are complete before the bytes have been read
};

/// Thrown out of calls of a process that has died.
struct Died : std::runtime_error {
  Died() : std::runtime_error("this process is dead") {}
};

class World {
 public:
  World(Scheduler& scheduler, uint64_t seed, const Conditions& conditions, std::vector<Fault> faults, Bug bug);
  static World& instance();
  ~World();

  Machine& add_machine(int rank, int attempt);
  /// Of the calling thread.
  Machine& machine() const;
  /// Every call of a store or an engine begins with this: what is to happen before it happens. Throws Died.
  void call();
  void check_alive() const;
  /// Whether `fault` is to happen at this step of the scenario; then it has.
  bool happens(Fault::Kind kind, int rank, int64_t step);

  Time delay();
  /// When a message that is sent now arrives, after those sent before it between the same two engines.
  Time arrival(int from, int to, Time extra = 0);
  bool silent(const Machine& a, const Machine& b) const;
  bool store_fails() const { return scheduler.now() < store_fails_until_; }
  bool store_is_silent() const { return scheduler.now() < store_silent_until_; }

  int add_engine(SimulatedEngine* engine);
  void remove_engine(int id) { engines_.erase(id); }
  SimulatedEngine* engine(int id) const;
  /// Ends what faults have done to the store and the network, before the next attempt.
  void heal();
  /// How many calls the process of each rank has made.
  std::vector<int64_t> calls() const;
  int engines() const { return static_cast<int>(engines_.size()); }
  void violation(const std::string& text) { violations.push_back(text); }

  Scheduler& scheduler;
  const Conditions conditions;
  const Bug bug;
  std::vector<Fault> faults;
  int store_host = -1;                  ///< the rank with whose process the store ends; -1: none
  std::vector<std::string> violations;  ///< of the rules of engines

 private:
  void fire(Fault& fault, Machine& machine);
  void crash(Machine& machine, bool closes);

  Random random_;
  Time store_fails_until_ = 0, store_silent_until_ = 0;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::map<int, SimulatedEngine*> engines_;
  std::map<std::pair<int, int>, Time> last_arrivals_;
  std::vector<std::pair<const Machine*, const Machine*>> silent_;
  int next_engine_ = 1;
};

}  // namespace tandem::simulation
