// Fractional pooling and unpooling: functional forms and modules.
#include "tandem/nn/layers/unpooling.h"

#include <ostream>

#include "tandem/autograd/ops/nn/fractional_max_pool.h"
#include "tandem/autograd/ops/nn/pool3d.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/functional/pooling3d.h"

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

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& options) {
  const auto size = pooled_size(input, options);
  return tandem::fractional_max_pool2d(input, *options.kernel_size(), size, samples_of(input, options));
}
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, options));
}

std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool3dFuncOptions& options) {
  const auto size = pooled_size(input, options);
  return tandem::fractional_max_pool3d(input, *options.kernel_size(), size, samples_of(input, options));
}
Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, options));
}

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
namespace {

template <std::size_t D>
void print(std::ostream& stream, const FractionalMaxPoolOptions<D>&) {
  stream << "tandem::nn::FractionalMaxPool" << D << "d()";
}
template <std::size_t D>
void print(std::ostream& stream, const MaxUnpoolOptions<D>& options) {
  stream << concat("tandem::nn::MaxUnpool", D, "d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ")");
}
template <std::size_t D>
functional::MaxUnpoolFuncOptions<D> function_options(const MaxUnpoolOptions<D>& options,
                                                     const optional<std::vector<int64_t>>& output_size) {
  return functional::MaxUnpoolFuncOptions<D>(options.kernel_size())
      .stride(options.stride())
      .padding(options.padding())
      .output_size(output_size);
}

}  // namespace

FractionalMaxPool2dImpl::FractionalMaxPool2dImpl(FractionalMaxPool2dOptions options) : options(std::move(options)) {
  functional::check_one(this->options);
  FractionalMaxPool2dImpl::reset();
}
void FractionalMaxPool2dImpl::reset() {
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
Tensor FractionalMaxPool2dImpl::forward(const Tensor& input) { return std::get<0>(forward_with_indices(input)); }
std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  FractionalMaxPool2dOptions used = options;
  return functional::fractional_max_pool2d_with_indices(input, used._random_samples(_random_samples));
}
void FractionalMaxPool2dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }

FractionalMaxPool3dImpl::FractionalMaxPool3dImpl(FractionalMaxPool3dOptions options) : options(std::move(options)) {
  functional::check_one(this->options);
  FractionalMaxPool3dImpl::reset();
}
void FractionalMaxPool3dImpl::reset() {
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
Tensor FractionalMaxPool3dImpl::forward(const Tensor& input) { return std::get<0>(forward_with_indices(input)); }
std::tuple<Tensor, Tensor> FractionalMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  FractionalMaxPool3dOptions used = options;
  return functional::fractional_max_pool3d_with_indices(input, used._random_samples(_random_samples));
}
void FractionalMaxPool3dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }

Tensor MaxUnpool1dImpl::forward(const Tensor& input, const Tensor& indices,
                                const optional<std::vector<int64_t>>& output_size) {
  return functional::max_unpool1d(input, indices, function_options(options, output_size));
}
void MaxUnpool1dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }
Tensor MaxUnpool2dImpl::forward(const Tensor& input, const Tensor& indices,
                                const optional<std::vector<int64_t>>& output_size) {
  return functional::max_unpool2d(input, indices, function_options(options, output_size));
}
void MaxUnpool2dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }
Tensor MaxUnpool3dImpl::forward(const Tensor& input, const Tensor& indices,
                                const optional<std::vector<int64_t>>& output_size) {
  return functional::max_unpool3d(input, indices, function_options(options, output_size));
}
void MaxUnpool3dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }

}  // namespace tandem::nn
