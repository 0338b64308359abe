// Removing a prefix from names.
#include "tandem/nn/files/prefix.h"

#include <unordered_set>

namespace tandem::serialize {

std::vector<std::string> without_prefix(std::vector<std::string> names, const std::string& prefix) {
  if (prefix.empty()) return names;
  std::unordered_set<std::string> seen;
  for (std::string& name : names) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    check(seen.insert(name).second, "two tensors would be called '", name, "' without the prefix '", prefix, "'");
  }
  return names;
}

OrderedDict<std::string, Tensor> without_prefix(const OrderedDict<std::string, Tensor>& state,
                                                const std::string& prefix) {
  std::vector<std::string> names = without_prefix(state.keys(), prefix);
  OrderedDict<std::string, Tensor> out("Entry");
  for (std::size_t i = 0; i < names.size(); ++i) out.insert(std::move(names[i]), state[i].value());
  return out;
}

}  // namespace tandem::serialize
