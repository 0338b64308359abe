// Shared code of operations that overwrite a tensor with values that do not depend on it, so its gradient is 0.
#pragma once
#include "tandem/autograd/record.h"
#include "tandem/core/memory_format.h"

namespace tandem::autograd {

/// The gradient is zeros in the input's shape.
struct ZeroBackward final : NamedNode<ZeroBackward> {
  void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  void set(const Tensor& input) { sizes = input.sizes(); }
  Dims sizes;
};

/// Returns `value`, which is about to replace all elements of `self`, with a history in which `before`, self before
/// the operation, gets a gradient of zeros. For a view, returns `value` itself: the base gets the zeros.
Tensor in_place_of(const Tensor& self, const Tensor& before, const Tensor& value);

/// self = the values that `write(out)` writes. `out` is self or, if self has a history, a new tensor of the same
/// shape, dtype and device. Throws Error as check_inplace does.
template <class Write>
Tensor& overwrite(const Tensor& self, const char* operation, Write&& write) {
  return inplace(
      self, operation, Before::kAlias, [&] { write(self); },
      [&](const Tensor& before) {
        Tensor out = empty_raw(before.sizes(), before.dtype(), before.device(), before.suggest_memory_format());
        write(out);
        if (auto* node = record<ZeroBackward>(out, before)) node->set(before);
        return out;
      });
}

}  // namespace tandem::autograd
