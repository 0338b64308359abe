// load_checkpoint: reads everything into new memory, and changes nothing before all processes could.
#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/atomic_folder.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/nn/state_match.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"
#include "tandem/parallel/fully_sharded/checkpoint_parts.h"

namespace tandem::distributed {
namespace {

namespace fs = std::filesystem;
using namespace detail;
using serialize::SafeTensorsReader;
using serialize::TensorEntry;
using Texts = OrderedDict<std::string, std::string>;

// The names of a checkpoint's tensors that do not fit.
struct Misfits {
  Names missing, unexpected, shapes;

  void compare(const TensorEntry& entry, IntArrayRef sizes) {
    if (IntArrayRef(entry.sizes) != sizes)
      shapes.push_back(concat(entry.name, ": is ", sizes, " here, ", entry.sizes, " in the file"));
  }
  void report(const std::string& path, const char* of) const {
    if (missing.empty() && unexpected.empty() && shapes.empty()) return;
    fail(path, ": does not match the ", of, nn::listed("\n  missing:", missing),
         nn::listed("\n  unexpected:", unexpected), nn::listed("\n  shape mismatch:", shapes));
  }
};

std::unordered_map<std::string, std::size_t> positions_of(const SafeTensorsReader& file) {
  std::unordered_map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < file.items().size(); ++i) out.emplace(file.items()[i].entry.name, i);
  return out;
}

// Each process verifies a part of the file, so that all of it is.
void verify_share(const SafeTensorsReader& file, const ProcessGroup& group) {
  std::vector<std::size_t> own;
  std::vector<uint64_t> used(static_cast<std::size_t>(group.size()), 0);
  for (std::size_t i = 0; i < file.items().size(); ++i) {
    const auto least = std::min_element(used.begin(), used.end());
    *least += file.items()[i].entry.end - file.items()[i].entry.begin + 1;
    if (least - used.begin() == group.rank()) own.push_back(i);
  }
  file.verify(own);
}

// This process's slice of the tensors `items`, one for each parameter of `like`.
Tensor read_slice(const SafeTensorsReader& file, const ShardedSlice& like, const std::vector<std::size_t>& items,
                  int rank) {
  const int64_t length = like.slice.numel(), begin = rank * length;
  Tensor out = zeros({length}, like.slice.options().requires_grad(false));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ShardedSlice::Parameter& p = like.parameters[i];
    const int64_t from = std::max(begin, p.offset), to = std::min(begin + length, p.offset + p.numel);
    if (from >= to) continue;
    const Tensor part = out.narrow(0, from - begin, to - from);
    if (IntArrayRef(p.strides) == IntArrayRef(dense_strides(p.sizes, MemoryFormat::Contiguous))) {
      file.read_elements(items[i], from - p.offset, part);
      continue;
    }
    const Tensor whole = empty({p.numel}, TensorOptions(file.items()[items[i]].entry.dtype));
    file.read_into({{items[i], alias(whole, p.sizes, p.strides, 0)}});
    Tensor(part).copy_(whole.narrow(0, from - p.offset, to - from));
  }
  return out;
}

// Values that have been read, and where they belong.
using Staged = std::vector<std::pair<Tensor, Tensor>>;

Staged read_model(const FullyShardedDataParallelBase& model, const std::vector<ShardedSlice>& slices,
                  const std::string& path) {
  const SafeTensorsReader file(path);
  const auto positions = positions_of(file);
  const auto names = names_of_parameters(model);
  const auto buffers = buffers_of(model, names);
  Misfits misfits;
  for (const auto& item : file.items())
    if (!names.contains(item.entry.name) && !buffers.contains(item.entry.name))
      misfits.unexpected.push_back(item.entry.name);
  std::vector<std::vector<std::size_t>> items;
  for (const ShardedSlice& slice : slices) {
    items.emplace_back();
    for (const auto& parameter : slice.parameters) {
      const Names& known = names.at(parameter.name);
      const auto name = std::find_if(known.begin(), known.end(), [&](const auto& n) { return positions.contains(n); });
      if (name == known.end()) {
        misfits.missing.push_back(parameter.name);
        continue;
      }
      items.back().push_back(positions.at(*name));
      misfits.compare(file.items()[items.back().back()].entry, parameter.sizes);
    }
  }
  for (const auto& [name, buffer] : buffers)
    if (positions.contains(name))
      misfits.compare(file.items()[positions.at(name)].entry, buffer.sizes());
    else
      misfits.missing.push_back(name);
  misfits.report(path, "model");

  const ProcessGroup& group = *model.process_group();
  verify_share(file, group);
  Staged out;
  for (std::size_t s = 0; s < slices.size(); ++s)
    out.emplace_back(read_slice(file, slices[s], items[s], group.rank()), slices[s].slice);
  std::vector<SafeTensorsReader::Target> targets;
  for (const auto& [name, buffer] : buffers) {
    out.emplace_back(empty_like(buffer), buffer);
    targets.push_back({positions.at(name), out.back().first});
  }
  file.read_into(targets);
  return out;
}

