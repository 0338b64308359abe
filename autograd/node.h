// A node of the tape: the backward of one recorded operation.
//
// The gradient with respect to output i of the forward comes in as grad_outputs[i]; the node writes the
// gradient with respect to input j to grad_inputs[j] and hands it along next[j].
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tandem/core/fork.h"
#include "tandem/core/small_vector.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

class Node;
using NodePtr = IntrusivePtr<Node>;

/// Where a gradient goes: output number `output_nr` of the operation whose backward is `node`.
struct Edge {
  NodePtr node;
  uint32_t output_nr = 0;
  bool valid() const { return static_cast<bool>(node); }
};

/// What a gradient of one output must look like.
struct OutputInfo {
  Dims sizes;
  ScalarType dtype = ScalarType::Undefined;
  Device device;
};

/// A function of the user, called with a gradient (or, after accumulation, with the leaf). A defined result
/// of a gradient hook replaces the gradient.
struct TensorHook {
  virtual ~TensorHook() = default;
  virtual Tensor call(const Tensor& tensor) = 0;
};

/// Hooks of a node, or of a leaf: rare, so kept apart.
struct NodeHooks {
  struct PreHook {
    uint32_t output_nr;
    unsigned handle;
    std::shared_ptr<TensorHook> hook;
  };
  std::vector<PreHook> pre;
  std::vector<PreHook> post_accumulate;
  /// retain_grad: output number and the place that .grad() reads. Weak: that gradient may have a graph that
  /// leads here.
  std::vector<std::pair<uint32_t, std::weak_ptr<Tensor>>> retained;
};
/// Runs the hooks of output `output_nr` on its gradient; undefined gradients are left alone.
void run_pre_hooks(const NodeHooks& hooks, uint32_t output_nr, Tensor& grad);

class Node : public RefCounted {
 public:
  Node();
  virtual ~Node();
  static void* operator new(std::size_t size);
  static void operator delete(void* block, std::size_t size);

  /// "MulBackward"
  virtual const char* name() const = 0;
  /// An undefined grad_output stands for zeros and is never the only one. An undefined grad_input means zero.
  /// Recording is on only under create_graph, so differentiable operations serve both.
  virtual void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) = 0;
  /// Drops saved tensors: called after backward unless retain_graph.
  virtual void release() {}
  /// True for the end of the tape at a leaf.
  virtual bool is_accumulate() const { return false; }

  /// Whether anybody wants grad_inputs[j].
  bool needs(std::size_t j) const { return next[j].valid(); }

  SmallVector<Edge, 3> next;
  SmallVector<OutputInfo, 1> outputs;
  std::unique_ptr<NodeHooks> hooks;
  std::unique_ptr<std::string> forward_note;  // anomaly mode: the operation and its inputs
  uint64_t sequence;                          // later operations first; see destroy
};
/// Frees a node and what hangs on it without recursion.
void destroy(const Node* node) noexcept;

/// A tensor kept for backward, with the version it had.
///
/// A tensor that may be written with history is kept without its own, and gets that back on unpack: an output
/// of the node itself would be a cycle, and an input becomes one when it, or the base it is a view of, is
/// written in place later. Threads may unpack and release at once.
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(SavedTensor&& other) noexcept  // before the node is shared
      : tensor_(std::move(other.tensor_)),
        edge_(std::move(other.edge_)),
        version_(other.version_),
        is_output_(other.is_output_),
        released_(other.released_) {}
  void save(const Tensor& tensor);
  /// An output of the node that keeps it, number `output_nr`.
  void save_output(const Tensor& tensor, uint32_t output_nr);
  void save_output(const Tensor& tensor);
  /// Throws Error when the tensor was overwritten since, or when it was released already.
  Tensor unpack(const Node& owner) const;
  bool defined() const { return tensor_.defined(); }
  void release();

 private:
  void keep(const Tensor& tensor, bool handle);
  Tensor tensor_;
  Edge edge_;  // of an input that is no leaf; of an output the number alone
  uint32_t version_ = 0;
  bool is_output_ = false, released_ = false;
  mutable tandem::detail::ForkLock busy_;
};

}  // namespace tandem::autograd
