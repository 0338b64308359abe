// What operations share that overwrite a tensor with values that do not depend on it: its gradient is 0.
#pragma once
#include "tandem/autograd/record.h"

namespace tandem::autograd {

/// Gradient 0 of the input's shape.
struct ZeroBackward final : Node {
  const char* name() const override { return "ZeroBackward"; }
  void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  void set(const Tensor& input) { sizes = input.sizes(); }
  Dims sizes;
};

/// `value` as what is about to be assigned to all of `self`, which was `before`: that gets zeros for its
/// gradient. Of a view it is the base that gets them.
Tensor in_place_of(const Tensor& self, const Tensor& before, const Tensor& value);

/// self = whatever `write(out)` puts into a tensor of self's shape, dtype and device: self, or a new one
/// where self has a history. Throws Error as check_inplace does.
template <class Write>
Tensor& overwrite(Tensor& self, const char* operation, Write&& write) {
  return inplace(
      self, operation, Before::kAlias, [&] { write(self); },
      [&](const Tensor& before) {
        Tensor out = empty_raw(before.sizes(), before.dtype(), before.device());
        write(out);
        if (auto* node = record<ZeroBackward>(out, before)) node->set(before);
        return out;
      });
}

}  // namespace tandem::autograd
