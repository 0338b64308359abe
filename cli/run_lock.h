// One process at a time in a run's folder.
#pragma once
#include <string>

namespace tandem::cli {

/// Holds DIR/.lock (flock) until its end, when the file is removed; the system lets go of it when the process
/// dies. File systems without locks are trusted.
class RunLock {
 public:
  /// Throws UsageError naming the process that holds it, or when the folder cannot be written.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::string path_;
  int fd_ = -1;
};

/// Removes the temporary files of processes that were killed while they wrote. Only under the lock.
void remove_leftovers(const std::string& folder);

}  // namespace tandem::cli
