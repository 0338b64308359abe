// The engine: runs the tape backwards.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

struct BackwardArgs {
  TensorList outputs;
  TensorList grad_outputs;  ///< one each, undefined ones allowed for outputs of one element
  bool retain_graph = false;
  bool create_graph = false;  ///< with accumulate: warns once on stderr that .grad() leads back to its leaf
  TensorList inputs;          ///< when not empty: only these get gradients; from then on they retain_grad
  bool accumulate = true;     ///< into .grad of leaves; else the gradients of `inputs` are returned
  bool allow_unused = false;
};

/// Gradients of sum_i <outputs[i], grad_outputs[i]>. Gives one tensor an input when !accumulate (undefined
/// ones under allow_unused). Nodes run in the order of their creation, latest first, without recursion.
/// Throws Error on outputs that need no gradient, gradients of a wrong shape, saved tensors that were
/// overwritten, a graph that was freed already, unused inputs.
///
/// Several threads may go backward at once, through one graph (with retain_graph) or through graphs that
/// share leaves: the gradients of a leaf are added up one by one, in the order in which they come. Hooks of a
/// leaf then run on several threads. Nobody else touches .grad() meanwhile.
std::vector<Tensor> run_backward(const BackwardArgs& args);

}  // namespace tandem::autograd

namespace tandem::autograd {
/// LibTorch's autograd::backward and autograd::grad.
void backward(TensorList tensors, TensorList grad_tensors = {}, optional<bool> retain_graph = nullopt,
              bool create_graph = false, TensorList inputs = {});
std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs = {},
                         optional<bool> retain_graph = nullopt, bool create_graph = false,
                         bool allow_unused = false);
}  // namespace tandem::autograd
