// The launchers of a job on several nodes: they check that they agree, notify each other of the first failure, and
// notice when one of them has gone. Node 0 serves the store, so it ends last. Each run of the ranks has a LaunchNodes.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tandem/cli/launch/environment.h"
#include "tandem/core/base/descriptor.h"
#include "tandem/parallel/distributed/store.h"

namespace tandem::cli {

struct JobFailure {
  int code = 0;  ///< exit code of the launchers; 0: none
  std::string text = {};
  bool final = false;  ///< not to be followed by a restart
};

class LaunchNodes {
 public:
  /// Waits for all nodes, at most `seconds`. Throws Error if one does not come, or UsageError if nodes disagree.
  LaunchNodes(std::shared_ptr<distributed::Store> store, const LaunchPlace& place, int seconds);
  ~LaunchNodes();
  LaunchNodes(const LaunchNodes&) = delete;
  LaunchNodes& operator=(const LaunchNodes&) = delete;

  /// Starts the thread that watches the other nodes.
  void watch();
  /// Readable once there is a failure().
  int fd() const { return event_.get(); }
  /// The first failure on another node, or the loss of one.
  JobFailure failure() const;
  /// Tells the others. Returns the failure that counts: another node may have reported one first.
  JobFailure report(const JobFailure& failure);
  /// Says that this node's ranks have ended.
  void leave();
  /// Whether all nodes have left.
  bool all_left() const { return all_left_; }
  /// Ends the watching. On node 0 it then waits a little until the others do not need the store any more.
  void part();

 private:
  void join(int seconds);
  void compare(int node, const std::string& text) const;
  void watch_loop();
  void look();
  void look_after(int node);
  void fail(const JobFailure& failure);

  struct Watched {
    std::vector<int64_t> alive;
    std::vector<double> changed;  // time at which `alive` last grew
  };
  std::shared_ptr<distributed::Store> store_;
  const LaunchPlace place_;
  tandem::detail::Descriptor event_;
  mutable std::mutex mutex_;
  JobFailure failure_;
  std::atomic<bool> stop_{false}, all_left_{false};
  Watched watched_;
  std::thread thread_;
};

}  // namespace tandem::cli
