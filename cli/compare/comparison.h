// Measurements of lists of devices compared with the first one, and their presentation: a table, a sentence
// on what limits each list, JSON, an SVG image.
#pragma once
#include <array>
#include <cmath>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tandem/cli/draw/terminal.h"

namespace tandem::cli {

/// Phases of a step, in the order in which they are shown.
enum Phase { kDataWait, kCopyIn, kForward, kBackward, kReduce, kOptimizer, kBroadcast, kIdle, kOther };
inline constexpr std::array<const char*, 9> kPhaseNames{"data wait", "copy in",   "forward", "backward", "reduce",
                                                        "optimizer", "broadcast", "idle",    "other"};
using PhaseSeconds = std::array<double, kPhaseNames.size()>;

struct Measured {
  std::vector<std::string> devices;
  std::string label;      ///< "cpu:0,cpu:1"
  std::string stands_on;  ///< the hardware: "2 logical devices on one CPU, …"
  bool on_cpu = false, one_gpu = false;
  int processes = 1;            ///< each with these devices
  int threads = 0;              ///< per CPU device
  bool weak = false;            ///< weak scaling: the batch per device is the first list's
  int64_t batch = 0;            ///< images per step, over all devices
  std::vector<double> seconds;  ///< one value per epoch
  std::vector<double> cores;    ///< cores that the process used per epoch: CPU seconds per second
  PhaseSeconds step{};          ///< mean over steps and devices
  double accuracy = NAN;        ///< on the test images, after the last epoch
  std::string parameters{};     ///< SHA-256 of the parameters, after the last epoch

  bool empty() const { return seconds.empty(); }
  /// Devices of all processes.
  std::size_t workers() const { return devices.size() * static_cast<std::size_t>(processes); }
  /// "parts of one CPU", "parts of one GPU", or "".
  const char* parts() const;
  /// Whether other programs kept the run from using its share of `cores` cores. Known only for devices of one
  /// thread, because kernels do not keep several threads busy all the time.
  bool disturbed(int cores) const;
  double median() const;
  double least() const;
  double most() const;
  double step_seconds() const;
  /// Median CPU seconds per epoch, which other programs hardly affect.
  double cpu_seconds() const;
};

struct Comparison {
  std::string model, data, recipe, note{};  ///< note: how it was measured
  int64_t images = 0, epochs = 0, shards = 0;
  uint64_t seed = 0;
  int cores = 1;                 ///< cores that the process may use
  int stopped_by = 0;            ///< the signal that stopped the comparison, or 0
  std::vector<Measured> runs{};  ///< the others are compared with the first

  double images_per_second(const Measured& run) const;
  /// Images per second relative to the first list; NaN if nothing was measured.
  double speed_up(const Measured& run) const;
};

/// A table with one column per list.
std::string comparison_table(const Comparison& c, const Terminal& terminal);
/// "cpu:0,cpu:1: 1.93 times as fast as cpu:0, out of a possible 2. …", followed by what limits it.
std::string what_limits(const Comparison& c, const Measured& run);
/// A warning that other programs used the cores; empty if they did not.
std::string disturbance(const Comparison& c);
/// Whether runs with the same batch have the same parameters, if some have several processes; else empty.
std::string same_bits_note(const Comparison& c);
/// Explains "reduce" and "optimizer" for several devices without shards; else empty.
std::string sums_note(const Comparison& c);
nlohmann::ordered_json comparison_json(const Comparison& c);
/// An SVG image with bars for the seconds per epoch and, beside them, the phases of a step.
std::string comparison_svg(const Comparison& c);

}  // namespace tandem::cli
