// Anomaly mode, for finding the operation whose gradient is wrong.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "tandem/core/base/cpp20.h"

namespace tandem {
namespace autograd {

/// While the mode is enabled, every recorded operation notes its inputs and the calls that led to it. A backward pass
/// then throws Error for a gradient with NaN (unless check_nan is false), and for any exception of a node it prints on
/// stderr where the node was recorded. The mode applies to all threads, and makes recording several times slower.
struct AnomalyMode {
  static bool is_enabled() { return enabled_.load(std::memory_order_relaxed); }
  static bool should_check_nan() { return check_nan_.load(std::memory_order_relaxed); }
  static void set_enabled(bool enabled, bool check_nan = true) {
    enabled_.store(enabled, std::memory_order_relaxed);
    check_nan_.store(check_nan, std::memory_order_relaxed);
  }

 private:
  static constinit std::atomic<bool> enabled_, check_nan_;
};

/// Enables anomaly mode until the guard goes out of scope. Guards may overlap on several threads: the last one to end
/// restores what the first one found.
class DetectAnomalyGuard {
 public:
  [[nodiscard]] explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool check_nan_before_;
};

/// The note of anomaly mode on a node.
struct ForwardNote {
  struct Level {
    std::string call;           ///< "Log([2, 3] float32 cpu)"
    std::vector<void*> frames;  ///< return addresses, innermost first
  };
  /// The node itself; then the node whose backward recorded it, and so on.
  std::vector<Level> levels;
  const std::string& call() const { return levels.front().call; }
};

}  // namespace autograd
}  // namespace tandem
