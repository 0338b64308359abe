// Both call the functions of parallel/shared/device_copies.h, which are differentiable.
#include "tandem/parallel/data_parallel/scatter_gather.h"

namespace tandem::autograd {

Scatter::Scatter(std::vector<Device> devices, optional<std::vector<int64_t>> chunk_sizes, int64_t dim,
                 bool unsqueeze_scalars)
    : devices_(std::move(devices)), sizes_(std::move(chunk_sizes)), dim_(dim), unsqueeze_scalars_(unsqueeze_scalars) {}

variable_list Scatter::apply(variable_list inputs) const {
  check(inputs.size() == 1, "Scatter: expected one tensor, got ", inputs.size());
  const Tensor& input = inputs[0];
  check(input.defined(), "Scatter: the tensor is undefined");
  const Tensor whole = unsqueeze_scalars_ && input.dim() == 0 ? input.unsqueeze(0) : input;
  return sizes_ ? parallel::scatter(whole, devices_, *sizes_, dim_) : parallel::scatter(whole, devices_, dim_);
}

Gather::Gather(const Device& destination_device, int64_t dim) : device_(destination_device), dim_(dim) {}

variable_list Gather::apply(variable_list inputs) const { return {parallel::gather(inputs, device_, dim_)}; }

}  // namespace tandem::autograd
