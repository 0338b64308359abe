// fuse: merges layers of a model in evaluation mode, for faster inference.
//
//   auto net = models::resnet50();
//   net->load_state_dict(...);
//   net->eval();
//   nn::fuse(net);
//
// BatchNorm with running statistics becomes part of the weight and bias of the Linear or ConvNd before it, and ReLU,
// ReLU6 or Hardswish after such a layer is applied by the layer itself. Results change by rounding only.
//
// Which layer follows which is not visible in a list of children: a forward is a program. fuse() knows two cases. In a
// Sequential (nested ones included) a layer follows its predecessor. Other modules say it themselves, by deriving from
// Fusable; the blocks of models/ do. Everything else stays as it is, and FuseResult::remaining lists the BatchNorm
// layers. A layer that occurs at two places, or has forward hooks, also stays as it is. What fuse() cannot see is code
// outside the Sequential that calls one of its layers by itself, or reads a weight: it gets the merged layer.
//
// The model is changed in place; clone() it first to keep the original. A folded BatchNorm returns its input, has
// neither parameters nor buffers, and refuses training mode. The layer before it has a bias. A state dict of a fused
// model thus has other names: it fits a model of the same kind that has been fused, too, and load_state_dict rejects it
// for any other, and the other way round. So load the published weights first, and fuse then.
//
// In inference on the CPU, convolutions whose output stays inside a Sequential, because another one follows with none but
// layers of nn/ between them, return channels-last tensors where that is faster, and the last one row-major ones; in a
// Fusable those that it names.
//
// On the CPU a fused Conv2d keeps its weight a second time, in the order in which its kernel reads it, from the first
// forward in inference until the layer is destroyed, or until a forward finds that the weight has changed or moved, or
// records gradients. Every write through a tensor counts as a change; one through a raw pointer (data_ptr) does not:
// call mul_(1) on the weight after it.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/nn/module_holder.h"

namespace tandem::nn {

struct FuseResult {
  int64_t norms = 0;                   ///< BatchNorm layers folded
  int64_t activations = 0;             ///< ReLU, ReLU6 and Hardswish moved into the layer before them
  std::vector<std::string> remaining;  ///< full names of the BatchNorm layers that were not folded
};

/// Throws Error, before any change, if the model or a module in it is in training mode.
FuseResult fuse(Module& model);
template <class M>
FuseResult fuse(const ModuleHolder<M>& model) {
  return fuse(static_cast<Module&>(*model.ptr()));
}

/// The operations that a Fusable module calls.
class Fuser {
 public:
  /// Folds `norm` into `layer`, whose output nothing else reads. Returns false, with nothing changed, unless they are a
  /// Linear, Conv1d, Conv2d or Conv3d and a BatchNorm of its rank, with running statistics, as many channels, on the
  /// same device, and neither has forward hooks or occurs elsewhere in the model.
  bool fold(Module& layer, Module& norm);
  /// Makes `layer` apply `activation`, a ReLU, ReLU6 or Hardswish, to its output, which nothing else reads; the caller
  /// leaves the activation out from now on. Returns false, with nothing changed, if the layer is none of the above or
  /// already has an activation, or either has forward hooks.
  bool activate(Module& layer, const Module& activation);
  /// Lets the Conv2d layers of `inside` return channels-last tensors in inference, where that is faster on a CPU. The
  /// caller must return a tensor without four dimensions, or make it contiguous().
  void lay_out(Module& inside) { laid_out_.push_back(&inside); }

 private:
  friend FuseResult fuse(Module& model);
  void count_uses(const Module& module);
  void fuse_chain(Module& sequential);
  bool alone(const Module& module) const;

  std::unordered_map<const Module*, int> uses_;  // places in the model
  std::vector<Module*> laid_out_;
  FuseResult result_;
};

/// A module whose forward calls layers in an order that its children do not show.
class Fusable {
 public:
  virtual void fuse(Fuser& fuser) = 0;

 protected:
  ~Fusable() = default;
};

}  // namespace tandem::nn
