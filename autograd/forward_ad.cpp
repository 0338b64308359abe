// Forward-mode derivatives. J t is the derivative of v' J with respect to v, which is linear in v; its value at v = 0
// is not used.
#include "tandem/autograd/forward_ad.h"

#include <mutex>
#include <unordered_set>
#include <vector>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace autograd {
namespace {

/// A dual tensor's source: gradients are taken with respect to it. Not the dual tensor,
/// which may be written in place.
struct Source {
  Tensor primal, tangent;
};
struct Level {
  std::mutex mutex;
  bool active = false;
  std::vector<Source> sources;
};
Level& level_state() {
  static auto* level = new Level;  // never destroyed, since threads may outlive main()
  return *level;
}

struct DualBackward final : NamedNode<DualBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0]; }
};
struct PrimalBackward final : NamedNode<PrimalBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0]; }
};

void check_level(const Level& state, int64_t level, const char* operation) {
  check(state.active && level == 0, operation, ": dual level ", level,
        state.active ? " does not exist, the active one is 0" : " is not active; call enter_dual_level() first");
}

/// The leaves in the graph below a tensor.
struct Found {
  bool duals = false;   ///< dual tensors
  bool others = false;  ///< other leaves, so that the tangent must have a graph
};
Found search(const Tensor& tensor, const std::vector<Source>& sources) {
  std::unordered_set<const Node*> ends, seen;
  for (const Source& source : sources) ends.insert(gradient_edge(source.primal).function.get());
  Found found;
  std::vector<NodePtr> waiting{gradient_edge(tensor).function};
  while (!waiting.empty()) {
    const NodePtr node = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(node.get()).second) continue;
    const bool end = ends.contains(node.get());
    found.duals = found.duals || end;
    found.others = found.others || (node->is_accumulate() && !end);
    for (const Edge& edge : node->next)
      if (edge.valid()) waiting.push_back(edge.function);
  }
  return found;
}

Tensor tangent_of(const Tensor& dual, const std::vector<Source>& sources) {
  if (sources.empty() || !dual.requires_grad()) return {};
  const AutoGradMode recorded(true);
  const Found found = search(dual, sources);
  if (!found.duals) return {};
  bool graph = found.others;
  std::vector<Tensor> primals;
  for (const Source& source : sources) {
    primals.push_back(source.primal);
    graph = graph || source.tangent.requires_grad();
  }
  const Tensor v = zeros_like(dual.detach()).requires_grad_();
  const std::vector<Tensor> products =
      grad({dual}, primals, {v}, /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  std::vector<Tensor> used, tangents;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (!products[i].defined() || !products[i].requires_grad()) continue;
    used.push_back(products[i]);
    tangents.push_back(sources[i].tangent);
  }
  Tensor out;
  if (!used.empty()) out = grad(used, {v}, tangents, /*retain_graph=*/graph, graph, /*allow_unused=*/true)[0];
  // Undefined: every derivative is 0, as for sign().
  return out.defined() ? (graph ? out : out.detach()) : zeros_like(dual.detach());
}

}  // namespace

namespace forward_ad {

uint64_t enter_dual_level() {
  Level& state = level_state();
  const std::lock_guard lock(state.mutex);
  check(!state.active, "enter_dual_level: a dual level is active; levels cannot be nested");
  state.active = true;
  return 0;
}

void exit_dual_level(uint64_t level) {
  Level& state = level_state();
  std::vector<Source> released;  // after the lock: hooks may run
  const std::lock_guard lock(state.mutex);
  check(state.active && level == 0, "exit_dual_level: dual level ", level, " is not active");
  state.active = false;
  released.swap(state.sources);
}

}  // namespace forward_ad
}  // namespace autograd

Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t level) {
  using namespace autograd;
  check(primal.defined() && tangent.defined(), "_make_dual: the primal and the tangent must be defined");
  check(is_differentiable(primal.dtype()), "_make_dual: expected a floating point or complex tensor, got ", primal);
  check(primal.sizes() == tangent.sizes() && primal.dtype() == tangent.dtype() && primal.device() == tangent.device(),
        "_make_dual: the tangent must have the shape, dtype and device of the primal: ", tangent, ", ", primal);
  const auto function = primal.grad_fn();
  check(!function || dynamic_cast<DualBackward*>(function.get()) == nullptr,
        "_make_dual: the primal is a dual tensor already");
  Level& state = level_state();
  const std::lock_guard lock(state.mutex);
  check_level(state, level, "_make_dual");
  const AutoGradMode recorded(true);
  Tensor source = primal.detach();
  if (primal.requires_grad())
    record<PrimalBackward>(source, primal);
  else
    source.requires_grad_();
  Tensor dual = primal.detach();
  record<DualBackward>(dual, source);
  state.sources.push_back({source, tangent});
  return dual;
}

std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t level) {
  using namespace autograd;
  check(dual.defined(), "_unpack_dual: the tensor is undefined");
  std::vector<Source> sources;
  {
    Level& state = level_state();
    const std::lock_guard lock(state.mutex);
    if (state.active && level == 0) sources = state.sources;
  }
  return {dual, tangent_of(dual, sources)};
}

}  // namespace tandem
