// Nodes, saved tensors, and non-recursive destruction.
#include "tandem/autograd/node.h"

#include <atomic>
#include <mutex>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/core/cpu_allocator.h"

namespace tandem {

namespace autograd {
namespace {
// One global counter: a later operation gets a larger number on any thread, also where one thread continues
// another's graph.
std::atomic<uint64_t> next_sequence{0};

// Nodes waiting to be freed on this thread, linked through their `sequence`. It has no destructor, so graphs
// held by static and thread_local objects can still be freed after the thread's own objects are gone.
struct Doomed {
  Node* last = nullptr;
  bool active = false;
};
constinit thread_local Doomed doomed;
}  // namespace

Node::Node() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}
Node::~Node() = default;
void* Node::operator new(std::size_t size) { return cpu::allocate(size); }
void Node::operator delete(void* block, std::size_t size) { cpu::deallocate(block, size); }

void destroy(const Node* node) noexcept {
  static_assert(sizeof(Node*) <= sizeof(Node::sequence));
  Doomed& list = doomed;
  if (list.active) {
    Node* added = const_cast<Node*>(node);
    added->sequence = reinterpret_cast<uintptr_t>(list.last);
    list.last = added;
    return;
  }
  list.active = true;
  delete node;
  while (Node* next = list.last) {
    list.last = reinterpret_cast<Node*>(static_cast<uintptr_t>(next->sequence));
    delete next;
  }
  list.active = false;
}

void run_pre_hooks(const NodeHooks& hooks, uint32_t output_nr, Tensor& grad) {
  if (!grad.defined()) return;
  const auto pre_hooks = hooks.pre;  // a hook may remove itself
  for (const auto& pre : pre_hooks) {
    if (pre.output_nr != output_nr) continue;
    if (Tensor replaced = pre.hook->call(grad); replaced.defined()) {
      check(replaced.sizes() == grad.sizes() && replaced.dtype() == grad.dtype() &&
                replaced.device() == grad.device(),
            "tensor hook: returned gradient ", replaced, ", expected one like ", grad);
      grad = std::move(replaced);
    }
  }
}

void SavedTensor::save(const Tensor& tensor) {
  if (!tensor.defined()) return;
  Edge edge = tensor.requires_grad() ? gradient_edge(tensor) : Edge{};
  const bool leaf = edge.valid() && edge.node->is_accumulate();
  if (!leaf) edge_ = std::move(edge);
  keep(tensor, leaf || !is_differentiable(tensor.dtype()));  // other tensors are never written with history
}

void SavedTensor::save_output(const Tensor& tensor, uint32_t output_nr) {
  is_output_ = true;
  edge_.output_nr = output_nr;
  keep(tensor, false);
}
void SavedTensor::save_output(const Tensor& tensor) {
  save_output(tensor, find_meta(tensor)->grad_fn.output_nr);
}

// Keeps the tensor itself, or an alias without its history.
void SavedTensor::keep(const Tensor& tensor, bool handle) {
  const TensorImpl& impl = *tensor.impl();
  check(!impl.inference, "a tensor created in InferenceMode cannot be saved for backward: ", tensor,
        "; clone() it outside");
  version_ = impl.versions().version();
  tensor_ = handle ? tensor : alias(tensor, impl.sizes, impl.strides, impl.offset);
}

void SavedTensor::release() {
  const std::lock_guard lock(busy_);
  released_ |= tensor_.defined();  // several threads may release
  tensor_.reset();
  edge_.node = NodePtr();
}

namespace {
[[noreturn]] void overwritten(const Tensor& t, uint32_t saved, const Node& owner) {
  std::string operation = owner.name();
  if (const auto at = operation.rfind("Backward"); at != std::string::npos) operation.resize(at);
  const char* writer = t.impl()->versions().writer();
  fail("backward of ", operation, ": a saved tensor was overwritten in place\n  tensor ", t,
       ", saved at version ", saved, ", now at version ", t._version(), "\n  overwritten by ",
       writer != nullptr ? writer : "an in-place operation",
       "\n  use the out-of-place form of that operation, or clone() the tensor first",
       owner.forward_note ? "\n  forward: " + owner.forward_note->call() : std::string());
}
}  // namespace

Tensor SavedTensor::unpack(const Node& owner) const {
  const std::lock_guard lock(busy_);
  if (!tensor_.defined()) {
    check(!released_, owner.name(),
          ": the graph was freed by an earlier backward; pass retain_graph=true to that backward to use the "
          "graph twice");
    return {};
  }
  if (tensor_._version() != version_) overwritten(tensor_, version_, owner);
  if ((!is_output_ && !edge_.valid()) || !GradMode::is_enabled()) return tensor_;
  Tensor out = alias(tensor_, tensor_.sizes(), tensor_.strides(), tensor_.storage_offset());
  set_history(out, is_output_ ? Edge{NodePtr(const_cast<Node*>(&owner)), edge_.output_nr} : edge_);
  return out;
}

}  // namespace autograd
}  // namespace tandem
