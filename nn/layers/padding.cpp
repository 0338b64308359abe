// Padding layers.
#include "tandem/nn/layers/padding.h"

#include <ostream>

#include "tandem/autograd/ops/nn/pad.h"

namespace tandem::nn {
namespace {
template <std::size_t D>
void print(std::ostream& stream, const char* name, const ExpandingArray<D>& padding) {
  stream << "tandem::nn::" << name << "(padding=" << concat(padding) << ")";
}
template <std::size_t D>
void print_constant(std::ostream& stream, const ConstantPadOptions<D>& options) {
  stream << "tandem::nn::ConstantPad" << D << "d(padding=" << concat(options.padding()) << ", value=" << options.value()
         << ")";
}
}  // namespace

Tensor ReflectionPad1dImpl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), "reflect"); }
void ReflectionPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReflectionPad1d", options.padding());
}
Tensor ReflectionPad2dImpl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), "reflect"); }
void ReflectionPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReflectionPad2d", options.padding());
}
Tensor ReflectionPad3dImpl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), "reflect"); }
void ReflectionPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReflectionPad3d", options.padding());
}
Tensor ReplicationPad1dImpl::forward(const Tensor& input) {
  return tandem::pad(input, *options.padding(), "replicate");
}
void ReplicationPad1dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReplicationPad1d", options.padding());
}
Tensor ReplicationPad2dImpl::forward(const Tensor& input) {
  return tandem::pad(input, *options.padding(), "replicate");
}
void ReplicationPad2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReplicationPad2d", options.padding());
}
Tensor ReplicationPad3dImpl::forward(const Tensor& input) {
  return tandem::pad(input, *options.padding(), "replicate");
}
void ReplicationPad3dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "ReplicationPad3d", options.padding());
}
Tensor ZeroPad1dImpl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), "constant"); }
void ZeroPad1dImpl::pretty_print(std::ostream& stream) const { print(stream, "ZeroPad1d", options.padding()); }
Tensor ZeroPad2dImpl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), "constant"); }
void ZeroPad2dImpl::pretty_print(std::ostream& stream) const { print(stream, "ZeroPad2d", options.padding()); }
Tensor ZeroPad3dImpl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), "constant"); }
void ZeroPad3dImpl::pretty_print(std::ostream& stream) const { print(stream, "ZeroPad3d", options.padding()); }
Tensor ConstantPad1dImpl::forward(const Tensor& input) {
  return constant_pad_nd(input, *options.padding(), options.value());
}
void ConstantPad1dImpl::pretty_print(std::ostream& stream) const { print_constant(stream, options); }
Tensor ConstantPad2dImpl::forward(const Tensor& input) {
  return constant_pad_nd(input, *options.padding(), options.value());
}
void ConstantPad2dImpl::pretty_print(std::ostream& stream) const { print_constant(stream, options); }
Tensor ConstantPad3dImpl::forward(const Tensor& input) {
  return constant_pad_nd(input, *options.padding(), options.value());
}
void ConstantPad3dImpl::pretty_print(std::ostream& stream) const { print_constant(stream, options); }

}  // namespace tandem::nn
