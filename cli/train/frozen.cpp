#include "tandem/cli/train/frozen.h"

#include <fnmatch.h>

#include <algorithm>

#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/cli/train/models.h"
#include "tandem/core/base/suggest.h"

namespace tandem::cli {
namespace {

// "a.b.weight": "a.b.weight", "a.b", "a".
std::vector<std::string> paths_of(const std::string& name) {
  std::vector<std::string> out;
  for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1))
    out.push_back(name.substr(0, end));
  return out;
}

bool matches(const std::string& pattern, const std::string& name) {
  const std::vector<std::string> paths = paths_of(name);
  return std::ranges::any_of(paths,
                             [&](const std::string& path) { return ::fnmatch(pattern.c_str(), path.c_str(), 0) == 0; });
}

// The three names of parameters and modules that differ least from `word`.
std::string nearest_names(const std::string& word, const OrderedDict<std::string, Tensor>& parameters) {
  std::vector<std::string> names;
  for (const auto& item : parameters)
    for (const std::string& path : paths_of(item.key()))
      if (std::ranges::count(names, path) == 0) names.push_back(path);
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, names.size()); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return out;
}

std::vector<std::string> names_of_head(const std::string& model_name, const nn::Module& net) {
  if (is_onnx(model_name)) return onnx_head(net);
  std::vector<std::string> out;
  const auto parameters = net.named_parameters();
  const std::string last = parameters.keys().back(), head = last.substr(0, last.rfind('.') + 1);
  for (const auto& item : parameters)
    if (item.key().starts_with(head)) out.push_back(item.key());
  return out;
}

}  // namespace

void freeze(const std::string& model_name, const nn::Sequential& model, const std::string& patterns) {
  if (patterns.empty()) return;
  const auto net = network(model_name, model);
  const auto parameters = net->named_parameters();
  const std::vector<std::string> head = names_of_head(model_name, *net);
  for (const std::string& pattern : split_names(patterns)) {
    require(pattern != kAllButHead || !is_text_model(model_name), "--freeze ", pattern, ": the last layer of ",
            model_name, " is also its first, the embedding; name what is to be frozen, such as transformer.h.0");
    bool found = false;
    for (const auto& item : parameters) {
      const bool in_head = std::ranges::count(head, item.key()) > 0;
      const bool meant = pattern == kAllButHead ? !in_head : matches(pattern, item.key());
      if (meant) item.value().set_requires_grad(false);
      found = found || meant;
    }
    require(found || pattern != kAllButHead, "--freeze ", pattern, ": ", model_name, " has only one layer");
    if (!found)
      refuse("--freeze ", pattern, ": no parameter or layer of ", model_name, " has this name; the nearest are ",
             nearest_names(pattern, parameters));
  }
  const bool some = std::ranges::any_of(parameters, [](const auto& item) { return item.value().requires_grad(); });
  require(some, "--freeze ", patterns, ": no parameter of ", model_name, " is left to train");
}

void train_unfrozen(nn::Module& model) {
  model.train();
  model.apply([](nn::Module& module) {
    const auto own = module.parameters(/*recurse=*/false);
    const bool frozen = !own.empty() && std::ranges::none_of(own, [](const Tensor& p) { return p.requires_grad(); });
    if (frozen && !module.buffers(/*recurse=*/false).empty()) module.eval();
  });
}

}  // namespace tandem::cli
