// Tells when backward runs through outputs that do not depend on any parameter, whose hooks therefore stay silent.
#pragma once
#include <functional>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::distributed {

class BackwardAnchor {
 public:
  /// backward() calls `reached`, like a parameter's hook, once per pass through tensors from attach(); autograd::grad
  /// does not.
  explicit BackwardAnchor(std::function<void()> reached);
  ~BackwardAnchor();
  BackwardAnchor(const BackwardAnchor&) = delete;
  BackwardAnchor& operator=(const BackwardAnchor&) = delete;

  /// Replaces floating-point tensors by copies that require a gradient, and pass it on if the original requires one.
  /// Returns whether there are any.
  bool attach(std::vector<Tensor>& tensors) const;

 private:
  Tensor leaf_;
  unsigned hook_;
};

}  // namespace tandem::distributed
