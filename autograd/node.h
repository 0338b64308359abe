// A node of the tape: the backward of one recorded operation.
//
// The gradient with respect to output i of the forward arrives as grad_outputs[i]. The node writes the
// gradient with respect to input j to grad_inputs[j], which is passed along next[j].
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/core/base/small_vector.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

class Node;
struct ForwardNote;      // anomaly_mode.h
class SavedTensorHooks;  // saved_tensor_hooks.h
using NodePtr = IntrusivePtr<Node>;

/// The destination of a gradient: gradient number `input_nr` of those that `function` takes. So it belongs to output
/// number `input_nr` of the operation that has `function` as its backward.
struct Edge {
  NodePtr function;
  uint32_t input_nr = 0;
  /// False where no gradient is needed.
  bool valid() const { return static_cast<bool>(function); }
  bool is_valid() const { return valid(); }
  friend bool operator==(const Edge& a, const Edge& b) = default;
};

/// The required properties of the gradient of one output.
struct OutputInfo {
  Dims sizes;
  ScalarType dtype = ScalarType::Undefined;
  Device device;
  /// Makes gradient number `index` of the node `from` match, by sums over broadcast dimensions and conversions. Throws
  /// Error for other shapes and for another device.
  void validate(Tensor& grad, const char* from, std::size_t index) const;
};

/// A user function, called with a gradient (or, after accumulation, with the leaf). If a gradient hook
/// returns a defined tensor, it replaces the gradient.
struct TensorHook {
  virtual ~TensorHook() = default;
  virtual Tensor call(const Tensor& tensor) = 0;
};

/// Hooks of a node or of a leaf. Stored separately because they are rare.
struct NodeHooks {
  struct PreHook {
    uint32_t output_nr;
    unsigned handle;
    std::shared_ptr<TensorHook> hook;
  };
  std::vector<PreHook> pre;
  std::vector<PreHook> post_accumulate;
  /// retain_grad: output number and the slot that .grad() reads. Weak, because that gradient may have a graph
  /// that leads back here.
  std::vector<std::pair<uint32_t, std::weak_ptr<Tensor>>> retained;
};
/// Runs the hooks of output `output_nr` on its gradient; undefined gradients are left unchanged.
void run_pre_hooks(const NodeHooks& hooks, uint32_t output_nr, Tensor& grad);

class Node : public RefCounted {
 public:
  Node();
  virtual ~Node();
  static void* operator new(std::size_t size);
  static void operator delete(void* block, std::size_t size);

  /// Name such as "MulBackward".
  virtual const char* label() const = 0;
  std::string name() const { return label(); }
  /// An undefined grad_output stands for zeros; at least one is defined. An undefined grad_input means zero.
  /// Recording is enabled only under create_graph, so the same differentiable operations serve both cases.
  virtual void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) = 0;
  /// Drops saved tensors. Called after backward unless retain_graph is set.
  virtual void release() {}
  /// True for the end of the tape at a leaf.
  virtual bool is_accumulate() const { return false; }

  /// Appends where the gradient of the next input goes, and keeps `sequence` larger than the edge's: gradient_edge may
  /// have created its node after this one.
  void add_next(Edge edge) {
    if (edge.valid() && edge.function->sequence > sequence) renumber();
    next.push_back(std::move(edge));
  }
  /// Whether grad_inputs[j] is needed.
  bool needs(std::size_t j) const { return next[j].valid(); }
  /// Where the gradients go, one edge for each input of the operation.
  std::vector<Edge> next_edges() const { return {next.begin(), next.end()}; }
  /// Throws Error if there is no input number `index`.
  const Edge& next_edge(std::size_t index) const;
  uint32_t num_inputs() const { return static_cast<uint32_t>(outputs.size()); }
  uint32_t num_outputs() const { return static_cast<uint32_t>(next.size()); }

  SmallVector<Edge, 3> next;
  SmallVector<OutputInfo, 1> outputs;
  std::unique_ptr<NodeHooks> hooks;
  std::unique_ptr<ForwardNote> forward_note;  // anomaly mode
  uint64_t sequence;                          // larger than that of every node in `next`; see destroy

 private:
  void renumber();
};
/// Frees a node, and the nodes that only it keeps alive, without recursion.
void destroy(const Node* node) noexcept;

