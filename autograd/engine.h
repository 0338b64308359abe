// The engine: runs the tape backwards.
#pragma once
#include <functional>

#include "tandem/autograd/node.h"

namespace tandem::autograd {

struct BackwardArgs {
  TensorList outputs;
  TensorList grad_outputs;  ///< one per output; may be undefined for outputs with one element
  bool retain_graph = false;
  bool create_graph = false;  ///< with accumulate: warns once on stderr that .grad() refers back to its leaf
  TensorList inputs;          ///< if not empty, only these get gradients and retain_grad is set on them
  bool accumulate = true;     ///< into .grad of leaves; otherwise the gradients of `inputs` are returned
  bool allow_unused = false;
};

/// Gradients of sum_i <outputs[i], grad_outputs[i]>. With !accumulate, returns one tensor per input
/// (undefined for unused inputs under allow_unused). Nodes run in reverse order of creation, without
/// recursion. Throws Error on outputs that need no gradient, gradients of the wrong shape, saved tensors that
/// were overwritten, a graph that was already freed, and unused inputs.
///
/// Several threads may run backward at once, through one graph (with retain_graph) or through graphs that
/// share leaves: the gradients of a leaf are added one by one in order of arrival. Hooks of a leaf then run
/// on several threads. No other code may access .grad() meanwhile.
std::vector<Tensor> run_backward(const BackwardArgs& args);

/// For hooks: runs `callback` once the backward pass that called the hook has finished, before backward()
/// returns, on the thread that called backward(). Callbacks run in the order in which they were queued; not at
/// all if the pass fails. Throws Error when no backward pass is running on this thread.
void queue_callback(std::function<void()> callback);
/// The same for the pass at `depth`, where 1 is the outermost one on this thread and pass_depth() the innermost one.
/// Throws Error on any other depth.
void queue_callback(std::function<void()> callback, std::size_t depth);
/// How many backward passes this thread runs, one inside the other.
std::size_t pass_depth();

}  // namespace tandem::autograd

namespace tandem::autograd {
/// LibTorch's autograd::backward and autograd::grad.
void backward(TensorList tensors, TensorList grad_tensors = {}, optional<bool> retain_graph = nullopt,
              bool create_graph = false, TensorList inputs = {});
std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs = {},
                         optional<bool> retain_graph = nullopt, bool create_graph = false, bool allow_unused = false);
}  // namespace tandem::autograd
