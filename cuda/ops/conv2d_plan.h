// Plans of convolutions: an operation graph of cuDNN and the engines that can run it, created once per ConvKey. One of the
// engines may be of our own (conv2d_direct.h).
#pragma once
#include <memory>
#include <string>
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
/// Anything of cuDNN's graph API.
using GraphObject = Descriptor<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor>;

struct ConvEngine {
  GraphObject config;  ///< null: our own
  GraphObject plan;    ///< null until engine_at() reaches the engine
  std::string name;
  std::size_t workspace = 0;  ///< known with the plan

  bool direct() const { return config == nullptr; }
};

struct ConvPlan {
  ConvKey key;
  GraphObject graph;
  std::vector<ConvEngine> engines;  ///< best first; engines that cuDNN rejects are removed
  bool complete = false;            ///< engines that work for any shape were added, too
  bool left_out = false;            ///< an engine was excluded only because its results vary
};

/// The tensors of a convolution, regardless of which one is the result.
struct ConvTensors {
  const Tensor &input, &weight, &output;
};

/// Engines with a larger workspace are tried last, smallest first.
inline constexpr std::size_t kConvWorkspaceLimit = std::size_t{1} << 30;

/// Whether cuDNN gets the tensors with the channels innermost, as its tensor cores read them.
enum class ChannelsLast {
  kNo,
  kIfAccepted,  ///< the tensors are so, but it may have no engine for these channels
  kYes
};
/// kYes for half types with whole vectors of channels. kIfAccepted for other half types and TensorFloat-32 that are
/// channels-last, unless refuse_channels_last has been called for them.
ChannelsLast runs_channels_last(Context& c, ConvPass pass, const ConvTensors& t, const Conv2dParameters& p);
/// Remembers that cuDNN has no engine for this.
void refuse_channels_last(Context& c, const ConvKey& key);
ConvKey conv_key(ConvPass pass, const ConvTensors& t, const Conv2dParameters& p, bool channels_last);
/// Returns the cached plan, which has an engine. Throws Error with the shapes when cuDNN has none for them.
ConvPlan& conv_plan(Context& c, ConvKey key, const ConvTensors& t);
/// The engine at a place of the plan, ready to run; nullptr behind the last. Changes only that place and those behind.
ConvEngine* engine_at(Context& c, ConvPlan& plan, std::size_t place);
/// `bias` is added if the engine is direct().
cudnnStatus_t run_engine(Context& c, const ConvPlan& plan, const ConvEngine& engine, const ConvTensors& t,
                         const Tensor& workspace, const Tensor& bias);
/// Description for error messages: "\n  input  [...] ...\n  weight ..."
std::string described(const ConvTensors& t);

}  // namespace tandem::cuda_impl
