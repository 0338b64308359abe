#include "tandem/parallel/fully_sharded/checkpoint_parts.h"

#include <algorithm>

#include "tandem/autograd/ops.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed::detail {

namespace {
constexpr std::string_view kState = "state.";
}

void agree(ProcessGroup& group, const char* caller, const std::string& error, const std::string& same) {
  const Names all = exchange_texts(group, error.empty() ? "=" + same : "!" + error);
  std::string text;
  for (auto at = all.begin(); at != all.end(); ++at)
    if (at->front() == '!' && std::find(all.begin(), at, *at) == at)
      text += concat(text.empty() ? "" : "\n", caller, ": rank ", at - all.begin(), ": ", at->substr(1));
  if (!text.empty()) fail(text);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    check(all[rank] == all[0], caller, ": the optimizer of rank ", rank, " differs from that of rank 0");
}

std::unordered_map<std::string, Names> names_of_parameters(const FullyShardedDataParallelBase& model) {
  std::unordered_map<const TensorImpl*, Names> of;
  std::unordered_map<std::string, Names> out;
  model.wrapped().apply([&](const std::string& prefix, const nn::Module& module) {
    for (const auto& [name, parameter] : module.named_parameters(/*recurse=*/false))
      of[parameter.impl()].push_back(prefix.empty() ? name : prefix + "." + name);
  });
  for (auto& item : of) {
    Names& names = item.second;
    for (const std::string& name : names) out[name] = names;
  }
  return out;
}

OrderedDict<std::string, Tensor> buffers_of(const FullyShardedDataParallelBase& model,
                                            const std::unordered_map<std::string, Names>& parameters) {
  OrderedDict<std::string, Tensor> out("Tensor");
  for (const auto& [name, tensor] : model.wrapped().state_dict())
    if (!parameters.contains(name)) out.insert(name, tensor);
  return out;
}

optional<StateKey> parse_key(const std::string& key) {
  if (!key.starts_with(kState)) return nullopt;
  const std::size_t dot = key.rfind('.');
  if (dot < kState.size()) return nullopt;
  return StateKey{key.substr(kState.size(), dot - kState.size()), key.substr(dot + 1)};
}
std::string key_of(const std::string& what, const std::string& field) { return concat(kState, what, ".", field); }

Groups groups_of(const optim::Optimizer& optimizer, const std::vector<ShardedSlice>& slices) {
  Groups out;
  for (const auto& group : optimizer.param_groups()) {
    Names names;
    for (const Tensor& p : group.params()) {
      const auto slice = std::find_if(slices.begin(), slices.end(),
                                      [&](const ShardedSlice& each) { return each.slice.impl() == p.impl(); });
      check(slice != slices.end(), "the optimizer has a parameter that is none of the model's parameters(): ", p);
      out.slices.push_back(&*slice);
      for (const auto& parameter : slice->parameters) names.push_back(parameter.name);
    }
    std::sort(names.begin(), names.end());
    out.sizes.push_back(group.params().size());
    out.counts.push_back(static_cast<int64_t>(names.size()));
    out.names.emplace_back();
    for (const std::string& name : names) out.names.back() += name + "\n";
  }
  return out;
}
std::string params_key(std::size_t group) { return concat("param_groups.", group, ".params"); }

}  // namespace tandem::distributed::detail