// What is to be known of a slice: by field the items, or the text, of its parameters.
struct SliceState {
  std::unordered_map<std::string, std::vector<optional<std::size_t>>> items;
  std::unordered_map<std::string, std::vector<optional<std::string>>> texts;
};

// Throws Error unless all parameters of the slice have a value.
template <class Value>
std::vector<Value> of_all(const std::vector<optional<Value>>& values, const ShardedSlice& slice,
                          const std::string& field, const std::string& path) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    check(values[i].has_value(), path, ": lacks ", key_of(slice.parameters[i].name, field),
          ", although other parameters of the same slice have it");
    out.push_back(*values[i]);
  }
  return out;
}

// The archive that the optimizer of this process would have saved.
serialize::InputArchive read_optimizer(const optim::Optimizer& optimizer, const std::vector<ShardedSlice>& slices,
                                       const std::string& path, const ProcessGroup& group) {
  check(fs::is_directory(path), path, ": there is no such folder; the checkpoint has been saved without an optimizer");
  const SafeTensorsReader file(path);
  const Groups groups = groups_of(optimizer, slices);
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> places;  // slice and parameter of a name
  for (std::size_t s = 0; s < groups.slices.size(); ++s)
    for (std::size_t i = 0; i < groups.slices[s]->parameters.size(); ++i)
      places[groups.slices[s]->parameters[i].name] = {s, i};
  std::vector<SliceState> states(groups.slices.size());
  Misfits misfits;
  for (std::size_t n = 0; n < file.items().size(); ++n) {
    const TensorEntry& entry = file.items()[n].entry;
    if (entry.name == kGroups) continue;
    const auto key = parse_key(entry.name);
    const auto place = key ? places.find(key->what) : places.end();
    if (place == places.end()) {
      misfits.unexpected.push_back(entry.name);
      continue;
    }
    const auto [s, i] = place->second;
    misfits.compare(entry, groups.slices[s]->parameters[i].sizes);
    auto& items = states[s].items[key->field];
    items.resize(groups.slices[s]->parameters.size());
    items[i] = n;
  }
  OrderedDict<std::string, Tensor> tensors("Tensor");
  Texts metadata("Entry");
  for (const auto& [name, text] : file.metadata()) {
    const auto key = parse_key(name);
    if (!key) {
      metadata.insert(name, text);
      continue;
    }
    const auto place = places.find(key->what);
    if (place == places.end()) {
      misfits.unexpected.push_back(name);
      continue;
    }
    auto& texts = states[place->second.first].texts[key->field];
    texts.resize(groups.slices[place->second.first]->parameters.size());
    texts[place->second.second] = text;
  }
  misfits.report(path, "optimizer");
  for (std::size_t g = 0; g < groups.names.size(); ++g) {
    std::string* names = metadata.find(params_key(g));
    check(names != nullptr && *names == groups.names[g], path, ": parameter group ", g,
          names == nullptr ? " is missing" : " has other parameters than here");
    *names = std::to_string(groups.sizes[g]);
  }

  verify_share(file, group);
  for (std::size_t s = 0; s < states.size(); ++s) {
    const ShardedSlice& slice = *groups.slices[s];
    for (const auto& [field, items] : states[s].items)
      tensors.insert(key_of(std::to_string(s), field),
                     read_slice(file, slice, of_all(items, slice, field, path), group.rank()));
    for (const auto& [field, texts] : states[s].texts) {
      const Names all = of_all(texts, slice, field, path);
      for (std::size_t i = 1; i < all.size(); ++i)
        check(all[i] == all[0], path, ": ", field, " is ", all[0], " for ", slice.parameters[0].name, ", but ", all[i],
              " for ", slice.parameters[i].name, ", which is in the same slice here; use the units that were saved");
      metadata.insert(key_of(std::to_string(s), field), all[0]);
    }
  }
  return {std::move(tensors), std::move(metadata)};
}

}  // namespace

void load_checkpoint(FullyShardedDataParallelBase& model, const std::string& path, optim::Optimizer* optimizer) {
  constexpr const char* kCaller = "load_checkpoint";
  const NoGradGuard no_grad;
  ProcessGroup& group = *model.process_group();
  std::string error;
  const std::vector<ShardedSlice> slices = model.slices();
  Staged staged;
  serialize::InputArchive state;
  const std::string folder = readable_folder(path);
  attempt(error, [&] {
    staged = read_model(model, slices, folder);
    if (optimizer != nullptr) state = read_optimizer(*optimizer, slices, folder + "/" + kOptimizer, group);
  });
  agree(group, kCaller, error);
  if (optimizer != nullptr) {
    attempt(error, [&] { optimizer->load(state); });
    agree(group, kCaller, error);
  }
  for (auto& [from, to] : staged) Tensor(to.detach()).copy_(from);
}

}  // namespace tandem::distributed
