// amax, amin, max and min of a whole tensor. Gradient: g shared evenly by the elements that equal the
// extreme.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

struct AmaxBackward final : Node {
  const char* name() const override { return backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this).detach(), y = extreme.unpack(*this).detach();
    const Tensor equal = x == restore_dims(y, x.sizes(), mask, keepdim);
    const Tensor share = equal.to(g[0].dtype()).div(equal.sum(dims_of(mask), /*keepdim=*/true));
    out[0] = restore_dims(g[0], x.sizes(), mask, keepdim) * share;
  }
  void release() override {
    self.release();
    extreme.release();
  }
  static Dims dims_of(uint32_t mask) {
    Dims dims;
    for (int64_t d = 0; d < kMaxDims; ++d)
      if (mask >> d & 1u) dims.push_back(d);
    return dims;
  }
  const char* backward_name = "";
  SavedTensor self, extreme;
  uint32_t mask = 0;
  bool keepdim = false;
};

struct Names {
  const char *forward, *backward;
};

Tensor extreme(const Tensor& self, IntArrayRef dim, bool keepdim, const ReduceKernels::Fold& kernel,
               Names names) {
  const uint32_t mask = dim_mask(dim, self.dim());
  Tensor out = empty_raw(reduced_sizes(self.sizes(), mask, true), self.dtype(), self.device());
  check(self.numel() != 0 || out.numel() == 0, names.forward, ": nothing to choose from: ", self);
  kernel(out, self, mask);
  out = drop_dims(out, mask, keepdim);
  if (auto* node = record<AmaxBackward>(out, self)) {
    node->backward_name = names.backward;
    node->self.save(self);
    node->extreme.save_output(out);
    node->mask = mask;
    node->keepdim = keepdim;
  }
  return out;
}

}  // namespace

Tensor amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme(self, dim, keepdim, backend(self).reduce.amax, {"amax", "AmaxBackward"});
}
Tensor amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme(self, dim, keepdim, backend(self).reduce.amin, {"amin", "AminBackward"});
}
Tensor max(const Tensor& self) {
  return extreme(self, {}, false, backend(self).reduce.amax, {"max", "MaxBackward"});
}
Tensor min(const Tensor& self) {
  return extreme(self, {}, false, backend(self).reduce.amin, {"min", "MinBackward"});
}
Tensor Tensor::amax(IntArrayRef dim, bool keepdim) const { return tandem::amax(*this, dim, keepdim); }
Tensor Tensor::amin(IntArrayRef dim, bool keepdim) const { return tandem::amin(*this, dim, keepdim); }
Tensor Tensor::max() const { return tandem::max(*this); }
Tensor Tensor::min() const { return tandem::min(*this); }

}  // namespace tandem
