// Ensures that only one process at a time trains in a folder.
#pragma once
#include <string>

#include "tandem/core/base/descriptor.h"

namespace tandem::cli {

inline constexpr const char* kLockFile = ".lock";

/// Holds DIR/.lock (flock) for its lifetime and then removes the file; the system releases the lock if the
/// process dies. On file systems without locks, the lock is assumed to be free.
class RunLock {
 public:
  /// Throws UsageError naming the process that holds the lock, or if the folder cannot be written.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::string path_;
  tandem::detail::Descriptor fd_;
};

/// Removes temporary files of processes that were killed while writing. Call only with the lock held.
void remove_leftovers(const std::string& folder);

}  // namespace tandem::cli
