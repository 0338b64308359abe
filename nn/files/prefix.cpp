// Removing a prefix from names.
#include "tandem/nn/files/prefix.h"

#include <algorithm>
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

std::string wrapping(const std::vector<std::string>& names, const std::vector<std::string>& own) {
  constexpr std::string_view kWrappers[] = {"module.", "_orig_mod."};
  std::string out;
  if (names.empty()) return out;
  for (;;) {
    const auto found = std::find_if(std::begin(kWrappers), std::end(kWrappers), [&](std::string_view wrapper) {
      const auto starts = [&](const std::string& name) {
        return name.compare(out.size(), wrapper.size(), wrapper) == 0;
      };
      return std::all_of(names.begin(), names.end(), starts) &&
             std::none_of(own.begin(), own.end(), [&](const std::string& name) { return name.starts_with(wrapper); });
    });
    if (found == std::end(kWrappers)) return out;
    out += *found;
  }
}

OrderedDict<std::string, Tensor> unwrapped(const OrderedDict<std::string, Tensor>& state) {
  return without_prefix(state, wrapping(state.keys()));
}

}  // namespace tandem::serialize
