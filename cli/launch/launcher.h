// Runs the ranks of one node from their start to the end of the last process.
#pragma once
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tandem/cli/launch/environment.h"
#include "tandem/cli/launch/nodes.h"
#include "tandem/cli/launch/rank_report.h"
#include "tandem/cli/launch/rank_streams.h"
#include "tandem/cli/launch/signals.h"

namespace tandem::cli {

struct LaunchResult {
  int code = 0;
  bool stopped = false;  ///< for good: by a signal, because nobody reads the output, or because a node has gone
};

/// The launcher's outputs, which outlive a run of the ranks.
struct LaunchOutputs {
  /// Opens the logs in `folder` (empty: none). Throws UsageError if that fails.
  LaunchOutputs(const LaunchPlace& place, const LaunchOptions& options);
  /// Prints "CALLER: TEXT" after the lines that wait.
  void say(const std::string& text);
  /// Writes all that waits, until another stop signal comes.
  void flush(LaunchSignals& signals);
  OutputQueue out{1}, err{2};
  std::string caller;
  std::vector<std::unique_ptr<RankLog>> logs;  // of rank i: 2i its output, 2i + 1 its errors
};

class Launcher {
 public:
  /// `nodes` is null on a single node. All must outlive this.
  Launcher(const LaunchOptions& options, const LaunchPlace& place, LaunchSignals& signals, ChildProcesses& processes,
           LaunchOutputs& outputs, LaunchNodes* nodes);
  /// Throws StartError if the program cannot be run.
  LaunchResult run(const std::string& path);

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Rank {
    pid_t pid = 0;
    bool running = false;
    std::unique_ptr<RankStream> out, err;  // null: the launcher's own
    std::vector<RankStream*> streams() const {
      return out ? std::vector<RankStream*>{out.get(), err.get()} : std::vector<RankStream*>();
    }
  };
  void start_rank(int local_rank, ChildProgram& program);
  void wait();
  void look_for_stop();
  int code_of_program() const;
  void look_for_remote_failure();
  void take_over(const JobFailure& failure);
  void look_at_clock();
  void note(const ProcessEnd& end);
  void choose_failure();
  void report(const RankEnd& first);
  void ask();
  void kill();
  void conclude();
  void wait_for_other_nodes();

  const LaunchOptions& options_;
  const LaunchPlace place_;
  LaunchSignals& signals_;
  ChildProcesses& processes_;
  LaunchOutputs& outputs_;
  LaunchNodes* nodes_;
  std::vector<Rank> ranks_;
  std::vector<RankEnd> ends_;
  int running_ = 0;
  LaunchResult result_;
  int first_rank_ = -1;  // whose failure was reported
  bool asked_ = false, failure_chosen_ = false, gave_up_ = false;
  int stops_ = 0;  // signals answered
  // Times of seconds_now().
  double began_ = 0, choose_at_ = kNever, ask_at_ = kNever, kill_at_ = kNever, give_up_at_ = kNever;
};

}  // namespace tandem::cli
