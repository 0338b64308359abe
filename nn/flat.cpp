// Flat parameters and gradients.
#include "tandem/nn/flat.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/record.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

FlatParameters::FlatParameters(const Module& module, int64_t alignment)
    : FlatParameters(module.parameters(), alignment) {}

FlatParameters::FlatParameters(std::vector<Tensor> parameters, int64_t alignment) : parameters_(std::move(parameters)) {
  check(!parameters_.empty(), "FlatParameters: expected at least one parameter");
  check(alignment > 0, "FlatParameters: alignment must be positive, got ", alignment);
  NoGradGuard no_grad;
  const Tensor& first = parameters_[0];
  int64_t at = 0;
  for (const Tensor& p : parameters_) {
    check(p.dtype() == first.dtype() && p.device() == first.device(),
          "FlatParameters: all parameters must have the same dtype and device\n  first ", first, "\n  other ", p);
    offsets_.push_back(at);
    at += (p.numel() + alignment - 1) / alignment * alignment;
  }
  data_ = zeros({at}, first.options());
  grad_ = zeros({at}, first.options());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    const Tensor place = view(data_, i);
    copy_raw(place, p);
    p.set_data(place);
  }
  collect();
}

Tensor FlatParameters::view(const Tensor& buffer, std::size_t i) const {
  const Tensor& p = parameters_[i];
  return part_like(buffer, p, offsets_[i]);
}

void FlatParameters::collect() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    if (!p.requires_grad()) continue;
    const Tensor place = view(grad_, i);
    const Tensor& grad = p.grad();
    if (!grad.defined())
      fill_raw(place, 0);
    else if (is_same_memory(grad, place))
      continue;
    else
      copy_raw(place, grad);
    p.mutable_grad() = place;
  }
  autograd::wrote(grad_, "FlatParameters.collect");
}

void FlatParameters::zero_grad() {
  fill_raw(grad_, 0);
  autograd::wrote(grad_, "FlatParameters.zero_grad");
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].requires_grad()) parameters_[i].mutable_grad() = view(grad_, i);
}

bool FlatParameters::is_flat() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    if (!(p.storage() == data_.storage()) || p.storage_offset() != offsets_[i] || !is_dense(p)) return false;
  }
  return true;
}

Tensor FlatParameters::as_parameter() const {
  Tensor leaf = data_.detach().requires_grad_();
  leaf.mutable_grad() = grad_;
  return leaf;
}

}  // namespace tandem::nn
