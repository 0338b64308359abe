// State dicts from files.
#include "tandem/nn/files/pt/weights.h"

#include <fstream>

#include "tandem/nn/files/prefix.h"
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt/start.h"
#include "tandem/nn/files/safetensors.h"

namespace tandem::serialize {
namespace {

// Keys of a dictionary for a message; at most 10.
std::string keys_of(const GenericDict& dict) {
  std::string out;
  int count = 0;
  for (const auto& entry : dict) {
    if (++count > 10) return out + ", …";
    const IValue& key = entry.key();
    out += (out.empty() ? "" : ", ") + (key.isString() ? key.toStringRef() : std::string("a number"));
  }
  return out.empty() ? "none" : out;
}

bool is_pt(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char start[pt::kStartSize] = {};
  return in.read(start, sizeof start) && pt::starts_as_pt({start, sizeof start});
}

}  // namespace

OrderedDict<std::string, Tensor> state_dict_of(const IValue& value, const std::string& key) {
  IValue at = value;
  for (std::size_t begin = 0; begin < key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    check(at.isGenericDict(), "state dict: '", part, "' of '", key, "' is looked for in a ", at.type_name(),
          ", not in a dictionary");
    const auto found = at.toGenericDict().find(IValue(part));
    check(found != at.toGenericDict().end(), "state dict: there is no '", part, "'; the keys are ",
          keys_of(at.toGenericDict()));
    const IValue next = found->value();
    at = next;
    begin = end + 1;
  }
  check(at.isGenericDict(), "state dict: expected a dictionary of tensors, got a ", at.type_name());
  OrderedDict<std::string, Tensor> out("Entry");
  for (const auto& entry : at.toGenericDict()) {
    if (!entry.key().isString() || !entry.value().isTensor())
      fail("state dict: '", entry.key().isString() ? entry.key().toStringRef() : "a number", "' is a ",
           entry.value().type_name(),
           ", not a tensor; name the dictionary to load with a key: ", keys_of(at.toGenericDict()));
    out.insert(entry.key().toStringRef(), entry.value().toTensor());
  }
  return out;
}

OrderedDict<std::string, Tensor> read_weights(const std::string& path, const WeightsOptions& options) {
  OrderedDict<std::string, Tensor> read("Entry");
  if (is_pt(path)) {
    read = state_dict_of(load_pt(path), options.key());
  } else {
    check(options.key().empty(), path, ": is not a .pt file: there is nothing under the key ", options.key());
    read = load_safetensors(path).tensors;
  }
  return without_prefix(read, options.prefix());
}

nn::LoadResult load_weights(nn::Module& module, const std::string& path, const WeightsOptions& options) {
  if (!is_pt(path)) return load_safetensors(module, path, options);
  return module.load_state_dict(read_weights(path, options), options.strict());
}

}  // namespace tandem::serialize
