#include "tandem/cli/launch/many_processes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tandem/cli/json.h"
#include "tandem/cli/launch/busy_cores.h"
#include "tandem/cli/message.h"
#include "tandem/cli/report/run_record.h"
#include "tandem/cli/signals.h"
#include "tandem/core/base/suggest.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/core/threads/usable_cores.h"

namespace tandem::cli {
namespace {

// The words without an option and its values.
std::vector<std::string> without(const std::vector<std::string>& words, const std::string& option) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option)
      ++i;
    else if (!words[i].starts_with(option + "="))
      out.push_back(words[i]);
  }
  return out;
}

// A link to the program stays valid when the program's file is replaced.
std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return !error && std::filesystem::exists(path, error) ? path.string() : "/proc/self/exe";
}

// Before anything reads the variable. What is wrong with the run's configuration is reported where the run is read.
void use_reproducible(const TrainOptions& o) {
  std::string mode = o.reproducible;
  const std::vector<std::string> modes{"off", "on", "strict"};
  require(mode.empty() || std::ranges::count(modes, mode) > 0, "--reproducible ", mode, ": expected off, on or strict",
          did_you_mean(mode, modes));
  if (mode.empty() && !o.resume.empty()) {
    try {
      const std::string config = read_text((std::filesystem::path(o.resume) / "config.json").string(), 256 << 20);
      mode = get_entry<std::string>(parse_json(config), "reproducible");
    } catch (const Error&) {  // a run that has not recorded it
    }
  }
  if (!mode.empty()) setenv("TANDEM_REPRODUCIBLE", mode.c_str(), /*replace=*/1);
}

}  // namespace

int64_t shards_for(int processes) { return std::max<int64_t>(kShardsOfProcesses, processes); }

int start_processes(const std::string& command, const std::vector<std::string>& words, int count) {
  distributed::Environment here;
  try {
    here = distributed::Environment::read();
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  require(!here.launched() || here.world_size <= 1, "--processes ", count, ": this is already rank ", here.rank, " of ",
          here.world_size, " processes (", here.launcher, "); leave the option out");
  const std::string busy = busy_note(count, busy_cores(), usable_cores());
  // Not into files and pipes: what a program writes there must not depend on other programs.
  if (!busy.empty() && detect_terminal(2).interactive) print_error("note", busy);
  LaunchOptions launching;
  launching.ranks = concat(count);
  launching.as_one_program = true;
  launching.caller = "tandem " + command;
  launching.command = {own_program()};
  launching.command.insert(launching.command.end(), words.begin(), words.end());
  return launch(launching);
}

int run_in_team(const std::string& command, const TrainOptions& o, const std::function<int(const Team&)>& run) {
  use_reproducible(o);
  if (o.processes > 1) {
    std::vector<std::string> words = without(without(o.line.words, "--processes"), "--threads");
    words.push_back(concat("--threads=", std::max(1, (o.threads > 0 ? o.threads : get_num_threads()) / o.processes)));
    return start_processes(command, words, o.processes);
  }
  const Team team = Team::join();
  require(o.processes == 0 || !team.several(), "--processes 1: this is one of ", team.size(),
          " processes that were started together; leave the option out");
  if (team.several()) install_handlers(/*second_ends=*/false);
  return team.guarded([&] { return run(team); });
}

std::vector<std::string> own_devices(const Team& team, std::vector<std::string> names) {
  if (team.local_size() == 1) return names;
  const auto on_cuda = [](const std::string& name) { return name.starts_with("cuda"); };
  const auto processes = static_cast<std::size_t>(team.local_size()),
             mine = static_cast<std::size_t>(team.local_rank());
  if (names.empty()) {
    const int gpus = device_count(kCUDA);
    if (gpus > 0) names = {concat("cuda:", team.local_rank() % gpus)};
    return names;
  }
  if (names.size() == 1 || std::ranges::none_of(names, on_cuda)) return names;
  const std::size_t each = names.size() / processes;
  require(std::ranges::all_of(names, on_cuda) && each * processes == names.size(), "--devices: ", names.size(),
          " devices for ", processes,
          " processes on this machine; expected CUDA devices, equally many for each process, or CPU devices");
  const auto first = names.begin() + static_cast<std::ptrdiff_t>(mine * each);
  return {first, first + static_cast<std::ptrdiff_t>(each)};
}

void check_parts(const Team& team, int64_t images, int64_t batch_size, int64_t shards) {
  if (!team.several()) return;
  const int size = team.size();
  require(batch_size >= size, "--batch-size ", batch_size, ": too small for ", size, " processes");
  require(shards <= 0 || shards >= size, "--shards ", shards, ": too few for ", size, " processes");
  if (const int64_t last = images % batch_size; last > 0 && last < size)
    refuse("--batch-size ", batch_size, ": the last batch of ", images, " images has only ", last, ", too few for ",
           size, " processes; choose another size");
}

}  // namespace tandem::cli
