// Differentiable operations of two arguments, written as a rule:
//
//   struct Atan2Rule {
//     using Op = ops::Atan2;
//     static constexpr const char *name = "atan2_", *backward_name = "Atan2Backward";
//     static constexpr Reads da_reads = kBoth, db_reads = kBoth;   // inputs that the gradients read
//     static ScalarType type(ScalarType promoted);                 // of the result, or throws Error
//     template <class A, class B> static Tensor da(const Tensor& g, const A& a, const B& b);
//     template <class A, class B> static Tensor db(const Tensor& g, const A& a, const B& b);
//   };
//
// A and B are Tensor or Scalar, at least one of them Tensor.
#pragma once
#include "tandem/autograd/ops/pointwise/binary_op.h"
#include "tandem/autograd/ops/pointwise/complex.h"

namespace tandem::autograd {

enum Reads : unsigned { kNeither = 0, kA = 1, kB = 2, kBoth = 3 };

/// The result dtype of functions on real or complex numbers: the arguments' own, or the default dtype for integers.
inline ScalarType float_type(ScalarType type) { return is_differentiable(type) ? type : get_default_dtype(); }

/// The complex conjugate; a real number or tensor itself.
inline Tensor conjugate(const Tensor& t) { return conj(t); }
inline Scalar conjugate(const Scalar& number) { return number.conj(); }

template <class Rule>
struct BinaryNode final : Node {
  const char* label() const override { return Rule::backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = a.unpack(*this), y = b.unpack(*this);
    if (needs(1)) out[1] = Rule::db(g[0], x, y);
    if (needs(0)) out[0] = Rule::da(g[0], x, y);
  }
  TANDEM_SAVED(a, b);
};

template <class Rule>
struct RightNumberNode final : Node {
  const char* label() const override { return Rule::backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = Rule::da(g[0], a.unpack(*this), b); }
  TANDEM_SAVED(a);
  Scalar b;
};

template <class Rule>
struct LeftNumberNode final : Node {
  const char* label() const override { return Rule::backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = Rule::db(g[0], a, b.unpack(*this)); }
  Scalar a;
  TANDEM_SAVED(b);
};

template <class Rule>
Tensor binary(const Tensor& a, const Tensor& b) {
  Tensor out = binary_raw<typename Rule::Op>(a, b, Rule::type(result_type(a, b)));
  if (auto* node = record<BinaryNode<Rule>>(out, a, b)) {
    const unsigned reads = (node->needs(0) ? Rule::da_reads : kNeither) | (node->needs(1) ? Rule::db_reads : kNeither);
    if (reads & kA) node->a.save(a);
    if (reads & kB) node->b.save(b);
  }
  return out;
}

template <class Rule>
Tensor binary(const Tensor& a, const Scalar& b) {
  Tensor out = binary_raw<typename Rule::Op>(a, b, Rule::type(result_type(a, b)));
  if (auto* node = record<RightNumberNode<Rule>>(out, a)) {
    if (Rule::da_reads & kA) node->a.save(a);
    node->b = b;
  }
  return out;
}

template <class Rule>
Tensor binary(const Scalar& a, const Tensor& b) {
  Tensor out = binary_raw<typename Rule::Op>(a, b, Rule::type(result_type(b, a)));
  if (auto* node = record<LeftNumberNode<Rule>>(out, b)) {
    if (Rule::db_reads & kB) node->b.save(b);
    node->a = a;
  }
  return out;
}

/// self = Op(self, b) in place.
template <class Rule, class B>
Tensor& binary_(const Tensor& self, const B& b) {
  const ScalarType type = Rule::type(result_type(self, b));
  check_result_fits(Rule::name, self, type);
  constexpr unsigned reads = Rule::da_reads | (std::is_same_v<B, Tensor> ? Rule::db_reads : kNeither);
  return inplace(
      self, Rule::name, (reads & kA) != 0 ? Before::kClone : Before::kAlias,
      [&] { binary_into<typename Rule::Op>(self, b, type); },
      [&](const Tensor& before) { return binary<Rule>(before, b); }, b);
}

/// The functions and the members of Tensor of a Rule for a Tensor or a Scalar on the right.
#define TANDEM_BINARY(f, Rule)                                                            \
  Tensor f(const Tensor& self, const Tensor& other) { return binary<Rule>(self, other); } \
  Tensor f(const Tensor& self, const Scalar& other) { return binary<Rule>(self, other); } \
  Tensor Tensor::f(const Tensor& other) const { return tandem::f(*this, other); }         \
  Tensor Tensor::f(const Scalar& other) const { return tandem::f(*this, other); }         \
  Tensor& Tensor::f##_(const Tensor& other) const { return binary_<Rule>(*this, other); } \
  Tensor& Tensor::f##_(const Scalar& other) const { return binary_<Rule>(*this, other); }

}  // namespace tandem::autograd
