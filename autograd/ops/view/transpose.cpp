// transpose and t. Gradient: g transposed back.
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct TransposeBackward final : NamedNode<TransposeBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].transpose(dim0, dim1); }
  int64_t dim0 = 0, dim1 = 0;
};

}  // namespace

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, self.dim());
  dim1 = wrap_dim(dim1, self.dim());
  Dims sizes(self.sizes()), strides(self.strides());
  if (!sizes.empty()) {
    std::swap(sizes[static_cast<std::size_t>(dim0)], sizes[static_cast<std::size_t>(dim1)]);
    std::swap(strides[static_cast<std::size_t>(dim0)], strides[static_cast<std::size_t>(dim1)]);
  }
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<TransposeBackward>(out, self)) {
    node->dim0 = dim0;
    node->dim1 = dim1;
  }
  return out;
}

Tensor t(const Tensor& self) {
  check(self.dim() <= 2, "t: expected at most 2 dimensions, got ", self, "; use transpose");
  return transpose(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const { return tandem::transpose(*this, dim0, dim1); }
Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const {
  return become_view(*this, "transpose_", [&](const Tensor& x) { return x.transpose(dim0, dim1); });
}
Tensor Tensor::t() const { return tandem::t(*this); }
Tensor Tensor::adjoint() const { return tandem::adjoint(*this); }
Tensor Tensor::matrix_H() const {
  check(dim() == 2 || dim() == 0, "matrix_H: expected a matrix, got ", *this, "; use mH() for a batch of matrices");
  return adjoint();
}
Tensor Tensor::numpy_T() const {
  Dims dims = sizes();
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(dims.size() - 1 - d);
  return permute(dims);
}

Tensor& Tensor::t_() const {
  return become_view(*this, "t_", [](const Tensor& x) { return tandem::t(x); });
}

}  // namespace tandem
