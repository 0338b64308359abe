// Dropout, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout, and their functional forms.
#include "tandem/nn/layers/dropout.h"

#include <ostream>

#include "tandem/autograd/ops/nn/dropout.h"
#include "tandem/core/error.h"
#include "tandem/nn/functional/dropout.h"

namespace tandem::nn::functional {

Tensor dropout(Tensor input, const DropoutFuncOptions& options) {
  if (options.inplace()) return tandem::dropout_(input, options.p(), options.training());
  return tandem::dropout(input, options.p(), options.training());
}
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options) {
  if (options.inplace()) return tandem::feature_dropout_(input, options.p(), options.training());
  return tandem::feature_dropout(input, options.p(), options.training());
}
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options) {
  return functional::dropout2d(std::move(input), options);
}
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options) {
  if (options.inplace()) return tandem::alpha_dropout_(input, options.p(), options.training());
  return tandem::alpha_dropout(input, options.p(), options.training());
}
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options) {
  if (options.inplace()) return tandem::feature_alpha_dropout_(input, options.p(), options.training());
  return tandem::feature_alpha_dropout(input, options.p(), options.training());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {
namespace {
functional::DropoutFuncOptions dropout_options(const DropoutOptions& options, bool training) {
  return functional::DropoutFuncOptions().p(options.p()).training(training).inplace(options.inplace());
}
void print_dropout(std::ostream& stream, const char* name, const DropoutOptions& options) {
  stream << "tandem::nn::" << name << "(p=" << options.p() << ", inplace=" << (options.inplace() ? "true" : "false")
         << ")";
}
void check_probability(double p) {
  check(p >= 0 && p <= 1, "dropout probability must be between 0 and 1, but got ", p);
}
}  // namespace

DropoutImpl::DropoutImpl(const DropoutOptions& options) : Optioned(options) { check_probability(options.p()); }
void DropoutImpl::reset() { check_probability(options.p()); }
Tensor DropoutImpl::forward(Tensor input) {
  return functional::dropout(std::move(input), dropout_options(options, is_training()));
}
void DropoutImpl::pretty_print(std::ostream& stream) const { print_dropout(stream, "Dropout", options); }
Dropout2dImpl::Dropout2dImpl(const Dropout2dOptions& options) : Optioned(options) { check_probability(options.p()); }
void Dropout2dImpl::reset() { check_probability(options.p()); }
Tensor Dropout2dImpl::forward(Tensor input) {
  return functional::dropout2d(std::move(input), dropout_options(options, is_training()));
}
void Dropout2dImpl::pretty_print(std::ostream& stream) const { print_dropout(stream, "Dropout2d", options); }
Dropout3dImpl::Dropout3dImpl(const Dropout3dOptions& options) : Optioned(options) { check_probability(options.p()); }
void Dropout3dImpl::reset() { check_probability(options.p()); }
Tensor Dropout3dImpl::forward(Tensor input) {
  return functional::dropout3d(std::move(input), dropout_options(options, is_training()));
}
void Dropout3dImpl::pretty_print(std::ostream& stream) const { print_dropout(stream, "Dropout3d", options); }

AlphaDropoutImpl::AlphaDropoutImpl(const AlphaDropoutOptions& options) : Optioned(options) {
  check_probability(options.p());
}
void AlphaDropoutImpl::reset() { check_probability(options.p()); }
Tensor AlphaDropoutImpl::forward(const Tensor& input) {
  return functional::alpha_dropout(
      input, functional::AlphaDropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()));
}
void AlphaDropoutImpl::pretty_print(std::ostream& stream) const { print_dropout(stream, "AlphaDropout", options); }
FeatureAlphaDropoutImpl::FeatureAlphaDropoutImpl(const FeatureAlphaDropoutOptions& options) : Optioned(options) {
  check_probability(options.p());
}
void FeatureAlphaDropoutImpl::reset() { check_probability(options.p()); }
Tensor FeatureAlphaDropoutImpl::forward(const Tensor& input) {
  return functional::feature_alpha_dropout(
      input,
      functional::FeatureAlphaDropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()));
}
void FeatureAlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  print_dropout(stream, "FeatureAlphaDropout", options);
}

}  // namespace tandem::nn
