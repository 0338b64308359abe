// What elementwise operations of one argument share. An operation is a rule:
//
//   struct ExpRule {
//     using Op = ops::Exp;
//     static constexpr const char* name = "exp", *backward_name = "ExpBackward";
//     static constexpr Saves saves = Saves::kOutput;
//     static Tensor gradient(const Tensor& g, const Tensor& saved) { return g * saved; }
//   };
#pragma once
#include "tandem/autograd/ops/promotion.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem::autograd {

enum class Saves { kNothing, kInput, kOutput };

template <class Rule>
struct UnaryNode final : Node {
  const char* name() const override { return Rule::backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = Rule::gradient(g[0], saved.unpack(*this));
  }
  void release() override { saved.release(); }
  SavedTensor saved;
};

/// A fused gradient: one pass over g and what the forward saved (one shape). Not recorded.
template <class Op>
Tensor gradient_raw(const Tensor& g, const Tensor& saved, const Scalar* parameters = nullptr) {
  const Tensor same = as_type(g, saved.dtype());
  Tensor out = empty_raw(saved.sizes(), saved.dtype(), saved.device());
  backend(saved).pointwise.gradient.get<Op>()(out, same, saved, parameters);
  return out;
}

/// Rule of one tensor; the input's dtype is kept.
template <class Rule>
Tensor unary(const Tensor& x) {
  Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
  backend(x).pointwise.unary.get<typename Rule::Op>()(out, x, nullptr);
  if (auto* node = record<UnaryNode<Rule>>(out, x)) {
    if constexpr (Rule::saves == Saves::kInput) node->saved.save(x);
    if constexpr (Rule::saves == Saves::kOutput) node->saved.save_output(out);
  }
  return out;
}

/// The same for functions whose values are real: integers are converted to the default dtype.
template <class Rule>
Tensor unary_float(const Tensor& x) {
  return unary<Rule>(as_float(x));
}

template <class Rule>
Tensor& unary_(Tensor& x) {
  return inplace(
      x, Rule::name, Rule::saves == Saves::kInput ? Before::kClone : Before::kAlias,
      [&] { backend(x).pointwise.unary.get<typename Rule::Op>()(x, x, nullptr); },
      [](const Tensor& before) { return unary<Rule>(before); });
}

/// For float functions: an integer tensor cannot hold the result.
template <class Rule>
Tensor& unary_float_(Tensor& x) {
  check(x.is_floating_point(), Rule::name, "_: the result is floating point, the tensor is ", x);
  return unary_<Rule>(x);
}

}  // namespace tandem::autograd
