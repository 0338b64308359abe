// Parameters that lack a gradient: which ones they are, and what becomes of their gradients.
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/parallel/distributed_data_parallel/reducer_impl.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {

// Under static_graph the first backward pass shows which parameters are unused.
void Reducer::Impl::learn_unused() {
  learned = true;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (times[i] == 0) remembered.push_back(i);
    mark_ready(i, times[i] > 0);
  }
  unused = remembered;
  start_complete();
}

// The parameters without a gradient take part with zeros.
void Reducer::Impl::add_missing() {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (ready[i]) continue;
    unused.push_back(i);
    mark_ready(i, false);
  }
  start_complete();
}

std::vector<char> Reducer::Impl::gather_used() {
  Tensor used = ones({1, static_cast<int64_t>(parameters.size())}, kInt);
  for (const std::size_t i : unused) used.data_ptr<int>()[i] = used_before[i];
  used = gather_rows(*group, used).amax(0);
  return std::vector<char>(used.data_ptr<int>(), used.data_ptr<int>() + parameters.size());
}

// A parameter that no process used keeps the gradient that it had, as it does without processes; the others get the
// average.
void Reducer::Impl::keep_unused() {
  if (may_lack_gradients()) {
    if (!options.static_graph || !rebuilt) used_anywhere = gather_used();
    for (const std::size_t i : unused)
      if (used_anywhere[i]) parameters[i].mutable_grad() = buckets[places[i].bucket].views[places[i].index].detach();
  }
  used_before.assign(parameters.size(), 0);
}

// Whether the outputs depend on no parameter. Finds the unused parameters, except under static_graph.
bool Reducer::Impl::uses_nothing(const Tensors& outputs) {
  if (options.static_graph && learned) return remembered.size() == parameters.size();
  const auto nodes = nodes_behind(outputs);
  std::vector<std::size_t> absent;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!nodes.contains(autograd::gradient_edge(parameters[i]).function.get())) absent.push_back(i);
  const bool all = absent.size() == parameters.size();
  if (!options.static_graph) unused = std::move(absent);
  return all;
}

}  // namespace tandem::distributed
