// Dropout, Dropout2d.
#include "tandem/nn/layers/dropout.h"

#include <ostream>

#include "tandem/nn/functional/dropout.h"

namespace tandem::nn {

namespace {
functional::DropoutFuncOptions dropout_options(const DropoutOptions& options, bool training) {
  return functional::DropoutFuncOptions().p(options.p()).training(training).inplace(options.inplace());
}
void print_dropout(std::ostream& stream, const char* name, const DropoutOptions& options) {
  stream << "tandem::nn::" << name << "(p=" << options.p()
         << ", inplace=" << (options.inplace() ? "true" : "false") << ")";
}
}  // namespace

Tensor DropoutImpl::forward(Tensor input) {
  return functional::dropout(std::move(input), dropout_options(options, is_training()));
}
void DropoutImpl::pretty_print(std::ostream& stream) const { print_dropout(stream, "Dropout", options); }
Tensor Dropout2dImpl::forward(Tensor input) {
  return functional::dropout2d(std::move(input), dropout_options(options, is_training()));
}
void Dropout2dImpl::pretty_print(std::ostream& stream) const { print_dropout(stream, "Dropout2d", options); }

}  // namespace tandem::nn
