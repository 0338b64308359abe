// Plans of cuDNN's convolutions: descriptors and the algorithms to try, made once for a ConvKey.
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

/// `algorithm` is of the pass' own enumeration.
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
  std::vector<ConvAlgorithm> algorithms;  ///< best first; what cuDNN refuses is taken out
  bool bias_fused = true;                 ///< until cuDNN refuses it
};

/// The tensors of a convolution, whichever of them is the result.
struct ConvTensors {
  const Tensor &input, &weight, &output;
};

/// Algorithms with a larger workspace are the last to be tried, the smallest first.
inline constexpr std::size_t kConvWorkspaceLimit = std::size_t{1} << 30;

ConvKey conv_key(ConvPass pass, const ConvTensors& t, const Conv2dParameters& p);
/// The cached plan. Throws Error with the shapes when cuDNN has no algorithm for them.
ConvPlan& conv_plan(Context& c, ConvKey key, const ConvTensors& t);
struct BiasPlan {
  TensorDescriptor output, bias;
};
BiasPlan& bias_plan(Context& c, const Tensor& output);
/// "\n  input  [...] ...\n  weight ..."
std::string described(const ConvTensors& t);

}  // namespace tandem::cuda_impl
