// A status line at the bottom of the terminal, redrawn at most ten times per second; nothing is drawn if the
// output is not a terminal. Finished lines are printed above it.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tandem/cli/draw/terminal.h"

namespace tandem::cli {

struct ProgressView {
  std::string title;                ///< "epoch 3/10"
  double fraction = -1;             ///< 0 to 1; negative: unknown, no bar is drawn
  std::vector<std::string> fields;  ///< shown after the bar; the last ones are dropped on narrow terminals
};

/// The line, at most terminal.columns - 1 characters wide, without a newline.
std::string progress_line(const ProgressView& view, const Terminal& terminal);

/// "loss 0.5123", "accuracy 0.8123", "12,345 images/s", "0:07 left".
struct TrainingFigures {
  double loss = 0, accuracy = 0;
  double images_per_second = 0;
  double seconds_left = -1;  ///< negative: unknown
};
std::vector<std::string> training_fields(const TrainingFigures& figures);

class ProgressBar {
 public:
  explicit ProgressBar(const Terminal& terminal, std::FILE* out = stdout);
  /// Removes the bar.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// True when it is time to redraw. Figures that are expensive to obtain (a loss on a device) are needed
  /// only then.
  bool due() const;
  void draw(const ProgressView& view);
  void clear();
  /// Prints a line above the bar, which disappears until it is drawn again.
  void print(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  Terminal terminal_;
  std::FILE* out_;
  bool shown_ = false;
  Clock::time_point drawn_{};
};

}  // namespace tandem::cli
