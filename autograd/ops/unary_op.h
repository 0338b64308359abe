// What elementwise operations of one argument share. An operation is a rule:
//
//   struct ExpRule {
//     using Op = ops::Exp;
//     static constexpr const char *name = "exp_", *backward_name = "ExpBackward";
//     static constexpr Saves saves = Saves::kOutput;
//     static Tensor gradient(const Tensor& g, const Tensor& saved) { return g * saved; }
//   };
//
// gradient() is made of differentiable operations and serves create_graph; without it the fused Op::gradient
// runs instead, where there is one. A rule with parameters takes them behind `saved`, as
// std::array<Scalar, 2>.
#pragma once
#include <array>

#include "tandem/autograd/ops/promotion.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/pointwise.h"

namespace tandem::autograd {

enum class Saves { kNothing, kInput, kOutput };
using Parameters = std::array<Scalar, 2>;

/// Whether backends have a fused gradient of Op.
template <class Op>
inline constexpr bool has_fused_gradient = contains<Op, AlgebraicOps> || contains<Op, ExponentialOps> ||
                                           contains<Op, TrigonometricOps> || contains<Op, ActivationOps>;

/// A fused gradient: one pass over g and what the forward saved (one shape). Not recorded.
template <class Op>
Tensor gradient_raw(const Tensor& g, const Tensor& saved, const Scalar* parameters = nullptr) {
  const Tensor same = as_type(g, saved.dtype());
  Tensor out = empty_raw(saved.sizes(), saved.dtype(), saved.device());
  backend(saved).pointwise.gradient.get<Op>()(out, same, saved, parameters);
  return out;
}

template <class Rule>
inline constexpr bool has_parameters = requires(const Tensor& t, const Parameters& p) {
  Rule::gradient(t, t, p);
};
struct NoParameters {
  NoParameters& operator=(const Parameters&) { return *this; }
};

template <class Rule>
struct UnaryNode final : Node {
  const char* name() const override { return Rule::backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = saved.unpack(*this);
    if constexpr (has_fused_gradient<typename Rule::Op>) {
      if (!GradMode::is_enabled()) {
        const Scalar* p = nullptr;
        if constexpr (has_parameters<Rule>) p = parameters.data();
        out[0] = gradient_raw<typename Rule::Op>(g[0], x, p);
        return;
      }
    }
    if constexpr (has_parameters<Rule>)
      out[0] = Rule::gradient(g[0], x, parameters);
    else
      out[0] = Rule::gradient(g[0], x);
  }
  void release() override { saved.release(); }
  SavedTensor saved;
  [[no_unique_address]] std::conditional_t<has_parameters<Rule>, Parameters, NoParameters> parameters;
};

/// Rule of one tensor; the input's dtype is kept.
template <class Rule>
Tensor unary(const Tensor& x, const Parameters& parameters = {}) {
  Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
  backend(x).pointwise.unary.get<typename Rule::Op>()(out, x, parameters.data());
  if (auto* node = record<UnaryNode<Rule>>(out, x)) {
    if constexpr (Rule::saves == Saves::kInput) node->saved.save(x);
    if constexpr (Rule::saves == Saves::kOutput) node->saved.save_output(out);
    node->parameters = parameters;
  }
  return out;
}

/// The same for functions whose values are real: integers are converted to the default dtype.
template <class Rule>
Tensor unary_float(const Tensor& x) {
  return unary<Rule>(as_float(x));
}

template <class Rule>
Tensor& unary_(Tensor& x, const Parameters& parameters = {}) {
  return inplace(
      x, Rule::name, Rule::saves == Saves::kInput ? Before::kClone : Before::kAlias,
      [&] { backend(x).pointwise.unary.get<typename Rule::Op>()(x, x, parameters.data()); },
      [&](const Tensor& before) { return unary<Rule>(before, parameters); });
}

/// For float functions: an integer tensor cannot hold the result.
template <class Rule>
Tensor& unary_float_(Tensor& x) {
  check(x.is_floating_point(), Rule::name, ": the result is floating point, the tensor is ", x);
  return unary_<Rule>(x);
}

}  // namespace tandem::autograd
