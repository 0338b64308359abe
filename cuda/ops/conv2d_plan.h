// Plans of cuDNN's convolutions: descriptors and candidate algorithms, created once per ConvKey.
#pragma once
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tandem/core/backend/conv.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/plan_key.h"

namespace tandem::cuda_impl {

template <auto destroy>
struct DestroyDescriptor {
  template <class T>
  void operator()(T* descriptor) const {
    destroy(descriptor);
  }
};
template <class Handle, auto destroy>
using Descriptor = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyDescriptor<destroy>>;
using TensorDescriptor = Descriptor<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using FilterDescriptor = Descriptor<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using ConvDescriptor = Descriptor<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;
using ActivationDescriptor = Descriptor<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

/// `algorithm` is a value of the pass's cuDNN enumeration.
struct ConvAlgorithm {
  int algorithm = 0;
  std::size_t workspace = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

struct ConvPlan {
  TensorDescriptor input, output, bias;
  FilterDescriptor weight;
  ConvDescriptor conv;
  ActivationDescriptor identity;
  std::vector<ConvAlgorithm> algorithms;  ///< best first; algorithms that cuDNN rejects are removed
  bool bias_fused = true;                 ///< until cuDNN rejects it
};

/// The tensors of a convolution, regardless of which one is the result.
struct ConvTensors {
  const Tensor &input, &weight, &output;
};

/// Algorithms with a larger workspace are tried last, smallest first.
inline constexpr std::size_t kConvWorkspaceLimit = std::size_t{1} << 30;

ConvKey conv_key(ConvPass pass, const ConvTensors& t, const Conv2dParameters& p);
/// Returns the cached plan. Throws Error with the shapes when cuDNN has no algorithm for them.
ConvPlan& conv_plan(Context& c, ConvKey key, const ConvTensors& t);
struct BiasPlan {
  TensorDescriptor output, bias;
};
BiasPlan& bias_plan(Context& c, const Tensor& output);
/// Description for error messages: "\n  input  [...] ...\n  weight ..."
std::string described(const ConvTensors& t);

}  // namespace tandem::cuda_impl
