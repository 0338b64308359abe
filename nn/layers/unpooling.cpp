// Fractional pooling and unpooling: functional forms and modules.
#include "tandem/nn/layers/unpooling.h"

#include "tandem/autograd/ops/nn/fractional_max_pool.h"
#include "tandem/autograd/ops/nn/pool3d.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/functional/pooling3d.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {
namespace {

template <std::size_t D>
void check_one(const FractionalMaxPoolOptions<D>& options) {
  check(options.output_size().has_value() != options.output_ratio().has_value(),
        "FractionalMaxPool: exactly one of output_size and output_ratio must be set");
  if (!options.output_ratio()) return;
  for (const double ratio : **options.output_ratio())
    check(ratio > 0 && ratio < 1, "FractionalMaxPool: output_ratio must be between 0 and 1, got ", ratio);
}

template <std::size_t D>
std::array<int64_t, D> pooled_size(const Tensor& input, const FractionalMaxPoolOptions<D>& options) {
  check_one(options);
  check(input.dim() == static_cast<int64_t>(D) + 1 || input.dim() == static_cast<int64_t>(D) + 2,
        "fractional_max_pool: expected [N, C] or [C] and ", D, " more dimensions, got ", input);
  if (options.output_size()) return **options.output_size();
  std::array<int64_t, D> out;
  for (std::size_t d = 0; d < D; ++d) {
    const auto size = static_cast<double>(input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)));
    out[d] = static_cast<int64_t>(size * (*options.output_ratio())[d]);
  }
  return out;
}

template <std::size_t D>
Tensor samples_of(const Tensor& input, const FractionalMaxPoolOptions<D>& options) {
  if (options._random_samples().defined()) return options._random_samples();
  constexpr auto rank = static_cast<int64_t>(D);
  return rand({input.dim() == rank + 1 ? 1 : input.size(0), input.size(-rank - 1), rank},
              input.options().requires_grad(false));
}

// The sizes before pooling.
template <std::size_t D>
std::array<int64_t, D> unpooled_size(const Tensor& input, const MaxUnpoolFuncOptions<D>& options) {
  check(input.dim() == static_cast<int64_t>(D) + 1 || input.dim() == static_cast<int64_t>(D) + 2,
        "max_unpool: expected [N, C] or [C] and ", D, " more dimensions, got ", input);
  std::array<int64_t, D> out;
  for (std::size_t d = 0; d < D; ++d) {
    const int64_t in = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)), step = options.stride()[d];
    out[d] = (in - 1) * step + options.kernel_size()[d] - 2 * options.padding()[d];
    if (!options.output_size()) continue;
    const std::vector<int64_t>& given = *options.output_size();
    check(given.size() == D || given.size() == D + 2, "max_unpool: output_size must have ", D, " or ", D + 2,
          " numbers, got ", IntArrayRef(given));
    const int64_t wanted = given[given.size() - D + d];
    check(wanted > out[d] - step && wanted < out[d] + step, "max_unpool: output_size ", IntArrayRef(given),
          " is impossible: dimension ", d, " must be from ", out[d] - step + 1, " to ", out[d] + step - 1);
    out[d] = wanted;
  }
  return out;
}

}  // namespace

#define FRACTIONAL_MAX_POOL(D)                                                                                 \
  std::tuple<Tensor, Tensor> fractional_max_pool##D##d_with_indices(                                           \
      const Tensor& input, const FractionalMaxPool##D##dFuncOptions& options) {                                \
    const auto size = pooled_size(input, options);                                                             \
    return tandem::fractional_max_pool##D##d(input, *options.kernel_size(), size, samples_of(input, options)); \
  }                                                                                                            \
  Tensor fractional_max_pool##D##d(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& options) {   \
    return std::get<0>(fractional_max_pool##D##d_with_indices(input, options));                                \
  }
FRACTIONAL_MAX_POOL(2)
FRACTIONAL_MAX_POOL(3)

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& options) {
  const auto size = unpooled_size(input, options);
  return tandem::max_unpool2d(input.unsqueeze(-2), indices.unsqueeze(-2), {1, size[0]}).squeeze(-2);
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& options) {
  return tandem::max_unpool2d(input, indices, unpooled_size(input, options));
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& options) {
  return tandem::max_unpool3d(input, indices, unpooled_size(input, options), *options.stride(), *options.padding());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

#define FRACTIONAL_LAYER(Name, function)                                                                        \
  Name##Impl::Name##Impl(Name##Options options) : options(std::move(options)) {                                 \
    functional::check_one(this->options);                                                                       \
    Name##Impl::reset();                                                                                        \
  }                                                                                                             \
  void Name##Impl::reset() { _random_samples = register_buffer("_random_samples", options._random_samples()); } \
  Tensor Name##Impl::forward(const Tensor& input) { return std::get<0>(forward_with_indices(input)); }          \
  std::tuple<Tensor, Tensor> Name##Impl::forward_with_indices(const Tensor& input) {                            \
    Name##Options used = options;                                                                               \
    return functional::function(input, used._random_samples(_random_samples));                                  \
  }                                                                                                             \
  TANDEM_PRINTED_AS(Name)
FRACTIONAL_LAYER(FractionalMaxPool2d, fractional_max_pool2d_with_indices)
FRACTIONAL_LAYER(FractionalMaxPool3d, fractional_max_pool3d_with_indices)

#define UNPOOL_LAYER(Name, function)                                                            \
  Tensor Name##Impl::forward(const Tensor& input, const Tensor& indices,                        \
                             const optional<std::vector<int64_t>>& output_size) {               \
    return functional::function(input, indices,                                                 \
                                functional::Name##FuncOptions(options.kernel_size())            \
                                    .stride(options.stride())                                   \
                                    .padding(options.padding())                                 \
                                    .output_size(output_size));                                 \
  }                                                                                             \
  TANDEM_PRINTED_AS(Name, "kernel_size=", options.kernel_size(), ", stride=", options.stride(), \
                    ", padding=", options.padding())
UNPOOL_LAYER(MaxUnpool1d, max_unpool1d)
UNPOOL_LAYER(MaxUnpool2d, max_unpool2d)
UNPOOL_LAYER(MaxUnpool3d, max_unpool3d)

}  // namespace tandem::nn
