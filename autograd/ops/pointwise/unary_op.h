// Unary operations: unary<ops::Exp>(x) runs the kernel and records a node, which computes ops::Exp::gradient
// fused or as differentiable operations. An operation with parameters takes two Scalars.
#pragma once
#include <array>
#include <string_view>

#include "tandem/autograd/inplace.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex_unary.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/core/memory_format.h"

namespace tandem::autograd {

using Parameters = std::array<Scalar, 2>;
struct NoParameters {
  NoParameters& operator=(const Parameters&) { return *this; }
};
template <class Op>
inline constexpr bool has_parameters = !requires {
  Op::apply(0.0f);
};

/// "ExpBackward" for "exp", "LogSigmoidBackward" for "log_sigmoid".
template <class Op>
struct BackwardName {
  static constexpr auto make() {
    constexpr std::string_view name = Op::name, end = "Backward";
    std::array<char, name.size() + end.size() + 1> out{};
    char* to = out.data();
    bool upper = true;
    for (const char c : name) {
      if (c != '_') *to++ = static_cast<char>(upper && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      upper = c == '_';
    }
    end.copy(to, end.size());
    return out;
  }
  static constexpr auto text = make();
};
template <class Op>
inline constexpr const char* inplace_name = tandem::detail::SuffixedName<Op, "_">::text.data();

/// Whether a node may write its gradient into the memory of `g`, which the pass has given it: nobody else has it, and
/// the result has its layout. On a CPU, other memory would have to be read into the cache before it is written.
inline bool can_hold_gradient(const Tensor& g, const Tensor& saved) {
  return g.is_cpu() && g.use_count() == 1 && g.storage()->use_count() == 1 && g.dtype() == saved.dtype() &&
         g.strides() == saved.strides() && is_dense(g);
}

/// A fused gradient: one pass over g and the tensor that the forward saved, which has g's shape. Not recorded.
template <class Op>
Tensor gradient_raw(const Tensor& g, const Tensor& saved, const Scalar* parameters = nullptr) {
  const bool here = can_hold_gradient(g, saved);
  const Tensor same = as_type(g, saved.dtype());
  Tensor out = here ? same : empty_elementwise(saved.sizes(), saved.dtype(), saved.device(), same, saved);
  backend(saved).unary.gradient.get<Op>()(out, same, saved, parameters);
  return out;
}

struct SavesInput {
  SavedTensor saved;
};

template <class Op>
struct UnaryNode final : Node, std::conditional_t<Op::saves == ops::Saves::kOutput, SavesOutput, SavesInput> {
  const char* label() const override { return BackwardName<Op>::text.data(); }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = gradient(g[0]); }
  Tensor gradient(const Tensor& g) {
    const Tensor x = this->saved.unpack(*this);
    if constexpr (contains<Op, ops::GradientOps> && !has_parameters<Op>)
      if (g.is_complex()) return complex_gradient<Op>(g, x);
    const Scalar* p = nullptr;
    if constexpr (has_parameters<Op>) p = parameters.data();
    if constexpr (contains<Op, ops::GradientOps>)
      if (!GradMode::is_enabled()) return gradient_raw<Op>(g, x, p);
    if constexpr (has_parameters<Op>)
      return ops::apply_gradient<Op>(g, x, p[0].toDouble(), p[1].toDouble());
    else if constexpr (contains<Op, ops::GradientOps> || requires { Op::gradient(g); })
      return ops::apply_gradient<Op>(g, x, 0, 0);
    else
      return zeros(g.sizes(), g.options());
  }
  void release() override { this->saved.release(); }
  [[no_unique_address]] std::conditional_t<has_parameters<Op>, Parameters, NoParameters> parameters;
};

/// Returns the node of out = Op(x), or nullptr if nothing is recorded.
template <class Op>
UnaryNode<Op>* record_unary(const Tensor& out, const Tensor& x, const Parameters& parameters) {
  auto* node = record<UnaryNode<Op>>(out, x);
  if (node == nullptr) return nullptr;
  if constexpr (Op::saves == ops::Saves::kInput) node->saved.save(x);
  if constexpr (Op::saves == ops::Saves::kOutput) node->saved.save_output(out);
  node->parameters = parameters;
  return node;
}

/// Applies Op; the result has the input's dtype.
template <class Op>
Tensor unary(const Tensor& x, const Parameters& parameters = {}) {
  Tensor out = x.is_complex() ? complex_unary(Op::name, x) : empty_elementwise(x, x.dtype());
  if (!x.is_complex()) backend(x).unary.value.get<Op>()(out, x, parameters.data());
  record_unary<Op>(out, x, parameters);
  return out;
}

/// The same for real-valued functions: integers are converted to the default dtype.
template <class Op>
Tensor unary_float(const Tensor& x) {
  return unary<Op>(as_float(x));
}

template <class Op>
Tensor& unary_(const Tensor& x, const Parameters& parameters = {}) {
  constexpr Before before = Op::saves == ops::Saves::kInput ? Before::kClone : Before::kAlias;
  const auto direct = [&] {
    if (x.is_complex())
      copy_raw(x, complex_unary(Op::name, x));
    else
      backend(x).unary.value.get<Op>()(x, x, parameters.data());
  };
  if (Op::saves == ops::Saves::kOutput && !may_save_written(x))
    return inplace(x, inplace_name<Op>, before, direct, [&](const Tensor& old) { return unary<Op>(old, parameters); });
  return written_inplace(x, inplace_name<Op>, before, direct,
                         [&](const Tensor& out, const Tensor& old) { return record_unary<Op>(out, old, parameters); });
}

/// The same in place for real-valued functions. Throws Error for integers and bool, which cannot hold the result.
template <class Op>
Tensor& unary_float_(const Tensor& x) {
  check(is_differentiable(x.dtype()), inplace_name<Op>, ": the result is floating point, the tensor is ", x);
  return unary_<Op>(x);
}

}  // namespace tandem::autograd
