// Pooling: functional forms and modules.
#include "tandem/nn/layers/pooling.h"

#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/ops/nn/pool3d.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/nn/functional/pooling.h"
#include "tandem/nn/functional/pooling3d.h"
#include "tandem/nn/layers/pooling1d.h"
#include "tandem/nn/layers/pooling3d.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {
namespace {

// The output's sizes: an omitted one is the input's.
template <std::size_t D>
std::array<int64_t, D> sizes_of(const char* operation, const Tensor& input,
                                const ExpandingArrayWithOptionalElem<D>& size) {
  if constexpr (D == 2)
    check(input.dim() >= 2, operation, ": input must be [N, C, H, W] or [C, H, W], got ", input);
  else
    check(input.dim() == 4 || input.dim() == 5, operation, ": input must be [N, C, D, H, W] or [C, D, H, W], got ",
          input);
  std::array<int64_t, D> out;
  for (std::size_t d = 0; d < D; ++d)
    out[d] = size[d].value_or(input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)));
  return out;
}

// (count mean)^(1 / p), where `mean` is that of x^p.
Tensor root(const Tensor& mean, int64_t count, double p) {
  const Tensor size = mean.sign() * mean.abs().relu();
  return (size * static_cast<double>(count)).pow(1 / p);
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options) {
  return tandem::avg_pool1d(input, *options.kernel_size(), *options.stride(), *options.padding(), options.ceil_mode(),
                            options.count_include_pad());
}
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return tandem::adaptive_avg_pool1d(input, *options.output_size());
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options) {
  return tandem::adaptive_max_pool1d(input, *options.output_size());
}

// Forms that exist for D = 1, 2 and 3.
#define MAX_POOL(D)                                                                                                  \
  Tensor max_pool##D##d(const Tensor& input, const MaxPool##D##dFuncOptions& o) {                                    \
    return tandem::max_pool##D##d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode()); \
  }                                                                                                                  \
  std::tuple<Tensor, Tensor> max_pool##D##d_with_indices(const Tensor& input, const MaxPool##D##dFuncOptions& o) {   \
    return tandem::max_pool##D##d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(),    \
                                               o.ceil_mode());                                                       \
  }                                                                                                                  \
  Tensor adaptive_max_pool##D##d(const Tensor& input, const AdaptiveMaxPool##D##dFuncOptions& options) {             \
    return std::get<0>(adaptive_max_pool##D##d_with_indices(input, options));                                        \
  }
MAX_POOL(1)
MAX_POOL(2)
MAX_POOL(3)

// Forms that differ from those for D = 1.
#define POOL(D)                                                                                                        \
  Tensor avg_pool##D##d(const Tensor& input, const AvgPool##D##dFuncOptions& o) {                                      \
    return tandem::avg_pool##D##d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(),                   \
                                  o.count_include_pad(), o.divisor_override());                                        \
  }                                                                                                                    \
  Tensor adaptive_avg_pool##D##d(const Tensor& input, const AdaptiveAvgPool##D##dFuncOptions& options) {               \
    return tandem::adaptive_avg_pool##D##d(input, sizes_of("adaptive_avg_pool" #D "d", input, options.output_size())); \
  }                                                                                                                    \
  std::tuple<Tensor, Tensor> adaptive_max_pool##D##d_with_indices(const Tensor& input,                                 \
                                                                  const AdaptiveMaxPool##D##dFuncOptions& options) {   \
    return tandem::adaptive_max_pool##D##d(input, sizes_of("adaptive_max_pool" #D "d", input, options.output_size())); \
  }
POOL(2)
POOL(3)

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options) {
  const double p = options.norm_type();
  const Tensor mean =
      tandem::avg_pool1d(input.pow(p), *options.kernel_size(), *options.stride(), 0, options.ceil_mode());
  return root(mean, options.kernel_size()[0], p);
}
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options) {
  const double p = options.norm_type();
  const auto& k = *options.kernel_size();
  return root(tandem::avg_pool2d(input.pow(p), k, *options.stride(), 0, options.ceil_mode()), k[0] * k[1], p);
}
Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options) {
  const double p = options.norm_type();
  const auto& k = *options.kernel_size();
  return root(tandem::avg_pool3d(input.pow(p), k, *options.stride(), 0, options.ceil_mode()), k[0] * k[1] * k[2], p);
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

#define LAYER(Name, function, ...)                                                                 \
  Tensor Name##Impl::forward(const Tensor& input) { return functional::function(input, options); } \
  TANDEM_PRINTED_AS(Name, __VA_ARGS__)
#define WITH_INDICES(Name, function)                                                 \
  std::tuple<Tensor, Tensor> Name##Impl::forward_with_indices(const Tensor& input) { \
    return functional::function##_with_indices(input, options);                      \
  }
#define LAYERS(D)                                                                                            \
  LAYER(AvgPool##D##d, avg_pool##D##d, "kernel_size=", options.kernel_size(), ", stride=", options.stride(), \
        ", padding=", options.padding())                                                                     \
  LAYER(MaxPool##D##d, max_pool##D##d, "kernel_size=", options.kernel_size(), ", stride=", options.stride(), \
        ", padding=", options.padding(), ", dilation=", options.dilation(),                                  \
        ", ceil_mode=", detail::word(options.ceil_mode()))                                                   \
  WITH_INDICES(MaxPool##D##d, max_pool##D##d)                                                                \
  LAYER(AdaptiveAvgPool##D##d, adaptive_avg_pool##D##d, "output_size=", options.output_size())               \
  LAYER(AdaptiveMaxPool##D##d, adaptive_max_pool##D##d, "output_size=", options.output_size())               \
  WITH_INDICES(AdaptiveMaxPool##D##d, adaptive_max_pool##D##d)                                               \
  LAYER(LPPool##D##d, lp_pool##D##d, "norm_type=", concat(options.norm_type()),                              \
        ", kernel_size=", options.kernel_size(), ", stride=", options.stride(),                              \
        ", ceil_mode=", detail::word(options.ceil_mode()))
LAYERS(1)
LAYERS(2)
LAYERS(3)

}  // namespace tandem::nn
