// Convolutions: functional forms and modules.
#include "tandem/nn/layers/conv.h"

#include <cmath>
#include <ostream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/conv2d.h"
#include "tandem/autograd/ops/nn/conv3d.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/nn/enum_names.h"
#include "tandem/nn/functional/conv.h"
#include "tandem/nn/layers/replace_parameters.h"

namespace tandem::nn {
namespace {

template <std::size_t D>
autograd::ConvPadding argument(const ConvPadding<D>& padding) {
  if (padding.is_same()) return std::string_view("same");
  return IntArrayRef(padding.values());
}

// With the `options` of a layer or a functional form, of whose padding `padding` remains to be applied.
template <std::size_t D, class Options>
Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const Options& options,
                const ConvPadding<D>& padding) {
  const IntArrayRef stride = options.stride(), dilation = options.dilation(), numbers = padding.values();
  const int64_t groups = options.groups();
  if constexpr (D == 2)
    return autograd::conv2d_with_epilogue(input, weight, {.bias = bias}, stride, argument(padding), dilation, groups);
  if constexpr (D == 3)
    return padding.is_same() ? conv3d(input, weight, bias, stride, "same", dilation, groups)
                             : conv3d(input, weight, bias, stride, numbers, dilation, groups);
  if (!padding.is_same()) return conv1d(input, weight, bias, stride, numbers, dilation, groups);
  // Computed as conv2d on an image with one row.
  check(weight.dim() == 3, "conv1d: weight must be [out, C / groups, kernel], got ", weight);
  return conv2d(input.unsqueeze(-2), weight.unsqueeze(-2), bias, {1, stride[0]}, "same", {1, dilation[0]}, groups)
      .squeeze(-2);
}

}  // namespace

namespace functional {

#define CONV(D)                                                                                                     \
  Tensor conv##D##d(const Tensor& input, const Tensor& weight, const Conv##D##dFuncOptions& options) {              \
    return convolve(input, weight, options.bias(), options, options.padding());                                     \
  }                                                                                                                 \
  Tensor conv_transpose##D##d(const Tensor& input, const Tensor& weight, const ConvTranspose##D##dFuncOptions& o) { \
    return tandem::conv_transpose##D##d(input, weight, o.bias(), *o.stride(), *o.padding(), *o.output_padding(),    \
                                        o.groups(), *o.dilation());                                                 \
  }
CONV(1)
CONV(2)
CONV(3)

}  // namespace functional

namespace {

template <std::size_t D>
void check_positive(const char* layer, const char* what, const ExpandingArray<D>& values) {
  for (const int64_t v : *values) check(v > 0, layer, ": ", what, " must be positive, got ", values);
}
template <class Options>
void check_options(const char* layer, const Options& options) {
  const int64_t in = options.in_channels(), out = options.out_channels(), groups = options.groups();
  check(in > 0 && out > 0 && groups > 0, layer, ": channels and groups must be positive, got in_channels=", in,
        ", out_channels=", out, ", groups=", groups);
  check(in % groups == 0, layer, ": in_channels (", in, ") must be divisible by groups (", groups, ")");
  check(out % groups == 0, layer, ": out_channels (", out, ") must be divisible by groups (", groups, ")");
  check_positive(layer, "kernel_size", options.kernel_size());
  check_positive(layer, "stride", options.stride());
  check_positive(layer, "dilation", options.dilation());
}

// `sizes` of the weight, without those of the kernel.
template <class Layer>
void create_parameters(Layer& layer, std::vector<int64_t> sizes) {
  for (const int64_t k : *layer.options.kernel_size()) sizes.push_back(k);
  layer.weight = layer.register_parameter("weight", tandem::empty(sizes));
  layer.bias = layer.options.bias() ? layer.register_parameter("bias", empty({layer.options.out_channels()}))
                                    : layer.register_parameter("bias", {}, false);
  layer.reset_parameters();
}
void init_parameters(const Tensor& weight, const Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  const int64_t fan_in = init::calculate_fans(weight).in;
  if (!bias.defined() || fan_in == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  init::uniform_(bias, -bound, bound);
}

const char* name_of(PaddingMode mode) {
  return mode == kReflect ? "reflect" : mode == kReplicate ? "replicate" : "circular";
}

}  // namespace

template <std::size_t D, class Derived>
ConvNdImpl<D, Derived>::ConvNdImpl(const ConvOptions<D>& options) : options(options) {
  const char* layer = D == 1 ? "Conv1d" : D == 2 ? "Conv2d" : "Conv3d";
  check_options(layer, options);
  check(!options.padding().is_same() || options.stride().all(1),
        "padding='same' is not supported for strided convolutions: ", layer, " got stride ", options.stride());
  const PaddingMode mode = options.padding_mode();
  check(mode == kZeros || mode == kReflect || mode == kReplicate || mode == kCircular, layer,
        ": padding_mode must be kZeros, kReflect, kReplicate or kCircular");
  ConvNdImpl::reset();
}

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  create_parameters(*this, {options.out_channels(), options.in_channels() / options.groups()});
}

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  init_parameters(weight, bias);
}

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::replace(const Tensor& new_weight, const Tensor& new_bias) {
  detail::replace_parameters(this->parameters_, weight, new_weight, bias, new_bias);
  options.bias(true);
}

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Conv" << D << "d(" << options.in_channels() << ", " << options.out_channels()
         << ", kernel_size=" << options.kernel_size() << ", stride=" << options.stride();
  if (options.padding().is_named())
    stream << ", padding='" << (options.padding().is_same() ? "same" : "valid") << "'";
  else if (!options.padding().values().all(0))
    stream << ", padding=" << options.padding().values();
  if (!options.dilation().all(1)) stream << ", dilation=" << options.dilation();
  if (options.groups() != 1) stream << ", groups=" << options.groups();
  if (!options.bias()) stream << ", bias=false";
  if (options.padding_mode() != kZeros) stream << ", padding_mode=" << enum_name(options.padding_mode());
  stream << detail::fused_text(fused) << ")";
}

