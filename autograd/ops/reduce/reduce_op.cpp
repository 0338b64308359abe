// Backward of reductions that select elements.
#include "tandem/autograd/ops/reduce/reduce_op.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"

namespace tandem::autograd {
namespace {

struct SharedBackward final : Node {
  const char* label() const override { return backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this).detach(), y = reduced.restore(chosen.unpack(*this).detach());
    const Tensor equal = ((x == y) | ((x != x) & (y != y))).to(g[0].dtype());
    out[0] = reduced.restore(g[0]) * (equal / equal.sum(reduced.dims(), /*keepdim=*/true));
  }
  const char* backward_name = "";
  TANDEM_SAVED(self, chosen);
  Reduced reduced;
};

struct ChosenBackward final : Node {
  const char* label() const override { return backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = index.unpack(*this);
    if (keepdim || sizes.empty())
      out[0] = zeros(sizes, g[0].options()).scatter_add(dim, at, g[0]);
    else
      out[0] = zeros(sizes, g[0].options()).scatter_add(dim, at.unsqueeze(dim), g[0].unsqueeze(dim));
  }
  const char* backward_name = "";
  TANDEM_SAVED(index);
  Dims sizes;
  int64_t dim = 0;
  bool keepdim = false;
};

}  // namespace

void record_shared(const Tensor& out, const Tensor& self, uint32_t mask, bool keepdim, const char* backward_name) {
  if (auto* node = record<SharedBackward>(out, self)) {
    node->backward_name = backward_name;
    node->self.save(self);
    node->chosen.save_output(out);
    node->reduced = {self.sizes(), mask, keepdim};
  }
}

void record_chosen(const Tensor& values, const Tensor& self, const Tensor& indices, int64_t dim, bool keepdim,
                   const char* backward_name) {
  if (auto* node = record<ChosenBackward>(values, self)) {
    node->backward_name = backward_name;
    node->index.save(indices);
    node->sizes = self.sizes();
    node->dim = dim;
    node->keepdim = keepdim;
  }
}

Tensor indicator(const Tensor& t, const Scalar& value) { return (t.detach() == value).to(t.dtype()); }

}  // namespace tandem::autograd
