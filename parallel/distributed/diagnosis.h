// Finds out why a call failed. Ranks publish in the store what they wait for. The first rank that noticed the failure
// reads it and publishes one message, which all ranks then throw.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/options.h"
#include "tandem/parallel/distributed/call_record.h"
#include "tandem/parallel/distributed/store.h"

namespace tandem::distributed {

/// What one rank was doing when the group failed.
struct Status {
  bool left = false;       ///< it destroyed its group or ended normally
  CallRecord call;         ///< of a rank that left: only the sequence number of the first call without it
  double seconds = 0;      ///< how long it has waited
  std::string error = {};  ///< what the engine said; empty after a timeout
  std::vector<int> lost = {};

  std::string text() const;
  /// A status that cannot be read is an empty optional.
  static optional<Status> parse(const std::string& text);
};
using Statuses = std::vector<optional<Status>>;

/// The message for the statuses of all ranks, seen from `rank`, whose own status must be among them.
std::string explain(const Statuses& statuses, int rank);
/// Follows a message about a timeout.
inline constexpr const char* kTimeoutCure = "\n  (ProcessGroupOptions::timeout sets how long ranks wait)";
/// "rank 3", "ranks 0-2, 5"
std::string rank_list(std::vector<int> ranks);

/// The group's part of the store. Functions throw DistributedError if the store cannot be reached.
class Board {
 public:
  Board(std::shared_ptr<Store> store, std::string prefix, int rank, int size);
  /// Whether a rank has published that something is wrong.
  bool failure_noticed();
  void publish(const Status& own);
  /// After publish(): the message for all ranks, within about 1.8 s.
  std::string settle(const Status& own);
  /// Publishes this message unless there is one already; returns the one that was first.
  std::string settle(const std::string& message);
  /// Waits, for at most 0.5 s, until all ranks that have not left know the message.
  void wait_for_readers();
  /// Publishes that this rank, which has completed so many collectives, no longer needs the group.
  void leave(int64_t calls);
  /// Publishes that this rank has reached `place`, a name that the group uses once.
  void arrive(const std::string& place);
  /// Waits until all ranks have arrived, `timeout` has passed or stop() is true; returns the ranks that are missing.
  std::vector<int> missing(const std::string& place, Milliseconds timeout, const std::function<bool()>& stop = {});
  std::string key(const std::string& name) const { return prefix_ + name; }

 private:
  std::string agree(const Status& own);
  void collect(const Status& own, Statuses& statuses, Milliseconds timeout);

  const std::shared_ptr<Store> store_;
  const std::string prefix_;
  const int rank_, size_;
};

}  // namespace tandem::distributed
