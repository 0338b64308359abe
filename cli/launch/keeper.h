// A second process that outlives the launcher for a moment: if the launcher is killed (kill -9), it ends the
// process groups that the launcher had started. The kernel ends the ranks themselves (PR_SET_PDEATHSIG), but
// not what they have started.
#pragma once
#include <sys/types.h>

#include "tandem/core/base/descriptor.h"

namespace tandem::cli {

class Keeper {
 public:
  static constexpr int kMaxGroups = 4096;
  /// Starts it; call this before the process has other threads. Throws Error if that fails.
  Keeper();
  /// Ends it, and the groups that it still guards.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  /// Process group `pid` is to be ended if the launcher dies; 0: none. `slot` from 0 to kMaxGroups - 1.
  void guard(int slot, pid_t pid);
  pid_t pid() const { return pid_; }

 private:
  tandem::detail::Descriptor fd_;
  pid_t pid_ = -1;
};

}  // namespace tandem::cli
