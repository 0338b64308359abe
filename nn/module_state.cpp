// Module: state dicts and cloning. load_state_dict writes values only after checking every name and shape.
#include <algorithm>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/files/prefix.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/state_match.h"

namespace tandem::nn {
namespace {

// What to do if int8 weights (nn/quantize.h) are only on one side; empty if not.
std::string quantised_side(const LoadResult& result) {
  const auto int8 = [](const std::string& name) { return name.ends_with("weight_int8"); };
  if (std::any_of(result.missing_keys.begin(), result.missing_keys.end(), int8))
    return "\n  the module's weights are int8, those of the state dict are not: load them first, then call "
           "nn::quantize_weights";
  if (std::any_of(result.unexpected_keys.begin(), result.unexpected_keys.end(), int8))
    return "\n  the state dict's weights are int8, those of the module are not: call nn::quantize_like(module, state) "
           "before";
  return {};
}

// LibTorch's words for the first entry of `own` that is not in `names`; empty if all are.
std::string missing_entry(const OrderedDict<std::string, Tensor>& own, const std::vector<std::string>& names) {
  for (const auto& item : own) {
    const std::string& key = item.key();
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
      const std::string_view inside(key.data(), dot + 1);
      if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(inside); }))
        return concat("No such serialized submodule: '", inside.substr(0, dot), "'");
    }
    return concat("No such serialized tensor '", key, "'");
  }
  return {};
}

}  // namespace

OrderedDict<std::string, Tensor> Module::state_dict() const {
  OrderedDict<std::string, Tensor> out("Entry");
  apply([&out](const std::string& prefix, const Module& module) {
    for (const auto* tensors : {&module.parameters_, &module.buffers_})
      for (const auto& item : *tensors)
        if (item.value().defined())
          out.insert(prefix.empty() ? item.key() : prefix + "." + item.key(), item.value().detach());
  });
  return out;
}

std::string listed(const char* title, const std::vector<std::string>& lines) {
  constexpr std::size_t kMaxLines = 5;
  if (lines.empty()) return "";
  std::string out = title;
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) out += "\n    " + lines[i];
  return lines.size() > kMaxLines ? out + concat("\n    and ", lines.size() - kMaxLines, " more") : out;
}

StateMatch match_state(const Module& module, const std::vector<StateEntry>& entries, bool strict) {
  const auto own = module.state_dict();
  std::vector<std::string> names;
  for (const StateEntry& entry : entries) names.push_back(entry.name);
  const std::size_t wrapped = serialize::wrapping(names, own.keys()).size();
  std::unordered_map<std::string, std::size_t> positions;
  StateMatch match;
  LoadResult& result = match.result;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string name = names[i].substr(wrapped);
    positions.emplace(name, i);
    if (!own.contains(name)) result.unexpected_keys.push_back(entries[i].name);
  }
  std::vector<std::string> mismatched;
  for (const auto& item : own) {
    const auto found = positions.find(item.key());
    const optional<Dims> sizes = found == positions.end() ? optional<Dims>() : entries[found->second].sizes;
    if (!sizes)
      result.missing_keys.push_back(item.key());
    else if (IntArrayRef(*sizes) != item.value().sizes())
      mismatched.push_back(concat(item.key(), ": is ", item.value().sizes(), " here, ", *sizes, " in the state dict"));
    else
      match.pairs.emplace_back(item.value(), found->second);
  }
  if (!mismatched.empty() || (strict && !(result.missing_keys.empty() && result.unexpected_keys.empty()))) {
    std::string text = "load_state_dict: the state dict does not match " + module.name();
    if (strict) text += listed("\n  missing:", result.missing_keys);
    if (strict) text += listed("\n  unexpected:", result.unexpected_keys);
    fail(text, listed("\n  shape mismatch:", mismatched), quantised_side(result));
  }
  return match;
}

LoadResult Module::load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict) {
  std::vector<StateEntry> entries;
  for (const auto& item : state)
    entries.push_back({item.key(), item.value().defined() ? optional<Dims>(item.value().sizes()) : nullopt});
  StateMatch match = match_state(*this, entries, strict);
  NoGradGuard no_grad;
  for (auto& [tensor, position] : match.pairs) tensor.copy_(state[position].value().detach());
  return std::move(match.result);
}

LoadResult load_checkpoint(const Module& module, const serialize::SafeTensorsReader& file, bool strict,
                           const std::string& prefix) {
  std::vector<std::string> names;
  for (const serialize::SafeTensorsReader::Item& item : file.items()) names.push_back(item.entry.name);
  names = serialize::without_prefix(std::move(names), prefix);
  std::vector<StateEntry> entries;
  for (std::size_t i = 0; i < names.size(); ++i) entries.push_back({std::move(names[i]), file.items()[i].entry.sizes});
  StateMatch match = match_state(module, entries, strict);
  std::vector<serialize::SafeTensorsReader::Target> targets;
  for (auto& [tensor, position] : match.pairs) targets.push_back({position, std::move(tensor)});
  file.read_into(targets);
  return std::move(match.result);
}

namespace {

void copy_values(const OrderedDict<std::string, Tensor>& from, OrderedDict<std::string, Tensor>& to,
                 const optional<Device>& device) {
  for (const auto& item : from) {
    Tensor& target = to[item.key()];
    if (!item.value().defined()) continue;
    const Tensor& source = item.value();
    const Tensor values = source.detach().to(device.value_or(source.device()), source.dtype(), false, true);
    if (target.defined() && !target.is_same(source))
      target.set_data(values);
    else
      target = values;
    if (target.requires_grad() != source.requires_grad()) target.requires_grad_(source.requires_grad());
  }
}

}  // namespace

void Module::forget_members() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
}

void Module::copy_members(const Module& from, const optional<Device>& device) {
  check(parameters_.size() == from.parameters_.size() && buffers_.size() == from.buffers_.size() &&
            children_.size() == from.children_.size(),
        "clone: the copy of ", from.name(),
        " has different parameters, buffers or children; register all of them in reset(), not in the ", "constructor");
  copy_values(from.parameters_, parameters_, device);
  copy_values(from.buffers_, buffers_, device);
  for (const auto& child : from.children_) children_[child.key()]->clone_(*child.value(), device);
}

void Module::differs_from(const Module& other) const {
  fail("clone: child modules differ in type: ", name(), " and ", other.name());
}

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : state_dict()) archive.write(item.key(), item.value());
}
void Module::load(serialize::InputArchive& archive) {
  try {
    if (archive.file_ != nullptr)
      load_checkpoint(*this, *archive.file_, true, "");
    else
      load_state_dict(archive.tensors());
  } catch (const Error& error) {
    const std::string missing = missing_entry(state_dict(), archive.tensors().keys());
    if (missing.empty()) throw;
    fail(missing, "\n", error.what());
  }
}

}  // namespace tandem::nn
