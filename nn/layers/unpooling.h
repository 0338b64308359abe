// FractionalMaxPool2d, 3d: pooling with random windows. MaxUnpool1d, 2d, 3d: the partial inverse of max pooling.
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

#define TANDEM_FRACTIONAL_MAX_POOL(Name, D)                                               \
  class Name##Impl : public Cloneable<Name##Impl> {                                       \
   public:                                                                                \
    Name##Impl(ExpandingArray<D> kernel_size) : Name##Impl(Name##Options(kernel_size)) {} \
    explicit Name##Impl(Name##Options options);                                           \
    void reset() override;                                                                \
    Tensor forward(const Tensor& input);                                                  \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);                 \
    void pretty_print(std::ostream& stream) const override;                               \
    Name##Options options;                                                                \
    Tensor _random_samples;                                                               \
  }
/// Input [N, C, H, W] or [C, H, W]. The constructor throws Error unless exactly one of output_size and output_ratio is
/// set, and ratios are between 0 and 1. reset() registers the random samples of the options as a buffer.
TANDEM_FRACTIONAL_MAX_POOL(FractionalMaxPool2d, 2);
TANDEM_MODULE(FractionalMaxPool2d);
/// Input [N, C, D, H, W] or [C, D, H, W]. The constructor throws Error unless exactly one of output_size and
/// output_ratio is set, and ratios are between 0 and 1. reset() registers the random samples of the options as a buffer.
TANDEM_FRACTIONAL_MAX_POOL(FractionalMaxPool3d, 3);
TANDEM_MODULE(FractionalMaxPool3d);
#undef TANDEM_FRACTIONAL_MAX_POOL

#define TANDEM_MAX_UNPOOL(Name, D)                                                        \
  class Name##Impl : public detail::Optioned<Name##Impl, Name##Options> {                 \
   public:                                                                                \
    Name##Impl(ExpandingArray<D> kernel_size) : Name##Impl(Name##Options(kernel_size)) {} \
    explicit Name##Impl(const Name##Options& options_) : Optioned(options_) {}            \
    Tensor forward(const Tensor& input, const Tensor& indices,                            \
                   const optional<std::vector<int64_t>>& output_size = nullopt);          \
    void pretty_print(std::ostream& stream) const override;                               \
                                                                                          \
   protected:                                                                             \
    FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(optional<std::vector<int64_t>>())})             \
  }
TANDEM_MAX_UNPOOL(MaxUnpool1d, 1);
TANDEM_MODULE(MaxUnpool1d);
TANDEM_MAX_UNPOOL(MaxUnpool2d, 2);
TANDEM_MODULE(MaxUnpool2d);
TANDEM_MAX_UNPOOL(MaxUnpool3d, 3);
TANDEM_MODULE(MaxUnpool3d);
#undef TANDEM_MAX_UNPOOL

}  // namespace tandem::nn
