// What is run with failing calls: every list of scenarios is a source scenarios/*.cpp.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/tests/faults/faults.h"

namespace tandem::faults {

/// A hash (FNV-1a) of results: equal bits give equal sums.
class Sum {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  /// The elements of a contiguous tensor, or of its copy.
  void add(const Tensor& tensor);
  void add(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) add(tensor);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

/// How long stores and groups wait in a scenario.
inline std::chrono::milliseconds timeout() { return std::chrono::seconds(expects_failure() ? 4 : 60); }

struct Scenario {
  std::string name;
  std::vector<Kind> kinds;
  /// Runs in a process of its own with a folder of its own; the files there that it leaves are part of its result.
  /// What it opens, starts and keeps besides must be what it keeps after every run.
  std::function<void(const std::string& folder, Sum& sum)> run;
  /// Fills the empty folder. Every run finds what it writes.
  std::function<void(const std::string& folder)> prepare = [](const std::string&) {};
  /// A sample has so many times fewer calls: of one that takes long.
  int weight = 1;
  /// Files may be left with the first part of what they should have: those to which records are added.
  bool appends = false;
  /// Another library leaves files open after an error with this text.
  std::string leaves_open = {};
};

/// What writing and reading files call.
inline const std::vector<Kind> kWriting = {Kind::kMemory, Kind::kOpen,     Kind::kWrite,  Kind::kSync,
                                           Kind::kRename, Kind::kClose,    Kind::kUnlink, Kind::kTruncate,
                                           Kind::kShort,  Kind::kInterrupt};
inline const std::vector<Kind> kReading = {Kind::kMemory, Kind::kMap,   Kind::kOpen,     Kind::kRead,
                                           Kind::kClose,  Kind::kShort, Kind::kInterrupt};

/// All scenarios. Each source adds its own with a static AddScenarios.
std::vector<Scenario>& scenarios();
struct AddScenarios {
  explicit AddScenarios(std::vector<Scenario> more) {
    for (Scenario& scenario : more) scenarios().push_back(std::move(scenario));
  }
};

}  // namespace tandem::faults
