// one_hot and take_along_dim: applications of scatter and gather.
#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/gather.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

int64_t largest(const Tensor& classes) {
  const Tensor host = classes.to(kCPU).contiguous();
  const int64_t* c = host.ptr<int64_t>();
  return *std::max_element(c, c + host.numel());
}

}  // namespace

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  check(self.dtype() == kLong, "one_hot: expected int64 classes, got ", self);
  check(num_classes > 0 || num_classes == -1, "one_hot: expected a positive number of classes, got ", num_classes);
  check(num_classes != -1 || self.numel() > 0, "one_hot: num_classes cannot be inferred from an empty tensor: ", self);
  if (num_classes == -1) {
    num_classes = add_sizes("one_hot", largest(self), 1);
    check(num_classes > 0, "one_hot: classes must not be negative, got ", num_classes - 1);
  }
  Dims sizes(self.sizes());
  sizes.push_back(num_classes);
  Tensor out = zeros(sizes, self.options());
  return out.scatter_(-1, self.detach().unsqueeze(-1), 1);
}

Tensor take_along_dim(const Tensor& self, const Tensor& index, optional<int64_t> dim) {
  if (!dim) return gather(self.reshape({-1}), 0, index.reshape({-1}));
  const int64_t d = wrap_dim(*dim, self.dim());
  check(self.dim() == index.dim(), "take_along_dim: the index must have as many dimensions as the tensor\n  self  ",
        self, "\n  index ", index);
  Dims beside_self(self.sizes()), beside_index(index.sizes());
  if (self.dim() > 0) beside_self[static_cast<std::size_t>(d)] = beside_index[static_cast<std::size_t>(d)] = 1;
  Dims to_self = broadcast_sizes(beside_self, beside_index, "take_along_dim"), to_index = to_self;
  if (self.dim() > 0) {
    to_self[static_cast<std::size_t>(d)] = self.size(d);
    to_index[static_cast<std::size_t>(d)] = index.size(d);
  }
  return gather(self.expand(to_self), d, index.expand(to_index));
}

}  // namespace tandem