/// The name of a class without namespaces and template arguments, and a '\0'. The compilers spell the function
/// "… [with Class = tandem::…::MulBackward]" and "… [Class = MulBackward]".
template <class Class>
constexpr auto class_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::size_t equals = text.find(" = ") + 1, end = text.find_first_of("<]", equals),
                        begin = std::max(text.rfind(':', end), equals + 1) + 1;
  std::array<char, end - begin + 1> name{};
  text.copy(name.data(), end - begin, begin);
  return name;
}
/// A node with the name of its class: `struct MulBackward final : NamedNode<MulBackward>`.
template <class Derived, class Base = Node>
struct NamedNode : Base {
  const char* label() const override {
    static constexpr auto name = class_name<Derived>();
    return name.data();
  }
};

/// Runs node.backward. If it throws, or if it returns NaN (where AnomalyMode asks for this check), prints where the
/// node was recorded and throws.
void backward_in_anomaly_mode(Node& node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs);

/// The value that the hooks of saved_tensor_hooks.h returned for a saved tensor.
struct PackedTensor : RefCounted {
  PackedTensor(std::shared_ptr<SavedTensorHooks> hooks, const Tensor& tensor);
  /// Throws Error if the hooks return a tensor that differs in shape, dtype or device.
  Tensor unpack(const Node& owner) const;

  std::shared_ptr<SavedTensorHooks> hooks;
  std::shared_ptr<void> packed;
  Dims sizes;
  ScalarType dtype;
  Device device;
};
void destroy(const PackedTensor* packed) noexcept;

/// A tensor kept for backward, with its version at that time.
///
/// A tensor that may be written with history is kept without its history, which is restored on unpack: an
/// output of the node itself would form a cycle, and an input would form one if it, or the base it is a view
/// of, were written in place later. Threads may unpack and release concurrently. With hooks (saved_tensor_hooks.h) it
/// keeps what they return.
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(SavedTensor&& other) noexcept  // before the node is shared
      : tensor_(std::move(other.tensor_)),
        packed_(std::move(other.packed_)),
        edge_(std::move(other.edge_)),
        version_(other.version_),
        is_output_(other.is_output_),
        released_(other.released_) {}
  void save(const Tensor& tensor);
  /// Saves output number `output_nr` of the node that keeps it.
  void save_output(const Tensor& tensor, uint32_t output_nr);
  void save_output(const Tensor& tensor);
  /// Throws Error when the tensor was overwritten since it was saved, was already released,
  /// or when hooks return another one.
  Tensor unpack(const Node& owner) const;
  bool defined() const { return tensor_.defined() || packed_; }
  void release();

 private:
  void keep(const Tensor& tensor, bool handle, bool leaf);
  Tensor with_history(const Tensor& tensor, const Node& owner) const;
  Tensor tensor_;
  IntrusivePtr<PackedTensor> packed_;
  Edge edge_;  // history of a non-leaf input; for an output only the number
  uint32_t version_ = 0;
  bool is_output_ = false, released_ = false;
  mutable tandem::detail::ForkLock busy_;
};

template <class... Saved>
void release_all(Saved&... tensors) {
  (tensors.release(), ...);
}
/// The saved tensors of a node as its members, which release() drops: `TANDEM_SAVED(input, weight);`
#define TANDEM_SAVED(...)                                                   \
  void release() override { ::tandem::autograd::release_all(__VA_ARGS__); } \
  ::tandem::autograd::SavedTensor __VA_ARGS__

}  // namespace tandem::autograd
