#include "tandem/parallel/shared/backward_anchor.h"

#include "tandem/autograd/hooks.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"

namespace tandem::distributed {
namespace {

struct AnchorBackward final : autograd::Node {
  const char* label() const override { return "AnchorBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = g[0];
    if (needs(1)) out[1] = zeros({0});
  }
};

}  // namespace

std::unordered_set<const autograd::Node*> nodes_behind(const std::vector<Tensor>& outputs) {
  std::unordered_set<const autograd::Node*> found;
  std::vector<autograd::Node*> stack;
  const auto push = [&](autograd::Node* node) {
    if (node != nullptr && found.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& output : outputs)
    if (output.defined() && output.requires_grad()) push(autograd::gradient_edge(output).function.get());
  while (!stack.empty()) {
    autograd::Node* node = stack.back();
    stack.pop_back();
    for (const autograd::Edge& edge : node->next) push(edge.function.get());
  }
  return found;
}

BackwardAnchor::BackwardAnchor(std::function<void()> reached) : leaf_(zeros({0}).set_requires_grad(true)) {
  hook_ = leaf_.register_post_accumulate_grad_hook([reached = std::move(reached)](const Tensor&) { reached(); });
}

BackwardAnchor::~BackwardAnchor() { leaf_.remove_hook(hook_); }

bool BackwardAnchor::attach(std::vector<Tensor>& tensors) const {
  bool any = false;
  for (Tensor& t : tensors) {
    if (!t.is_floating_point()) continue;
    const Tensor out = t.detach().clone();
    autograd::record<AnchorBackward>(out, t, leaf_);
    t = out;
    any = true;
  }
  return any;
}

}  // namespace tandem::distributed
