// LibTorch's names for what an optimizer saves; A is a parameter's address in the process that wrote the file:
//   param_groups.param_groups/size                  number of groups, a tensor
//   param_groups.param_groups/G.params/size         number of parameters of group G, a tensor
//   param_groups.param_groups/G.params/I            A of its parameter I, a string
//   param_groups.param_groups/G.options.OPTION      a value
//   state.A.FIELD                                   a value, a tensor or a list of tensors
#include "tandem/nn/optim/libtorch_state.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tandem/nn/files/archive.h"
#include "tandem/nn/files/archive_value.h"

namespace tandem::optim {
namespace {

constexpr const char* kGroups = "param_groups.param_groups/";

int64_t read_size(serialize::InputArchive& archive, const std::string& key) {
  Tensor size;
  archive.read(key, size);
  check(is_integral(size.dtype(), false) && size.numel() == 1, "archive: '", key,
        "' is not one integer: ", size.dtype(), " ", size.sizes());
  return size.item<int64_t>();
}

// A number, a text, a list of tensors or, for betas, a tuple. Other values would take time to read, and are none of an
// optimizer's.
IValue read_plain(serialize::InputArchive& archive, const std::string& key) {
  const std::string* text = archive.metadata().find(key);
  constexpr std::size_t kKind = std::string_view(serialize::kValueMark).size(), kMaxTuple = 100;
  if (text != nullptr && serialize::is_value(*text)) {
    const char kind = text->size() > kKind ? (*text)[kKind] : ' ';
    check(std::string_view("nidbsT").find(kind) != std::string_view::npos || (kind == 'u' && text->size() <= kMaxTuple),
          "archive: '", key, "' is neither a number nor a list of tensors");
  }
  IValue value;
  archive.read(key, value);
  return value;
}

// A file can repeat an element of a tensor endlessly; a copy of it would need the memory.
const Tensor& not_expanded(const Tensor& t, const std::string& key) {
  check(t.numel() <= static_cast<int64_t>(t.storage().nbytes()) / t.element_size(), "archive: '", key,
        "' has more elements than its storage");
  return t;
}

// Writes the options in a file under `to`. The options of the group say which names there are.
void write_options(serialize::InputArchive& saved, const OptimizerOptions& options, const std::string& to,
                   serialize::OutputArchive& out) {
  serialize::OutputArchive given, defaults;
  std::unordered_set<std::string> names;
  const auto add = [&](const std::string& name, const IValue& value) {
    check(!value.isTensor(), name, " is a tensor");
    names.insert(name);
    if (!value.isNone()) given.write(name, value);
  };
  for (const std::string& name : saved.keys()) {
    const IValue value = read_plain(saved, name);
    if (name != "betas") {
      add(name, value);
      continue;
    }
    check(value.isTuple() && value.toTupleRef().elements().size() == 2, "betas are not two numbers");
    for (const int i : {0, 1}) add(concat("beta", i + 1), value.toTupleRef().elements()[i]);
  }
  options.serialize(defaults);
  for (const auto& item : defaults.metadata())
    if (!names.contains(item.key())) given.write(item.key(), item.value());
  const std::unique_ptr<OptimizerOptions> read = options.clone();
  serialize::InputArchive in(given.tensors(), given.metadata());
  read->serialize(in);
  serialize::OutputArchive again;
  read->serialize(again);
  for (const auto& item : given.metadata())
    check(again.metadata().contains(item.key()), "this optimizer has no ", item.key(),
          ": another kind of optimizer was saved");
  out.write(to, given);
}

// Writes the states of the parameters whose addresses are known.
void write_states(serialize::InputArchive& archive, const std::unordered_map<std::string, std::size_t>& index_of,
                  serialize::OutputArchive& out) {
  const std::string start = "state.";
  const auto own_name = [&](const std::string& key) -> std::string {
    if (!key.starts_with(start)) return {};
    const std::size_t end = std::min(key.find('.', start.size()), key.size());
    const auto found = index_of.find(key.substr(start.size(), end - start.size()));
    return found == index_of.end() ? "" : concat(start, found->second, key.substr(end));
  };
  for (const auto& item : archive.metadata()) {
    const std::string name = own_name(item.key());
    if (name.empty()) continue;
    const IValue value = read_plain(archive, item.key());
    if (!value.isTensorList() && !value.isNone()) out.write(name, value);
    if (!value.isTensorList()) continue;
    const std::vector<Tensor> list = value.toTensorVector();
    out.write(name + "/size", static_cast<int64_t>(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) out.write(concat(name, "/", i), not_expanded(list[i], item.key()));
  }
  for (const auto& item : archive.tensors()) {
    const std::string name = own_name(item.key());
    if (!name.empty() && name.find('#') == std::string::npos)  // "#": a value's tensor
      out.write(name, not_expanded(item.value(), item.key()));
  }
}

}  // namespace

bool is_libtorch_state(const serialize::InputArchive& archive) {
  return archive.contains(concat(kGroups, "size")) && !archive.contains("optimizer");
}

serialize::InputArchive own_state(serialize::InputArchive& archive, const std::string& name,
                                  const std::vector<OptimizerParamGroup>& groups) {
  serialize::OutputArchive out;
  const int64_t group_count = read_size(archive, concat(kGroups, "size"));
  out.write("optimizer", name);
  out.write("param_groups", group_count);
  std::unordered_map<std::string, std::size_t> index_of;
  for (int64_t g = 0; g < std::min(group_count, static_cast<int64_t>(groups.size())); ++g) {
    const std::string from = concat(kGroups, g, "."), to = concat("param_groups.", g);
    const int64_t count = read_size(archive, from + "params/size");
    out.write(to + ".params", count);
    // Ends with an error at the first missing address, whatever the size claims.
    for (int64_t i = 0; i < count; ++i) {
      const IValue value = read_plain(archive, concat(from, "params/", i));
      check(value.isString(), "archive: '", from, "params/", i, "' is not a text");
      const std::string& address = value.toStringRef();
      check(index_of.emplace(address, index_of.size()).second, name, ".load: parameter ", i, " of group ", g,
            " was saved twice");
    }
    serialize::InputArchive options;
    archive.read(from + "options", options);
    try {
      write_options(options, groups[static_cast<std::size_t>(g)].options(), to, out);
    } catch (const Error& error) {
      fail(name, ".load: the options of group ", g, ": ", error.what());
    }
  }
  write_states(archive, index_of, out);
  return {out.tensors(), out.metadata()};
}

}  // namespace tandem::optim
