// Kernels that calls of a queue can be fused with although they compute more than element by element: cores. A core
// reads every element of a tensor from a source, once, and may give every result to a sink; calls take the place of
// either (cuda/memory_ends.h).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/cuda/launch.h"

namespace tandem::cuda_impl {

struct Core {
  Tensor source, sink;                ///< contiguous; without a sink nothing can follow
  std::vector<Tensor> reads, writes;  ///< besides
  std::string kernel;                 ///< "normalize_rows<float, 4>": the device function
  std::string parameter;              ///< "NormalizeRows<float>": the type of its first argument
  std::string memory;       ///< "in": the member of the parameter with the source's memory; the sink's is "out"
  std::vector<char> value;  ///< of the parameter
  int vector = 1;           ///< elements that it takes at once
  Grid grid;
  std::function<void()> after;  ///< what else the call computes, after the kernel; may be empty
  std::function<void()> alone;  ///< calls the kernel itself
};

/// Each has the arguments of its kernel in the table, whose memory it must not own.
Core layer_norm_core(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight,
                     const Tensor& bias, double eps);
Core layer_norm_backward_core(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                              const Tensor& grad_output, const Tensor& input, const Tensor& statistics,
                              const Tensor& weight);
Core batch_norm_backward_core(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                              const Tensor& grad_output, const Tensor& input, const Tensor& mean,
                              const Tensor& variance, const Tensor& weight, double eps, bool of_batch);

/// The bytes of a kernel parameter.
template <class P>
std::vector<char> bytes_of(const P& parameter) {
  const auto* bytes = reinterpret_cast<const char*>(&parameter);
  return {bytes, bytes + sizeof parameter};
}

}  // namespace tandem::cuda_impl
