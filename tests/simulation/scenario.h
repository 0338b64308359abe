// What the processes of a simulated job do. A scenario is drawn from a seed of its own, so that several seeds disturb
// the same scenario in different ways.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/files/archive.h"
#include "tandem/parallel/distributed/process_group.h"
#include "tandem/tests/simulation/world.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::simulation {

using distributed::Milliseconds;
using distributed::ProcessGroup;
using GroupPtr = std::shared_ptr<ProcessGroup>;

/// How the part of one process ended.
struct Outcome {
  enum End { kDone, kFailed, kDied, kLeft, kWrong };
  End end = kWrong;
  std::string error;         ///< of kFailed and kWrong
  std::size_t group = 0;     ///< the one that failed, in the order in which groups are made
  std::vector<int> members;  ///< of that group, as ranks of the job
  Time ended = 0;
  std::map<int64_t, uint64_t> digests;  ///< of results, by place in the scenario
};

/// What survives the end of all processes: a shared file system.
struct Disk {
  int64_t step = 0;  ///< after which the checkpoint was written
  serialize::InputArchive model = {}, state = {};
  std::shared_ptr<const test::TempFolder> folder = nullptr;  ///< in memory; for checkpoints in files
};

/// The exception of a process that ends for reasons of its own.
struct Left {};

/// What a process has.
struct Rank {
  World& world;
  const int rank, size;
  const std::shared_ptr<distributed::Store> store;
  const distributed::ProcessGroupOptions options;
  Disk& disk;
  Outcome& outcome;

  GroupPtr make_group() const { return ProcessGroup::make(store, rank, size, options); }
  /// Before step `index`: what the faults of the scenario do. Returns whether to make another call than the others.
  bool step(int64_t index, ProcessGroup& group) const;
  /// Calls belong to this group, of these ranks, from now on.
  void in_group(std::size_t group, std::vector<int> members) const {
    outcome.group = group;
    outcome.members = std::move(members);
  }
  void digest(int64_t place, const std::vector<Tensor>& results) const;
};

class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual void run(const Rank& rank) const = 0;
  virtual int64_t steps() const = 0;
  virtual std::string text() const = 0;

  int size = 1;
  Milliseconds timeout{1000};
};

std::unique_ptr<Scenario> draw_collectives(Random& random, int size);
std::unique_ptr<Scenario> draw_training(Random& random, int size);
std::unique_ptr<Scenario> draw_scenario(uint64_t seed);

}  // namespace tandem::simulation
