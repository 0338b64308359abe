// Scenarios of a file format: a state is written over an older one, and read.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {

using State = OrderedDict<std::string, Tensor>;

inline State state(double first) {
  return {{"a.weight", arange(first, first + 6, kFloat).view({2, 3})},
          {"a.bias", arange(2, kFloat)},
          {"large", arange(first, first + 10'000, kDouble)},
          {"mask", ones({3}, TensorOptions(kBool))}};
}

inline void add(const State& read, Sum& sum) {
  for (const auto& item : read) {
    sum.add(item.key());
    sum.add(item.value());
  }
}

struct Format {
  std::string name, file;
  std::function<void(const std::string& path, const State& state)> save;
  std::function<void(const std::string& path, Sum& sum)> load;
};

/// Scenarios save_NAME and load_NAME of each format.
inline std::vector<Scenario> of_formats(const std::vector<Format>& formats) {
  std::vector<Scenario> list;
  for (const Format& format : formats) {
    const auto path = [file = format.file](const std::string& folder) { return folder + "/" + file; };
    const auto prepare = [=](const std::string& folder) { format.save(path(folder), state(1)); };
    list.push_back({.name = "save_" + format.name,
                    .kinds = kWriting,
                    .run = [=](const std::string& folder, Sum&) { format.save(path(folder), state(2)); },
                    .prepare = prepare});
    list.push_back({.name = "load_" + format.name,
                    .kinds = kReading,
                    .run = [=](const std::string& folder, Sum& sum) { format.load(path(folder), sum); },
                    .prepare = prepare});
  }
  return list;
}

}  // namespace tandem::faults
