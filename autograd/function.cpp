// Custom functions: their graph node, the recording of their outputs, and their names for messages.
#include "tandem/autograd/function.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/tasks.h"
#include "tandem/core/base/demangle.h"
#include "tandem/core/base/fork.h"

namespace tandem {
namespace autograd {

class CustomNode final : public Node {
 public:
  CustomNode(const detail::CustomFunction& function, ArrayRef<const Tensor*> arguments) : function_(function) {
    for (const Tensor* argument : arguments) is_tensor_.push_back(argument != nullptr);
    context.node_ = this;
  }
  const char* label() const override { return function_.backward_name(); }
  void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  void release() override {
    freed_.store(true, std::memory_order_relaxed);
    for (SavedTensor& tensor : saved_) tensor.release();
  }
  void finish(variable_list& outs, const variable_list& inputs, bool recorded);
  void bump_dirty() const;
  void drop_marks();
  variable_list unpack() const;

  AutogradContext context;

 private:
  void check_dirty(const variable_list& outs, bool recorded) const;
  Tensor without_history(const Tensor& out, bool is_input) const;
  Tensor attach(const Tensor& out, bool is_input);
  void save(const variable_list& outs);

  const detail::CustomFunction& function_;
  std::vector<bool> is_tensor_;  // one entry per argument of forward
  std::vector<SavedTensor> saved_;
  std::atomic<bool> freed_{false};
  tandem::detail::ForkMutex mutex_;  // held during backward: one thread at a time
};

namespace {
bool contains(const variable_list& list, const Tensor& t) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& x) { return x.is_same(t); });
}
}  // namespace

void CustomNode::backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) {
  std::lock_guard lock(mutex_);
  variable_list grads(std::make_move_iterator(grad_outputs.begin()), std::make_move_iterator(grad_outputs.end()));
  for (std::size_t i = 0; context.materialize_grads_ && i < grads.size(); ++i)
    if (const OutputInfo& info = outputs[i]; !grads[i].defined() && info.dtype != ScalarType::Undefined)
      grads[i] = zeros(info.sizes, dtype(info.dtype).device(optional<Device>(info.device)));
  const variable_list given = function_.backward(&context, std::move(grads));
  std::size_t count = given.size();
  while (count > is_tensor_.size() && !given[count - 1].defined()) --count;
  check(count == is_tensor_.size(), function_.name(), ": backward returned ", given.size(),
        " gradients, but forward has ", is_tensor_.size(), " arguments");
  std::size_t edge = 0;
  for (std::size_t i = 0; i < is_tensor_.size(); ++i) {
    if (!is_tensor_[i])
      check(!given[i].defined(), function_.name(), ": backward returned a gradient for argument ", i,
            ", which is not a Tensor: return Tensor() for it");
    else if (const std::size_t j = edge++; needs(j))
      grad_inputs[j] = given[i];
  }
}

void CustomNode::check_dirty(const variable_list& outs, bool recorded) const {
  for (const Tensor& t : context.dirty_) {
    check(contains(outs, t), function_.name(), ": a tensor marked dirty is not an output: ", t);
    if (!recorded || !t.requires_grad()) continue;
    check(!t.is_leaf(), function_.name(), ": a leaf Variable that requires grad is written in place by forward: ", t);
    const AutogradMeta* m = find_meta(t);
    check(m == nullptr || !m->view_base.defined() || !m->view_base.requires_grad() || !m->view_base.is_leaf(),
          function_.name(), ": a view of a leaf Variable that requires grad is written in place by forward: ", t);
  }
}

// The tensor that the caller receives for an output without gradient. An input is not returned itself: it may have a
// history, and writes to the output would be writes to it.
Tensor CustomNode::without_history(const Tensor& out, bool is_input) const {
  if (!out.defined()) return out;
  if (out.requires_grad()) return out.detach();
  if (!is_input || contains(context.dirty_, out)) return out;
  Tensor result = out.detach();
  result.impl()->untracked_view = UntrackedView::kCustomFunction;
  return result;
}

// Records `out` as output number outputs.size() and returns the tensor that the caller receives.
Tensor CustomNode::attach(const Tensor& out, bool is_input) {
  const Edge edge{NodePtr(this), static_cast<uint32_t>(outputs.size())};
  if (!out.defined()) {
    outputs.emplace_back();
    return out;
  }
  outputs.push_back({Dims(out.sizes()), out.dtype(), out.device()});
  const bool differentiable = is_differentiable(out.dtype()) && !contains(context.non_differentiable_, out);
  if (!differentiable) return without_history(out, is_input);
  Tensor result = out;
  if (contains(context.dirty_, out)) {
    rebase_history(result, edge);
    return result;
  }
  if (is_input || out.requires_grad()) {
    // The input's history would not include a write.
    result = out.detach();
    result.impl()->untracked_view = UntrackedView::kCustomFunction;
  }
  if (auto& untracked = result.impl()->untracked_view; untracked != UntrackedView::kNo)
    untracked = UntrackedView::kCustomFunction;
  set_history(result, edge);
  return result;
}

