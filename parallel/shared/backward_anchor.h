// Finds the nodes that outputs depend on, and reports when backward runs through outputs that depend on no parameter:
// no parameter's hook is called then.
#pragma once
#include <functional>
#include <unordered_set>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::autograd {
class Node;
}

namespace tandem::distributed {

/// The nodes that the outputs depend on.
std::unordered_set<const autograd::Node*> nodes_behind(const std::vector<Tensor>& outputs);

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
