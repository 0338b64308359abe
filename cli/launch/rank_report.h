// Reports which rank failed first, and how the others ended.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/launch/child_processes.h"

namespace tandem::cli {

struct RankEnd {
  int rank = 0;
  ProcessEnd process;
  double seconds = 0;  ///< since the start of the ranks
  bool asked = false;  ///< it had been sent a signal to end
};

inline bool failed(const RankEnd& end) { return end.process.code != 0 || end.process.signal != 0; }
/// As a shell returns it: 128 + signal.
int exit_code(const ProcessEnd& end);

/// The rank that failed first and made the others fail; null if none has failed unasked. `ends` is in the order of
/// time.
const RankEnd* first_failure(const std::vector<RankEnd>& ends);
/// Seconds for which another rank that is killed counts as the cause of a failure.
inline constexpr double kCauseSeconds = 1;
/// Whether the death of another rank cannot have been the cause of this one.
bool is_conclusive(const RankEnd& end);

/// "rank 1 (pid 123) failed with exit code 3 after 12.3 s"
std::string describe(const RankEnd& end);
/// "ranks 0, 3 failed, too; ranks 2, 4 to 7 were ended"; empty if there are no others.
std::string describe_others(const std::vector<RankEnd>& ends, const RankEnd* first);
/// "rank 3", "ranks 0, 2, 4 to 7". In ascending order.
std::string names_of_ranks(std::vector<int> ranks);

}  // namespace tandem::cli