// Outputs of this node are saved without their history, which would be a reference cycle. This includes a view
// that was written: its history leads back here through its base.
void CustomNode::save(const variable_list& outs) {
  saved_.resize(context.to_save_.size());
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    const Tensor& t = context.to_save_[i];
    if (!t.defined()) continue;
    const auto out = std::find_if(outs.begin(), outs.end(), [&](const Tensor& o) { return o.is_same(t); });
    if (out == outs.end() || !t.requires_grad())
      saved_[i].save(t);
    else
      saved_[i].save_output(t, static_cast<uint32_t>(out - outs.begin()));
  }
}

void CustomNode::finish(variable_list& outs, const variable_list& inputs, bool recorded) {
  check_dirty(outs, recorded);
  bump_dirty();
  for (Tensor& out : outs) {
    const bool is_input = contains(inputs, out);
    out = recorded ? attach(out, is_input) : without_history(out, is_input);
  }
  if (recorded) save(outs);
}

void CustomNode::bump_dirty() const {
  for (const Tensor& t : context.dirty_) wrote(t, function_.name());
}

void CustomNode::drop_marks() {
  context.to_save_.clear();
  context.dirty_.clear();
  context.non_differentiable_.clear();
}

variable_list CustomNode::unpack() const {
  check(!freed_.load(std::memory_order_relaxed), name(),
        ": the graph was freed by an earlier backward; pass retain_graph=true to that backward to use the "
        "graph twice");
  variable_list out;
  for (const SavedTensor& tensor : saved_) out.push_back(tensor.unpack(*this));
  return out;
}

variable_list AutogradContext::get_saved_variables() const { return node_->unpack(); }
bool AutogradContext::needs_input_grad(std::size_t index) const {
  return index < node_->next.size() && node_->needs(index) && pass_wants(node_->next[index].function.get());
}
bool AutogradContext::needs_input_grad(std::initializer_list<IndexRange> ranges) const {
  for (const auto& [first, last] : ranges)
    for (std::size_t i = first; i < last && i < node_->next.size(); ++i)
      if (needs_input_grad(i)) return true;
  return false;
}

namespace {
std::unordered_set<TensorImpl*> impls_of(const variable_list& list) {
  std::unordered_set<TensorImpl*> out;
  for (const Tensor& t : list)
    if (t.defined()) out.insert(t.impl());
  return out;
}
}  // namespace

std::unordered_set<TensorImpl*> AutogradContext::get_and_bump_dirty() const {
  node_->bump_dirty();
  return impls_of(dirty_);
}
std::unordered_set<TensorImpl*> AutogradContext::get_non_differentiable() const {
  return impls_of(non_differentiable_);
}

namespace detail {
namespace {
struct Names {
  Names() = default;
  Names(const Names&) {}  // starts empty in a forked child; the parent's names are never freed
  std::mutex mutex;
  std::set<std::string> texts;
};
constinit tandem::detail::PerProcess<Names> all_names;

// Shortens "a::(anonymous namespace)::F<b::C>" to "F<b::C>" and appends `suffix`. The text is never freed.
const char* short_name(const std::type_info& type, const char* suffix) {
  const std::string name = tandem::detail::demangle(type.name());
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (depth == 0 && name[i] == ':' && name[i + 1] == ':') begin = i + 2;
  }
  Names& names = all_names.get();
  const std::lock_guard lock(names.mutex);
  return names.texts.insert(name.substr(begin) + suffix).first->c_str();
}
}  // namespace

const char* CustomFunction::name() const {
  const char* text = name_.load(std::memory_order_acquire);
  if (text == nullptr) name_.store(text = short_name(*type, ""), std::memory_order_release);
  return text;
}
const char* CustomFunction::backward_name() const {
  const char* text = backward_name_.load(std::memory_order_acquire);
  if (text == nullptr) backward_name_.store(text = short_name(*type, "Backward"), std::memory_order_release);
  return text;
}

CustomCall::CustomCall(const CustomFunction& function, ArrayRef<const Tensor*> arguments) {
  for (const Tensor* argument : arguments)
    if (argument != nullptr) inputs_.push_back(*argument);
  recorded_ = GradMode::is_enabled() && requires_grad_any(inputs_);
  node_ = IntrusivePtr(new CustomNode(function, arguments));
  for (const Tensor& input : inputs_) node_->add_next(recorded_ && input.defined() ? gradient_edge(input) : Edge{});
  if (recorded_ && AnomalyMode::is_enabled()) note_forward(*node_, inputs_);
}
CustomCall::~CustomCall() { node_->drop_marks(); }
AutogradContext* CustomCall::context() { return &node_->context; }
void CustomCall::finish(variable_list& outputs) { node_->finish(outputs, inputs_, recorded_); }

}  // namespace detail
}  // namespace autograd
}  // namespace tandem
