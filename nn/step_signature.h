// The assumptions of a recorded step: a recording serves only calls with the same signature.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::detail {

struct StepSignature {
  struct Input {
    Dims sizes;
    ScalarType dtype;
    Device device;
    MemoryFormat format;
    friend bool operator==(const Input&, const Input&) = default;
  };
  struct Parameter {
    const void* data;
    bool requires_grad;
    friend bool operator==(const Parameter&, const Parameter&) = default;
  };

  Device device{kCPU, 0};
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<const void*> buffers;
  std::vector<bool> training;
  bool grad_mode = true, inference = false;
  uint32_t math = 0;  ///< the switches of globalContext()

  void add_input(const Tensor& t) {
    inputs.push_back({Dims(t.sizes()), t.dtype(), t.device(),
                      t.is_contiguous() ? MemoryFormat::Contiguous : t.suggest_memory_format()});
  }
  void add_parameter(const Tensor& t) { parameters.push_back({t.data_ptr(), t.requires_grad()}); }
  /// Records the current gradient and math modes.
  void add_modes();
  friend bool operator==(const StepSignature&, const StepSignature&) = default;
};

/// Describes the first field in which `now` differs from `before`: "input 0 has shape [16, 784], was
/// [64, 784]". Returns "" when they are equal.
std::string difference(const StepSignature& now, const StepSignature& before);

}  // namespace tandem::detail
