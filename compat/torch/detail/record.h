// RECORD_FUNCTION and torch::autograd::profiler, onto Tandem's profiler (tandem/core/profile.h).
#pragma once
#include <string>

#include "tandem/core/profile.h"
#include "torch/detail/check.h"

/// A span until the end of the scope. The inputs are not kept.
#define RECORD_FUNCTION(name, ...) const ::tandem::profiler::Record C10_ANONYMOUS_VARIABLE(record_)(name)
#define RECORD_FUNCTION_WITH_SCOPE(scope, name, ...) RECORD_FUNCTION(name)
#define RECORD_USER_SCOPE(name, ...) RECORD_FUNCTION(name)

namespace torch::autograd::profiler {

/// Writes a profile of what happens during its life to a file, a Chrome trace.
struct RecordProfile {
  explicit RecordProfile(const std::string& path) { tandem::profiler::start(path); }
  ~RecordProfile() {
    try {
      tandem::profiler::stop();
    } catch (const tandem::Error& error) {
      TORCH_WARN(error.what());
    }
  }
  RecordProfile(const RecordProfile&) = delete;
  RecordProfile& operator=(const RecordProfile&) = delete;
};

}  // namespace torch::autograd::profiler
