// Exchanges reports between the processes of a team after each step. It runs during the next step, so it costs no
// time but ends one step late.
#pragma once
#include <vector>

#include "tandem/cli/train/team.h"

namespace tandem::cli {

/// A process's request after a step; all processes do it after the same step.
struct StepRequest {
  int stop = 0;  ///< signal that asks to stop; 0: none
  bool save = false;
};

struct StepReport {
  StepRequest request;
  int64_t examples = 0, correct = 0;
  std::vector<double> losses, weights;  ///< of the process's pieces, in order
};

class StepExchange {
 public:
  /// `max_pieces`: the most that a process has in a step.
  StepExchange(const Team& team, int64_t max_pieces);
  bool pending() const { return work_ != nullptr; }
  /// Starts to send the report. Every process calls this.
  void start(const StepReport& own);
  /// The reports of the last start(), by rank. Waits for them.
  std::vector<StepReport> finish();

 private:
  Team team_;
  int64_t max_pieces_;
  Tensor own_, all_;  // [1, entries], [size, entries]
  distributed::WorkPtr work_;
};

}  // namespace tandem::cli
