// A tensor's autograd state: leaves, edges, gradients and their sums, hooks, detach.
#include <atomic>
#include <mutex>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/record.h"
#include "tandem/core/memory/kept_weight.h"

namespace tandem {
namespace autograd {

AutogradMeta& meta(const Tensor& t) {
  auto& slot = t.impl()->autograd;
  if (!slot) slot = std::make_unique<AutogradMeta>();
  return static_cast<AutogradMeta&>(*slot);
}

namespace {
Edge accumulator_edge(const Tensor& leaf) {
  AutogradMeta& m = meta(leaf);
  const std::lock_guard lock(m.lock);
  Edge edge;
  if (m.accumulator != nullptr && m.accumulator->try_retain()) {
    edge.function = NodePtr::adopt(m.accumulator);
  } else {
    edge.function = NodePtr(new AccumulateGrad(leaf));
    m.accumulator = edge.function.get();
  }
  return edge;
}
}  // namespace

Edge gradient_edge(const Tensor& t) {
  if (!t.requires_grad()) return {};
  AutogradMeta* m = find_meta(t);
  if (m != nullptr && m->view_base.defined()) {
    const std::lock_guard lock(m->lock);  // several threads may read a view of a base that was written
    if (!t.impl()->tracks_grad || m->grad_fn.valid()) refresh_view(t, *m);
    if (m->grad_fn.valid()) return m->grad_fn;
  } else if (m != nullptr && m->grad_fn.valid()) {
    return m->grad_fn;
  }
  return accumulator_edge(t);
}

namespace {
// retain_grad stays with the tensor when an in-place operation replaces its history.
void move_retained(AutogradMeta& m, const Edge& to) {
  if (Node* old = m.grad_fn.function.get(); old != nullptr && old->hooks)
    std::erase_if(old->hooks->retained, [&](const auto& entry) { return entry.second.lock() == m.retained; });
  if (!to.valid()) return m.retained.reset();
  auto& hooks = to.function->hooks;
  if (!hooks) hooks = std::make_unique<NodeHooks>();
  hooks->retained.emplace_back(to.input_nr, m.retained);
}
}  // namespace

void set_history(const Tensor& t, Edge edge) {
  t.impl()->tracks_grad.store(edge.valid(), std::memory_order_relaxed);
  AutogradMeta& m = meta(t);
  if (m.retained) [[unlikely]]
    move_retained(m, edge);
  m.grad_fn = std::move(edge);
}

namespace detail {
void add_output(Node& node, const Tensor& out) {
  const auto nr = static_cast<uint32_t>(node.outputs.size());
  node.outputs.push_back({Dims(out.sizes()), out.dtype(), out.device()});
  if (is_differentiable(out.dtype())) set_history(out, Edge{NodePtr(&node), nr});
}
}  // namespace detail

namespace {
// Several backward passes may reach the same leaf concurrently.
tandem::detail::ForkMutex& leaf_mutex(const TensorImpl* leaf) {
  static constinit tandem::detail::ForkMutex mutexes[64];
  return mutexes[(reinterpret_cast<uintptr_t>(leaf) >> 7) % 64];
}

bool sole_owner(const Tensor& grad) { return grad.use_count() == 1 && grad.storage()->use_count() == 1; }

// A gradient has the layout of its leaf.
void accumulate(AutogradMeta& m, Tensor&& grad, MemoryFormat format, bool create_graph) {
  if (!m.grad.defined()) {
    if (sole_owner(grad) && grad.is_contiguous(format))
      m.grad = std::move(grad);
    else  // never shared with another leaf or the caller, because gradients are written in place
      m.grad = (create_graph ? grad : grad.detach()).clone(format);
    return;
  }
  check(m.grad.sizes() == grad.sizes(), "backward: .grad() of a leaf has the wrong shape: .grad() is ", m.grad,
        " but the new gradient is ", grad, "; reset it with mutable_grad().reset()");
  if (create_graph) {
    m.grad = m.grad + grad;
  } else {
    m.grad.add_(grad.detach());
  }
}
}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : variable_(leaf) {
  outputs.push_back({Dims(leaf.sizes()), leaf.dtype(), leaf.device()});
}

AccumulateGrad::~AccumulateGrad() {
  AutogradMeta* m = find_meta(variable_);
  if (m == nullptr) return;
  const std::lock_guard lock(m->lock);
  if (m->accumulator == this) m->accumulator = nullptr;
}

void AccumulateGrad::backward(std::span<Tensor> grad_outputs, std::span<Tensor>) {
  Tensor grad = std::move(grad_outputs[0]);
  AutogradMeta& m = meta(variable_);
  if (!variable_.requires_grad()) return;
  std::vector<NodeHooks::PreHook> hooks;
  if (m.leaf_hooks) hooks = m.leaf_hooks->post_accumulate;  // a hook may remove itself
  for (const auto& post : hooks)
    if (auto* const around = dynamic_cast<AccumulationHook*>(post.hook.get())) around->before(variable_);
  {
    std::lock_guard lock(leaf_mutex(variable_.impl()));
    accumulate(m, std::move(grad), variable_.suggest_memory_format(), GradMode::is_enabled());
  }
  for (const auto& post : hooks) post.hook->call(variable_);
}

void add_to_grad(const Tensor& leaf, const Tensor& gradient) {
  AutogradMeta& m = meta(leaf);
  std::lock_guard lock(leaf_mutex(leaf.impl()));
  accumulate(m, Tensor(gradient), leaf.suggest_memory_format(), /*create_graph=*/false);
}

void AccumulateGrad::run_hooks(Tensor& grad) const {
  if (const AutogradMeta* m = find_meta(variable_); m != nullptr && m->leaf_hooks)
    run_pre_hooks(*m->leaf_hooks, 0, grad);
}

namespace {
std::atomic<unsigned> next_handle{1};

NodeHooks& hooks_of(const Tensor& t) {
  const Edge edge = gradient_edge(t);
  auto& slot = edge.function->is_accumulate() ? meta(t).leaf_hooks : edge.function->hooks;
  if (!slot) slot = std::make_unique<NodeHooks>();
  return *slot;
}
}  // namespace

unsigned add_hook(const Tensor& t, std::shared_ptr<TensorHook> hook) {
  check(t.requires_grad(), "register_hook: the tensor does not require a gradient: ", t);
  const unsigned handle = next_handle++;
  const uint32_t nr = gradient_edge(t).input_nr;
  hooks_of(t).pre.push_back({nr, handle, std::move(hook)});
  return handle;
}

unsigned add_post_accumulate_hook(const Tensor& t, std::shared_ptr<TensorHook> hook) {
  check(t.requires_grad() && t.is_leaf(),
        "register_post_accumulate_grad_hook: expected a leaf that requires a gradient, got ", t);
  const unsigned handle = next_handle++;
  hooks_of(t).post_accumulate.push_back({0, handle, std::move(hook)});
  return handle;
}

}  // namespace autograd

using autograd::AutogradMeta;
using autograd::find_meta;
using autograd::meta;

const Tensor& Tensor::requires_grad_(bool value) const {
  if (value == requires_grad()) return *this;
  check(is_leaf(), "you can only change requires_grad flags of leaf variables. This tensor is the result of ",
        grad_fn() ? grad_fn()->label() : "an operation", "; detach() it first");
  check(!value || is_differentiable(dtype()),
        "Only Tensors of floating point and complex dtype can require gradients, got ", *this);
  check(!value || !is_inference() || InferenceMode::is_enabled(),
        "requires_grad_: the tensor was created in InferenceMode; clone() it outside");
  AutogradMeta& m = meta(*this);
  if (value && m.view_base.defined()) {  // avoids a cycle once the base is written from a result of this leaf
    m.view_base.reset();
    get().untracked_view = UntrackedView::kLeaf;
  }
  get().tracks_grad.store(value, std::memory_order_relaxed);
  return *this;
}

bool Tensor::is_leaf() const {
  const TensorImpl& impl = get();
  if (!impl.requires_grad()) return true;
  return autograd::gradient_edge(*this).function->is_accumulate();
}

const Tensor& Tensor::grad() const {
  static constinit tandem::detail::OnFirstUse<const Tensor> none;
  get();
  const auto* m = find_meta(*this);
  if (m == nullptr) return none.get();
  return m->retained ? *m->retained : m->grad;
}
Tensor& Tensor::mutable_grad() const {
  auto& m = meta(*this);
  return m.retained ? *m.retained : m.grad;
}

IntrusivePtr<autograd::Node> Tensor::grad_fn() const {
  if (!requires_grad()) return nullptr;
  auto edge = autograd::gradient_edge(*this);
  return edge.function->is_accumulate() ? nullptr : edge.function;
}
uint32_t Tensor::output_nr() const { return requires_grad() ? autograd::gradient_edge(*this).input_nr : 0; }

void Tensor::backward(const Tensor& gradient, optional<bool> retain_graph, bool create_graph,
                      optional<TensorList> inputs) const {
  autograd::backward({*this}, {gradient}, retain_graph, create_graph, inputs.value_or(TensorList{}));
}

Tensor Tensor::detach() const {
  const TensorImpl& impl = get();
  return tandem::alias(*this, impl.sizes, impl.strides, impl.offset);
}
Tensor Tensor::data() const {
  Tensor out = detach();
  out.impl()->counter = make_storage(0, Device(kCPU, 0));
  tandem::detail::note_unversioned_alias();
  return out;
}
Tensor& Tensor::detach_() const {
  auto* m = find_meta(*this);
  if (m == nullptr) return tandem::detail::mutable_handle(*this);
  check(!m->view_base.defined(), "detach_: the tensor is a view; use detach()");
  autograd::set_history(*this, {});
  return tandem::detail::mutable_handle(*this);
}

void Tensor::set_data(const Tensor& other) const {
  TensorImpl& to = get();
  const TensorImpl& from = *other.impl();
  check(!requires_grad() || is_differentiable(from.dtype), "set_data: a tensor that requires a gradient cannot be ",
        other);
  to.storage = from.storage;
  to.counter = from.counter;
  to.dtype = from.dtype;
  to.offset = from.offset;
  to.sizes = from.sizes;
  to.strides = from.strides;
  to.refresh();
  auto* m = find_meta(*this);
  if (m == nullptr) return;
  // The accumulator describes the old shape; the next use creates a new one.
  const std::lock_guard lock(m->lock);
  m->accumulator = nullptr;
}

void Tensor::retain_grad() const {
  check(requires_grad(), "retain_grad: the tensor does not require a gradient: ", *this);
  if (is_leaf()) return;
  auto& m = meta(*this);
  if (m.retained) return;
  m.retained = std::make_shared<Tensor>();
  const auto edge = autograd::gradient_edge(*this);
  autograd::hooks_of(*this).retained.emplace_back(edge.input_nr, m.retained);
}
bool Tensor::retains_grad() const {
  const auto* m = find_meta(*this);
  return m != nullptr && m->retained != nullptr;
}

void Tensor::remove_hook(unsigned handle) const {
  auto* m = find_meta(*this);
  if (m == nullptr) return;
  const auto same = [handle](const auto& h) { return h.handle == handle; };
  if (m->leaf_hooks) {
    std::erase_if(m->leaf_hooks->pre, same);
    std::erase_if(m->leaf_hooks->post_accumulate, same);
  }
  if (const auto node = grad_fn(); node && node->hooks) std::erase_if(node->hooks->pre, same);
}

bool Tensor::is_view() const {
  const auto* m = find_meta(*this);
  return m != nullptr && m->view_base.defined();
}
Tensor Tensor::_base() const { return is_view() ? find_meta(*this)->view_base : Tensor(); }

}  // namespace tandem
