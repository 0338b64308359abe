// Environment variables of `tandem launch`, as torchrun's: it reads its own and sets the ranks'.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/cli/options.h"

namespace tandem::cli {

/// The job as this launcher sees it.
struct LaunchPlace {
  int node = 0, nodes = 1;
  int local_size = 1;  ///< ranks on this node, as on every other
  std::string host = "127.0.0.1";
  uint16_t port = 0;  ///< of the store; 0: any free one
  std::string job_key;
  int restart = 0, max_restarts = 0;
  int first_rank() const { return node * local_size; }
  int size() const { return nodes * local_size; }
};

/// The place that the options and the environment describe. Throws UsageError if an option is invalid, if they
/// contradict each other, or if this process is already one of several that another launcher has started.
LaunchPlace read_place(const LaunchOptions& options);

/// The environment of a rank: this process's own, without what other launchers have set for it, and with the
/// rank's place. OMP_NUM_THREADS and TANDEM_NUM_THREADS share the cores among the ranks unless they are set.
std::vector<std::string> rank_environment(const LaunchPlace& place, int local_rank);

}  // namespace tandem::cli
