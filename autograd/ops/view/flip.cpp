// flip, roll and rot90. flip is its own inverse: its gradient is g flipped.
#include "tandem/autograd/ops/view/flip.h"

#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/record.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

struct FlipBackward final : NamedNode<FlipBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].flip(dims); }
  Dims dims;
};

Tensor roll_dim(const Tensor& self, int64_t shift, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  if (size == 0) return self.clone();
  shift = ((shift % size) + size) % size;
  if (shift == 0) return self.clone();
  return cat({self.narrow(dim, size - shift, shift), self.narrow(dim, 0, size - shift)}, dim);
}

}  // namespace

Tensor flip(const Tensor& self, IntArrayRef dims) {
  const uint32_t mask = dim_mask(dims, self.dim(), false);
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device(), self.suggest_memory_format());
  // Reads backwards, with a geometry that only the copy kernel sees.
  Dims strides(self.strides());
  int64_t offset = self.storage_offset();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if ((mask >> d & 1u) == 0 || self.numel() == 0) continue;
    offset += (self.sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  copy_raw(out, alias(self, self.sizes(), strides, offset));
  if (auto* node = record<FlipBackward>(out, self)) node->dims = dims;
  return out;
}

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  check(!shifts.empty(), "roll: expected at least one shift");
  if (dims.empty()) {
    check(shifts.size() == 1, "roll: without dims expected one shift, got ", shifts);
    if (self.numel() == 0) return self.clone();
    return roll_dim(self.reshape({-1}), shifts[0], 0).view(self.sizes());
  }
  check(shifts.size() == dims.size(), "roll: shifts ", shifts, " and dims ", dims, " differ in length");
  Tensor out = self;
  for (std::size_t i = 0; i < dims.size(); ++i) out = roll_dim(out, shifts[i], dims[i]);
  return out;
}

Tensor rot90(const Tensor& self, int64_t k, IntArrayRef dims) {
  check(dims.size() == 2 && self.dim() >= 2, "rot90: expected two dimensions, got ", dims, " of ", self);
  check(wrap_dim(dims[0], self.dim()) != wrap_dim(dims[1], self.dim()), "rot90: the two dimensions must differ");
  switch (((k % 4) + 4) % 4) {
    case 1:
      return self.flip({dims[1]}).transpose(dims[0], dims[1]);
    case 2:
      return self.flip(dims);
    case 3:
      return self.flip({dims[0]}).transpose(dims[0], dims[1]);
    default:
      return self.clone();
  }
}

Tensor Tensor::flip(IntArrayRef dims) const { return tandem::flip(*this, dims); }
Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const { return tandem::roll(*this, shifts, dims); }

Tensor Tensor::rot90(int64_t k, IntArrayRef dims) const { return tandem::rot90(*this, k, dims); }

}  // namespace tandem
