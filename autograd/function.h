// Custom differentiable functions, like LibTorch's torch::autograd::Function:
//
//   struct Square : autograd::Function<Square> {
//     static Tensor forward(AutogradContext* ctx, const Tensor& x) {
//       ctx->save_for_backward({x});
//       return x * x;
//     }
//     static variable_list backward(AutogradContext* ctx, variable_list grads) {
//       return {2 * ctx->get_saved_variables()[0] * grads[0]};
//     }
//   };
//   Tensor y = Square::apply(x);
//
// forward takes any arguments after the context, returns a Tensor or a variable_list and runs without
// recording. backward takes one gradient per output and returns one per argument of forward, undefined if
// there is none (always for an argument that is not a Tensor); each tensor of a TensorList counts as one
// argument. A backward composed of differentiable operations can be differentiated again. The same function may
// run on several threads at once; backward of one call runs on one thread at a time.
#pragma once
#include <atomic>
#include <initializer_list>
#include <map>
#include <type_traits>
#include <typeinfo>
#include <unordered_set>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ivalue.h"
#include "tandem/core/base/intrusive_ptr.h"
#include "tandem/core/base/small_vector.h"

namespace tandem::autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;
/// Numbers of inputs, from `first` up to but without `second`.
using IndexRange = std::pair<std::size_t, std::size_t>;
class CustomNode;

/// State that forward passes to backward.
class AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Saves inputs, outputs or other tensors and replaces the ones from an earlier call. Call it in forward only.
  void save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
  /// The saved tensors, in backward. Throws Error if one was overwritten since, or if the graph was freed.
  variable_list get_saved_variables() const;
  /// Values that are not tensors of the graph.
  std::map<std::string, IValue> saved_data;

  /// Marks inputs that forward writes in place; each must also be an output. Call it in forward only.
  void mark_dirty(variable_list inputs) { dirty_ = std::move(inputs); }
  /// Marks outputs that have no gradient (integer outputs never have one). Call it in forward only.
  void mark_non_differentiable(variable_list outputs) { non_differentiable_ = std::move(outputs); }
  /// Whether backward receives zeros (the default) or undefined tensors for unused outputs.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  /// Whether the gradient of Tensor argument number `index` is needed, in backward by the current pass. Only
  /// Tensor arguments and the tensors of a TensorList are counted; an optional<Tensor> without a defined tensor is
  /// not.
  bool needs_input_grad(std::size_t index) const;
  /// Whether one of these gradients is needed.
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;

  /// The tensors marked dirty. Increments their versions, which apply also does after forward. Call it in forward only.
  std::unordered_set<TensorImpl*> get_and_bump_dirty() const;
  /// The tensors marked as not differentiable. Call it in forward only.
  std::unordered_set<TensorImpl*> get_non_differentiable() const;

 private:
  friend class CustomNode;
  CustomNode* node_ = nullptr;
  variable_list to_save_, dirty_, non_differentiable_;
  bool materialize_grads_ = true;
};

namespace detail {
using BackwardFunction = variable_list (*)(AutogradContext* ctx, variable_list grads);

/// Description of a custom function, a constant in the shared library that defines it. Unloading the library
/// leaves nothing behind.
struct CustomFunction {
  constexpr CustomFunction(const std::type_info& type_, BackwardFunction backward_)
      : type(&type_), backward(backward_) {}
  /// "Square"
  const char* name() const;
  /// "SquareBackward"
  const char* backward_name() const;

  const std::type_info* type;
  BackwardFunction backward;

 private:
  mutable std::atomic<const char*> name_{nullptr}, backward_name_{nullptr};
};

/// One call of apply.
class CustomCall {
 public:
  /// `arguments`: the arguments of forward, nullptr for one that is not a Tensor.
  CustomCall(const CustomFunction& function, ArrayRef<const Tensor*> arguments);
  ~CustomCall();
  CustomCall(const CustomCall&) = delete;
  CustomCall& operator=(const CustomCall&) = delete;
  AutogradContext* context();
  /// Records the outputs, if an input requires a gradient. An input that forward returned unmodified becomes a separate
  /// tensor in any case.
  void finish(variable_list& outputs);

 private:
  IntrusivePtr<CustomNode> node_;
  variable_list inputs_;
  bool recorded_ = false;
};

template <class T>
const Tensor* as_tensor(const T& argument) {
  if constexpr (std::is_same_v<T, Tensor>)
    return &argument;
  else if constexpr (std::is_same_v<T, optional<Tensor>>)
    return argument && argument->defined() ? &*argument : nullptr;
  else
    return nullptr;
}
template <class T>
void add_argument(SmallVector<const Tensor*, 8>& list, const T& argument) {
  if constexpr (std::is_same_v<T, TensorList>)
    for (const Tensor& t : argument) list.push_back(&t);
  else
    list.push_back(as_tensor(argument));
}
}  // namespace detail

template <class F>
struct Function {
  /// A mark for LibTorch's compiled autograd, which has no effect.
  static constexpr bool is_traceable = false;
  /// Runs F::forward(ctx, arguments…) and records F::backward when a Tensor argument requires a gradient.
  template <class... Args>
  static auto apply(Args&&... arguments) {
    SmallVector<const Tensor*, 8> tensors;
    (detail::add_argument(tensors, arguments), ...);
    constexpr auto backward = [](AutogradContext* ctx, variable_list grads) -> variable_list {
      return F::backward(ctx, std::move(grads));
    };
    static constinit const detail::CustomFunction function(typeid(F), backward);
    detail::CustomCall call(function, {tensors.data(), tensors.size()});
    auto result = [&] {
      AutoGradMode unrecorded(false);
      return F::forward(call.context(), std::forward<Args>(arguments)...);
    }();
    if constexpr (std::is_same_v<decltype(result), Tensor>) {
      variable_list outputs{std::move(result)};
      call.finish(outputs);
      return std::move(outputs[0]);
    } else {
      static_assert(std::is_same_v<decltype(result), variable_list>, "forward must return a Tensor or a variable_list");
      call.finish(result);
      return result;
    }
  }
};

}  // namespace tandem::autograd
