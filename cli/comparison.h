// What was measured when one list of devices was compared with others, and how it is told: a table, a
// sentence on what limits each, JSON, a picture.
#pragma once
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tandem/cli/terminal.h"

namespace tandem::cli {

/// Of a step, in the order in which they are told.
enum Phase { kDataWait, kCopyIn, kForward, kBackward, kReduce, kOptimizer, kBroadcast, kIdle, kOther };
inline constexpr std::array<const char*, 9> kPhaseNames{
    "data wait", "copy in", "forward", "backward", "reduce", "optimizer", "broadcast", "idle", "other"};
using PhaseSeconds = std::array<double, kPhaseNames.size()>;

struct Measured {
  std::vector<std::string> devices;
  std::string label;      ///< "cpu:0,cpu:1"
  std::string stands_on;  ///< "2 logical devices of one processor, …"
  bool on_cpu = false, one_card = false;
  int threads = 0;              ///< of each CPU device
  bool weak = false;            ///< the batch a device is that of the first list
  int64_t batch = 0;            ///< of all devices together
  std::vector<double> seconds;  ///< of each epoch
  std::vector<double> cores;    ///< that the process had meanwhile: CPU seconds a second
  PhaseSeconds step{};          ///< seconds, the mean over steps and devices
  double accuracy = NAN;        ///< on the test images, after the last epoch

  bool empty() const { return seconds.empty(); }
  /// "parts of one processor", "parts of one card", or "".
  const char* parts() const;
  /// Whether it had less of so many cores than it could have used. Of devices of one thread alone: kernels
  /// do not keep several threads busy all the time.
  bool disturbed(int cores) const;
  double median() const;
  double least() const;
  double most() const;
  double step_seconds() const;
  /// Of the processor, an epoch, the median: hardly moved by other programs.
  double cpu_seconds() const;
};

struct Comparison {
  std::string model, data, recipe, note;  ///< note: how it was measured
  int64_t images = 0, epochs = 0, shards = 0;
  uint64_t seed = 0;
  int cores = 1;               ///< that the process may use
  int stopped_by = 0;          ///< a signal
  std::vector<Measured> runs;  ///< the first is what others are compared with

  double images_per_second(const Measured& run) const;
  /// How many times the images a second of the first list; NaN where nothing was measured.
  double speed_up(const Measured& run) const;
};

/// A column a list.
std::string comparison_table(const Comparison& c, const Terminal& terminal);
/// "cpu:0,cpu:1: 1.93 times as fast as cpu:0, of at most 2. …": what the breakdown says of the rest.
std::string what_limits(const Comparison& c, const Measured& run);
/// A warning that other programs held the cores; empty where they did not.
std::string disturbance(const Comparison& c);
/// What "reduce" and "optimizer" are, where several devices have no shards; else empty.
std::string sums_note(const Comparison& c);
nlohmann::ordered_json comparison_json(const Comparison& c);
/// Seconds an epoch as bars, and beside them what a step is made of.
std::string comparison_svg(const Comparison& c);

}  // namespace tandem::cli
