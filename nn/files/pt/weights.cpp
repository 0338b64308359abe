// State dicts from files.
#include "tandem/nn/files/pt/weights.h"

#include "tandem/nn/files/prefix.h"
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt_plugin.h"
#include "tandem/nn/files/safetensors.h"

namespace tandem::serialize {
namespace {

std::string key_text(const IValue& key) {
  if (key.isString()) return key.toStringRef();
  if (key.isBool()) return key.toBool() ? "True" : "False";
  return key.isInt() ? std::to_string(key.toInt()) : concat(key.toDouble());
}

// Keys of a dictionary for a message; at most 10.
std::string keys_of(const GenericDict& dict) {
  std::string out;
  int count = 0;
  for (const auto& entry : dict) {
    if (++count > 10) return out + ", …";
    out += (out.empty() ? "" : ", ") + key_text(entry.key());
  }
  return out.empty() ? "none" : out;
}

// The entry whose key is this string or this number.
IValue entry_of(const GenericDict& dict, const std::string& key) {
  for (const auto& entry : dict)
    if (key_text(entry.key()) == key) return entry.value();
  // An object's attributes are in one dictionary: an attribute that is an object itself is a part of their names.
  GenericDict part;
  for (const auto& entry : dict)
    if (entry.key().isString() && entry.key().toStringRef().starts_with(key + "."))
      part.insert(entry.key().toStringRef().substr(key.size() + 1), entry.value());
  if (!part.empty()) return part;
  fail("state dict: there is no '", key, "'; the keys are ", keys_of(dict));
}

// A module of TorchScript has the attribute `training`, and may have others that are no tensors. A dictionary in it is
// a sign of something else: of a checkpoint, whose weights it may have.
bool is_scripted(const GenericDict& dict) {
  bool training = false;
  for (const auto& entry : dict) {
    if (entry.value().isGenericDict()) return false;
    training = training || (entry.key() == IValue("training") && entry.value().isBool());
  }
  return training;
}

}  // namespace

OrderedDict<std::string, Tensor> state_dict_of(const IValue& value, const std::string& key) {
  IValue at = value;
  for (std::size_t begin = 0; begin < key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    check(at.isGenericDict(), "state dict: '", part, "' of '", key, "' is looked for in a value of type ",
          at.type_name(), ", not in a dictionary");
    at = IValue(entry_of(at.toGenericDict(), part));
    begin = end + 1;
  }
  check(at.isGenericDict(), "state dict: expected a dictionary of tensors, got a value of type ", at.type_name());
  OrderedDict<std::string, Tensor> out("Entry");
  const bool scripted = is_scripted(at.toGenericDict());
  for (const auto& entry : at.toGenericDict()) {
    if (scripted && !entry.value().isTensor()) continue;
    if (!entry.value().isTensor())
      fail("state dict: '", key_text(entry.key()), "' has type ", entry.value().type_name(),
           ", not Tensor; name the dictionary to load with a key: ", keys_of(at.toGenericDict()));
    if (!entry.key().isString())
      fail("state dict: the key ", key_text(entry.key()), " has type ", entry.key().type_name(),
           "; the names of tensors must be strings: convert them before saving");
    out.insert(entry.key().toStringRef(), entry.value().toTensor());
  }
  check(
      !scripted || !out.is_empty(),
      "state dict: the module of TorchScript has no tensors; those of a frozen one are constants of its code, which is "
      "not read");
  return out;
}

OrderedDict<std::string, Tensor> read_weights(const std::string& path, const WeightsOptions& options) {
  OrderedDict<std::string, Tensor> read("Entry");
  if (pt::is_pt_file(path)) {
    read = state_dict_of(load_pt(path), options.key);
  } else {
    check(options.key.empty(), path, ": is not a .pt file: there is nothing under the key ", options.key);
    read = load_safetensors(path).tensors;
  }
  return without_prefix(read, options.prefix);
}

nn::LoadResult load_weights(nn::Module& module, const std::string& path, const WeightsOptions& options) {
  if (!pt::is_pt_file(path)) return load_safetensors(module, path, options);
  return module.load_state_dict(read_weights(path, options), options.strict);
}

}  // namespace tandem::serialize
