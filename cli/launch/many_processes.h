// Runs the tool's own command line in several processes that behave like one program.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/cli/options.h"
#include "tandem/cli/train/team.h"

namespace tandem::cli {

/// Shards of a run in several processes, unless --shards is given: results are then the same for all numbers of
/// processes up to this.
inline constexpr int64_t kShardsOfProcesses = 8;
/// kShardsOfProcesses, or more if there are more processes.
int64_t shards_for(int processes);

/// Starts `count` processes with these words of a command line and returns their exit code. `command`: for messages.
/// Throws UsageError if this process is itself one of several.
int start_processes(const std::string& command, const std::vector<std::string>& words, int count);
/// Starts the processes that options.processes asks for, which share options.threads, or else calls `run` with the team
/// of this process. Returns the exit code.
int run_in_team(const std::string& command, const TrainOptions& options, const std::function<int(const Team&)>& run);

/// The devices of this process among those named. Each process has its own CPU devices; CUDA devices are divided
/// among the processes of a machine, by default one for each. Throws UsageError if that is not possible.
std::vector<std::string> own_devices(const Team& team, std::vector<std::string> names);

/// Throws UsageError if a batch, the last of an epoch or the shards cannot be divided among the processes.
void check_parts(const Team& team, int64_t images, int64_t batch_size, int64_t shards);

}  // namespace tandem::cli
