#include "tandem/nn/quantize.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/quantized_linear.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/nn/layers/attention.h"
#include "tandem/nn/layers/embedding.h"
#include "tandem/nn/quantizable.h"

namespace tandem::nn {
namespace {

// A module at its first place in the model.
struct Place {
  std::string name;
  Module* module;
  Quantizable* layer;  // the same, or nullptr
  bool read_by_parent = false;
};

std::string joined(const std::string& name, const std::string& entry) {
  return name.empty() ? entry : name + "." + entry;
}

std::vector<Place> places(Module& model) {
  std::vector<Place> out;
  std::unordered_set<const Module*> seen, read;
  model.apply([&](const std::string& name, Module& module) {
    if (!seen.insert(&module).second) return;
    if (auto* attention = module.as<MultiheadAttention>()) read.insert(attention->out_proj.get());
    out.push_back({name, &module, dynamic_cast<Quantizable*>(&module)});
  });
  for (Place& place : out) place.read_by_parent = read.contains(place.module);
  return out;
}

// A parameter, and everything that holds it.
struct Weight {
  Tensor tensor;
  std::vector<std::pair<std::string, const Place*>> holders;  // with the parameter's full name
};

// Those with two or more dimensions, in the order of the model.
std::vector<Weight> weights(const std::vector<Place>& all) {
  std::vector<Weight> out;
  std::unordered_map<const void*, std::size_t> known;
  for (const Place& place : all)
    for (const auto& item : place.module->named_parameters(false)) {
      const Tensor& t = item.value();
      if (!t.defined() || t.dim() < 2) continue;
      const auto [at, is_new] = known.emplace(t.impl(), out.size());
      if (is_new) out.push_back({t, {}});
      out[at->second].holders.emplace_back(joined(place.name, item.key()), &place);
    }
  return out;
}

// Why this holder keeps the weight floating point; empty if it need not.
std::string obstacle_of(const Place& place, const std::string& name) {
  if (place.layer == nullptr || name != joined(place.name, "weight"))
    return "not the weight of a linear layer or an embedding";
  if (place.read_by_parent) return "MultiheadAttention reads it itself";
  const auto* table = place.module->as<Embedding>();
  return table != nullptr && table->options.max_norm() ? "max_norm changes its rows" : "";
}

// The reason for each holder; none if the weight can be quantised.
std::vector<std::string> obstacles(const Weight& weight) {
  std::vector<std::string> own;
  std::string first;  // of the reasons, with the name of its holder
  for (const auto& [name, place] : weight.holders) {
    own.push_back(obstacle_of(*place, name));
    if (first.empty() && !own.back().empty()) first = concat("shared with ", name, ": ", own.back());
  }
  if (!first.empty()) {
    for (std::string& reason : own)
      if (reason.empty()) reason = first;
    return own;
  }
  const std::size_t count = own.size();
  const Tensor rows = weight.holders.front().second->layer->weight_rows();
  for (const auto& [name, place] : weight.holders) {
    const Tensor others = place->layer->weight_rows();
    if (rows.sizes() != others.sizes() || rows.strides() != others.strides())
      return std::vector<std::string>(count, "layers that share it read it in two directions");
  }
  if (!weight.tensor.is_floating_point() || weight.tensor.numel() == 0)
    return std::vector<std::string>(count, "no floating point values");
  if (!weight.tensor.detach().isfinite().all().item<bool>())
    return std::vector<std::string>(count, "there are values that are not finite");
  return {};
}

void freeze(const Module& model) {
  for (const Tensor& parameter : model.parameters()) parameter.set_requires_grad(false);
}

}  // namespace

QuantizeResult quantize_weights(Module& model, const QuantizeOptions& options) {
  check(options.bits == 8, "quantize_weights: bits must be 8, got ", options.bits);
  check(options.group >= 1, "quantize_weights: group must be at least 1, got ", options.group);
  const std::vector<Place> all = places(model);
  for (const Place& place : all)
    check(!place.module->is_training(), "quantize_weights: ", place.name.empty() ? "the model" : "'" + place.name + "'",
          " is in training mode; call eval() first, because int8 weights cannot be trained");
  QuantizeResult result;
  std::unordered_set<const Place*> converted;
  std::vector<Weight> all_weights = weights(all);
  for (Weight& weight : all_weights) {
    if (const std::vector<std::string> reasons = obstacles(weight); !reasons.empty()) {
      for (std::size_t i = 0; i < reasons.size(); ++i)
        result.left_alone.push_back({weight.holders[i].first, reasons[i]});
      continue;
    }
    const auto [values, scales] =
        autograd::quantize(weight.holders.front().second->layer->weight_rows().detach(), options.group);
    for (const auto& [name, place] : weight.holders) {
      place->layer->quantize(values, scales);
      converted.insert(place);
    }
    weight.tensor = Tensor();  // its memory is free before the next one is converted
  }
  for (const Place& place : all)
    if (converted.contains(&place)) result.converted.push_back(place.name);
  freeze(model);
  return result;
}

void quantize_like(Module& model, const OrderedDict<std::string, Tensor>& state) {
  using Parts = std::pair<Tensor, Tensor>;
  const std::vector<Place> all = places(model);
  std::vector<std::pair<Quantizable*, Parts>> found;
  std::unordered_map<const void*, Parts> known;  // by the weight that they replace
  for (const Place& place : all) {
    const Tensor* values = state.find(joined(place.name, "weight_int8"));
    const Tensor* scales = state.find(joined(place.name, "weight_scale"));
    if (values == nullptr || scales == nullptr) continue;
    check(place.layer != nullptr && !place.read_by_parent, "quantize_like: ", place.name, " cannot have int8 weights");
    const bool done = place.layer->is_quantized();
    const Tensor rows = done ? place.layer->weight_int8 : place.layer->weight_rows();
    check(
        values->dim() == 2 && scales->dim() == 2 && values->sizes() == rows.sizes() && scales->size(0) == rows.size(0),
        "quantize_like: ", joined(place.name, "weight"), " is ", rows.sizes(), " here, in the state dict ", *values,
        " with scales ", *scales);
    autograd::group_size(rows.size(1), scales->size(1));
    if (done) {
      check(place.layer->weight_scale.sizes() == scales->sizes(), "quantize_like: ", place.name,
            " is already quantised, with other groups: scales ", place.layer->weight_scale.sizes(),
            ", in the state dict ", scales->sizes());
      continue;
    }
    const Tensor weight = place.module->named_parameters(false)["weight"];
    const auto at = known.find(weight.impl());
    if (at == known.end()) {
      const TensorOptions like = weight.options().requires_grad(false);
      known.emplace(weight.impl(), Parts(zeros(rows.sizes(), like.dtype(kChar)), zeros(scales->sizes(), like)));
    }
    found.emplace_back(place.layer, known.at(weight.impl()));
  }
  for (auto& [layer, parts] : found) layer->quantize(parts.first, parts.second);
  if (!found.empty()) freeze(model);
}

}  // namespace tandem::nn