template <std::size_t D, class Derived>
Tensor ConvNdImpl<D, Derived>::padded(const Tensor& input) const {
  if (options.padding_mode() == kZeros) return input;
  std::vector<int64_t> pad;
  for (std::size_t d = D; d-- > 0;) {
    const int64_t total = options.dilation()[d] * (options.kernel_size()[d] - 1);
    const bool same = options.padding().is_same();
    pad.push_back(same ? total / 2 : options.padding().values()[d]);
    pad.push_back(same ? total - total / 2 : options.padding().values()[d]);
  }
  return tandem::pad(input, pad, name_of(options.padding_mode()));
}
template <std::size_t D, class Derived>
ConvPadding<D> ConvNdImpl<D, Derived>::remaining_padding() const {
  return options.padding_mode() == kZeros ? options.padding() : ConvPadding<D>(0);
}

template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;
template class ConvNdImpl<3, Conv3dImpl>;

Tensor Conv1dImpl::forward(const Tensor& input) {
  return autograd::activated_(convolve(padded(input), weight, bias, options, remaining_padding()), fused);
}

Tensor Conv2dImpl::forward(const Tensor& input) { return run(input, {}, fused); }

Tensor Conv2dImpl::forward_residual(const Tensor& input, const Tensor& residual, FusedActivation activation) {
  check(residual.defined(), "Conv2d: forward_residual needs a residual");
  if (fused == FusedActivation::kIdentity) return run(input, residual, activation);
  Tensor out = forward(input);
  return autograd::activated_(out.add_(residual), activation);
}

Tensor Conv2dImpl::run(const Tensor& input, const Tensor& residual, FusedActivation activation) {
  return autograd::conv2d_with_epilogue(padded(input), weight, {bias, residual, activation}, options.stride(),
                                        argument(remaining_padding()), options.dilation(), options.groups(),
                                        keeps_packed ? &packed_ : nullptr, layout);
}

Tensor Conv3dImpl::forward(const Tensor& input) {
  return autograd::activated_(convolve(padded(input), weight, bias, options, remaining_padding()), fused);
}

template <std::size_t D, class Derived>
ConvTransposeNdImpl<D, Derived>::ConvTransposeNdImpl(const ConvTransposeOptions<D>& options) : options(options) {
  const char* layer = D == 1 ? "ConvTranspose1d" : D == 2 ? "ConvTranspose2d" : "ConvTranspose3d";
  check_options(layer, options);
  if (options.padding_mode() != kZeros)
    throw NotImplementedError(concat(layer, ": only padding_mode kZeros is implemented"));
  ConvTransposeNdImpl::reset();
}
template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset() {
  create_parameters(*this, {options.in_channels(), options.out_channels() / options.groups()});
}
template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset_parameters() {
  init_parameters(weight, bias);
}
template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::ConvTranspose" << D << "d(" << options.in_channels() << ", " << options.out_channels()
         << ", kernel_size=" << options.kernel_size() << ", stride=" << options.stride();
  if (!options.padding().all(0)) stream << ", padding=" << options.padding();
  if (!options.dilation().all(1)) stream << ", dilation=" << options.dilation();
  if (!options.output_padding().all(0)) stream << ", output_padding=" << options.output_padding();
  if (options.groups() != 1) stream << ", groups=" << options.groups();
  if (!options.bias()) stream << ", bias=false";
  stream << ")";
}
template <std::size_t D, class Derived>
functional::ConvTransposeFuncOptions<D> ConvTransposeNdImpl<D, Derived>::function_options(
    const Tensor& input, const optional<IntArrayRef>& output_size) const {
  ExpandingArray<D> extra = options.output_padding();
  if (output_size) {
    const std::size_t count = output_size->size();
    check(count == D || count == D + 2, "ConvTranspose: output_size must have ", D, " or ", D + 2, " numbers, got ",
          *output_size);
    check(input.dim() >= static_cast<int64_t>(D), "ConvTranspose: expected ", D, " or more dimensions, got ", input);
    for (std::size_t d = 0; d < D; ++d) {
      const int64_t in = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)),
                    wanted = (*output_size)[count - D + d];
      const int64_t least = (in - 1) * options.stride()[d] - 2 * options.padding()[d] +
                            options.dilation()[d] * (options.kernel_size()[d] - 1) + 1;
      check(wanted >= least && wanted < least + options.stride()[d], "ConvTranspose: output_size ", *output_size,
            " is impossible: dimension ", d, " must be from ", least, " to ", least + options.stride()[d] - 1);
      extra[d] = wanted - least;
    }
  }
  return functional::ConvTransposeFuncOptions<D>()
      .bias(bias)
      .stride(options.stride())
      .padding(options.padding())
      .output_padding(extra)
      .groups(options.groups())
      .dilation(options.dilation());
}

#define CONV_TRANSPOSE(D)                                                                                  \
  template class ConvTransposeNdImpl<D, ConvTranspose##D##dImpl>;                                          \
  Tensor ConvTranspose##D##dImpl::forward(const Tensor& input, const optional<IntArrayRef>& output_size) { \
    return functional::conv_transpose##D##d(input, weight, function_options(input, output_size));          \
  }
CONV_TRANSPOSE(1)
CONV_TRANSPOSE(2)
CONV_TRANSPOSE(3)

}  // namespace tandem::nn
