// Nodes, saved tensors, and non-recursive destruction.
#include "tandem/autograd/node.h"

#include <atomic>
#include <mutex>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/reduce/sum_to.h"
#include "tandem/autograd/saved_tensor_hooks.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/memory/released_memory.h"

namespace tandem {

namespace autograd {
namespace {
// One global counter: a later operation gets a larger number on any thread, also where one thread continues
// another's graph.
std::atomic<uint64_t> next_sequence{0};

// Nodes waiting to be freed on this thread, linked through their `sequence`. It has no destructor, so graphs
// held by static and thread_local objects can still be freed after the thread's own objects are gone.
struct NodesToFree {
  Node* last = nullptr;
  bool active = false;
};
constinit thread_local NodesToFree nodes_to_free;
}  // namespace

Node::Node() { renumber(); }
void Node::renumber() { sequence = next_sequence.fetch_add(1, std::memory_order_relaxed); }
Node::~Node() = default;
void* Node::operator new(std::size_t size) { return cpu::allocate(size); }
void Node::operator delete(void* block, std::size_t size) { cpu::deallocate(block, size); }

void destroy(const Node* node) noexcept {
  static_assert(sizeof(Node*) <= sizeof(Node::sequence));
  NodesToFree& list = nodes_to_free;
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

void OutputInfo::validate(Tensor& grad, const char* from, std::size_t index) const {
  if (!grad.defined()) return;
  if (grad.sizes() != IntArrayRef(sizes)) {
    check(tandem::detail::broadcasts(sizes, grad.sizes()), from, ": returned an invalid gradient at index ", index,
          ": got ", grad, " but expected shape compatible with ", sizes);
    grad = sum_to_size(grad, sizes, from);
  }
  if (grad.is_complex() && !is_complex(dtype)) grad = real(grad);
  if (grad.dtype() != dtype) grad = grad.to(dtype);
  // A 0-dim tensor may be combined with tensors on another device.
  if (grad.device() != device && grad.dim() == 0) grad = grad.to(device);
  check(grad.device() == device, from, ": returned a gradient on ", grad.device(), " for a tensor on ", device);
}

const Edge& Node::next_edge(std::size_t index) const {
  check_index(index < next.size(), label(), " has ", next.size(), " inputs, there is no input ", index);
  return next[index];
}

void run_pre_hooks(const NodeHooks& hooks, uint32_t output_nr, Tensor& grad) {
  if (!grad.defined()) return;
  const auto pre_hooks = hooks.pre;  // a hook may remove itself
  for (const auto& pre : pre_hooks) {
    if (pre.output_nr != output_nr) continue;
    if (Tensor replaced = pre.hook->call(grad); replaced.defined()) {
      check(replaced.sizes() == grad.sizes() && replaced.dtype() == grad.dtype() && replaced.device() == grad.device(),
            "tensor hook: returned gradient ", replaced, ", expected one like ", grad);
      grad = std::move(replaced);
    }
  }
}

PackedTensor::PackedTensor(std::shared_ptr<SavedTensorHooks> h, const Tensor& t)
    : hooks(std::move(h)), packed(hooks->pack(t)), sizes(t.sizes()), dtype(t.dtype()), device(t.device()) {}

Tensor PackedTensor::unpack(const Node& owner) const {
  const NoGradGuard no_grad;
  Tensor t = hooks->unpack(packed);
  check(t.defined() && t.sizes() == IntArrayRef(sizes) && t.dtype() == dtype && t.device() == device, "backward of ",
        owner.label(), ": the hooks of saved tensors returned ", t, ", expected ", dtype, " of ", IntArrayRef(sizes),
        " on ", device);
  return t;
}

void destroy(const PackedTensor* packed) noexcept { delete packed; }

namespace {
[[gnu::tls_model("initial-exec")]] constinit thread_local const std::shared_ptr<SavedTensorHooks>* saved_tensor_hooks =
    nullptr;

struct SaveOnCpu final : SavedTensorHooks {
  struct Kept {
    Tensor tensor;
    Device device;
    int64_t version;  // of the tensor, which is the original if that is on the CPU
  };
  std::shared_ptr<void> pack(const Tensor& t) override {
    const Tensor kept = t.to(kCPU);
    return std::make_shared<Kept>(Kept{kept, t.device(), kept._version()});
  }
  Tensor unpack(const std::shared_ptr<void>& packed) override {
    const auto& kept = *static_cast<const Kept*>(packed.get());
    check(kept.tensor._version() == kept.version, "save_on_cpu: a saved tensor was overwritten in place\n  tensor ",
          kept.tensor);
    return kept.tensor.to(kept.device);
  }
};
}  // namespace

SavedTensorHooksGuard::SavedTensorHooksGuard(std::shared_ptr<SavedTensorHooks> hooks)
    : hooks_(std::move(hooks)), previous_(std::exchange(saved_tensor_hooks, hooks_ ? &hooks_ : nullptr)) {}
SavedTensorHooksGuard::~SavedTensorHooksGuard() { saved_tensor_hooks = previous_; }

bool saves_through_hooks() { return saved_tensor_hooks != nullptr; }

std::shared_ptr<SavedTensorHooks> save_on_cpu() { return std::make_shared<SaveOnCpu>(); }

void SavedTensor::save(const Tensor& tensor) {
  if (!tensor.defined()) return;
  Edge edge = tensor.requires_grad() ? gradient_edge(tensor) : Edge{};
  const bool leaf = edge.valid() && edge.function->is_accumulate();
  if (!leaf) edge_ = std::move(edge);
  // Leaves, and tensors without gradients, are never written with history.
  keep(tensor, leaf || !is_differentiable(tensor.dtype()), leaf);
}

void SavedTensor::save_output(const Tensor& tensor, uint32_t output_nr) {
  is_output_ = true;
  edge_.input_nr = output_nr;
  keep(tensor, false, false);
}
void SavedTensor::save_output(const Tensor& tensor) { save_output(tensor, find_meta(tensor)->grad_fn.input_nr); }

// Keeps the tensor itself, or an alias without its history.
void SavedTensor::keep(const Tensor& tensor, bool handle, bool leaf) {
  const TensorImpl& impl = *tensor.impl();
  check(!impl.inference, "a tensor created in InferenceMode cannot be saved for backward: ", tensor,
        "; clone() it outside");
  version_ = impl.versions().version();
  Tensor kept = handle ? tensor : alias(tensor, impl.sizes, impl.strides, impl.offset);
  if (saved_tensor_hooks != nullptr && !leaf) [[unlikely]] {
    const std::shared_ptr<SavedTensorHooks> hooks = *saved_tensor_hooks;
    const NoGradGuard no_grad;
    const SavedTensorHooksGuard none(nullptr);  // for operations of pack()
    packed_ = IntrusivePtr<PackedTensor>(new PackedTensor(hooks, kept));
  } else {
    tensor_ = std::move(kept);
  }
}

void SavedTensor::release() {
  const std::lock_guard lock(busy_);
  released_ |= defined();  // several threads may release
  tensor_.reset();
  packed_ = IntrusivePtr<PackedTensor>();
  edge_.function = NodePtr();
}

namespace {
[[noreturn]] void overwritten(const Tensor& t, uint32_t saved, const Node& owner) {
  std::string operation = owner.label();
  if (const auto at = operation.rfind("Backward"); at != std::string::npos) operation.resize(at);
  const char* writer = t.impl()->versions().writer();
  fail("backward of ", operation, ": a saved tensor was overwritten in place\n  tensor ", t, ", saved at version ",
       saved, ", now at version ", t._version(), "\n  overwritten by ",
       writer != nullptr ? writer : "an in-place operation",
       "\n  use the out-of-place form of that operation, or clone() the tensor first",
       owner.forward_note ? "\n  forward: " + owner.forward_note->call() : std::string());
}
}  // namespace

Tensor SavedTensor::with_history(const Tensor& tensor, const Node& owner) const {
  if ((!is_output_ && !edge_.valid()) || !GradMode::is_enabled()) return tensor;
  Tensor out = alias(tensor, tensor.sizes(), tensor.strides(), tensor.storage_offset());
  set_history(out, is_output_ ? Edge{NodePtr(const_cast<Node*>(&owner)), edge_.input_nr} : edge_);
  return out;
}

Tensor SavedTensor::unpack(const Node& owner) const {
  std::unique_lock lock(busy_);
  if (packed_) {
    const IntrusivePtr<PackedTensor> packed = packed_;
    lock.unlock();  // hooks may take their time, and unpack others
    const Tensor tensor = packed->unpack(owner);
    // Hooks may have kept the tensor itself.
    if (tandem::detail::is_released(*tensor.storage())) [[unlikely]]
      tandem::detail::restore_values(*tensor.storage());
    tandem::detail::follow_storage(*tensor.impl());
    lock.lock();
    return with_history(tensor, owner);
  }
  if (!tensor_.defined()) {
    check(!released_, owner.label(),
          ": the graph was freed by an earlier backward; pass retain_graph=true to that backward to use the "
          "graph twice");
    return {};
  }
  if (const Storage& storage = tensor_.storage(); tandem::detail::is_released(*storage)) [[unlikely]] {
    const Storage held = storage;
    lock.unlock();  // other processes may have to take part
    tandem::detail::restore_values(*held);
    lock.lock();
    check(tensor_.defined(), owner.label(), ": the graph was freed meanwhile");
  }
  tandem::detail::follow_storage(*tensor_.impl());
  if (tensor_._version() != version_) overwritten(tensor_, version_, owner);
  return with_history(tensor_, owner);
}

}  // namespace autograd
}  // namespace tandem
