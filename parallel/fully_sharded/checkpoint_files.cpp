#include "tandem/parallel/fully_sharded/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/atomic_folder.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/files/safetensors_writer.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {
namespace {

namespace fs = std::filesystem;
using serialize::SafeTensorsReader;
using serialize::SafeTensorsWriter;
using serialize::TensorEntry;
using Texts = OrderedDict<std::string, std::string>;
using Names = std::vector<std::string>;

constexpr const char* kModel = "model";
constexpr const char* kOptimizer = "optimizer";
constexpr std::string_view kState = "state.";
// A tensor of how many parameters each group has, so that the index lists a file if there is no state yet.
constexpr const char* kGroups = "param_groups";

// ---- errors: a process goes on with the calls of all when it has failed

template <class F>
void attempt(std::string& error, const F& f) {
  if (!error.empty()) return;
  try {
    f();
  } catch (const DistributedError&) {
    throw;
  } catch (const std::exception& thrown) {
    error = thrown.what();
    if (error.empty()) error = "an exception without a message";
  }
}

// Throws on all processes if one has an error, or if they differ in `same`. Equal errors are named once.
void agree(ProcessGroup& group, const char* caller, const std::string& error, const std::string& same = "") {
  const Names all = exchange_texts(group, error.empty() ? "=" + same : "!" + error);
  std::string text;
  for (auto at = all.begin(); at != all.end(); ++at)
    if (at->front() == '!' && std::find(all.begin(), at, *at) == at)
      text += concat(text.empty() ? "" : "\n", caller, ": rank ", at - all.begin(), ": ", at->substr(1));
  if (!text.empty()) fail(text);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    check(all[rank] == all[0], caller, ": the optimizer of rank ", rank, " differs from that of rank 0");
}

// An exception that the others do not know of, as when memory is exhausted, must not let them wait.
template <class F>
void or_abort(ProcessGroup& group, const F& f) {
  try {
    f();
  } catch (...) {
    abort_with(group, std::current_exception(), "an exception");
    throw;
  }
}

// ---- what is in the files

// Tensors of which each process has a slice, in the same places as the parameters.
struct SlicedTensors {
  const ShardedSlice* like;
  Tensor slice;              // [n]
  std::vector<Names> names;  // of each parameter's tensor
  std::size_t file = 0;      // from 0
  std::size_t first = 0;     // the number of the first entry in the file
};

struct Files {
  std::string stem;
  std::vector<SlicedTensors> sliced;
  OrderedDict<std::string, Tensor> whole{"Tensor"};  // in the first file
  std::vector<std::vector<TensorEntry>> entries;     // of each file
  std::vector<Texts> metadata;
};

uint64_t bytes_of(const TensorEntry& entry) {
  uint64_t bytes = item_size(entry.dtype);
  for (const int64_t size : entry.sizes) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

// Slices, the largest of which comes first, go to the file that has the least. A file belongs to the process of its
// number; there are no empty ones.
void divide(Files& files, int ranks) {
  std::vector<uint64_t> used(static_cast<std::size_t>(ranks), 0);
  for (const auto& [name, tensor] : files.whole) used[0] += tensor.nbytes();
  std::vector<SlicedTensors*> order;
  for (SlicedTensors& each : files.sliced) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [](const SlicedTensors* a, const SlicedTensors* b) {
    return a->slice.nbytes() > b->slice.nbytes();
  });
  for (SlicedTensors* each : order) {
    each->file = static_cast<std::size_t>(std::min_element(used.begin(), used.end()) - used.begin());
    used[each->file] += each->slice.nbytes();
  }
  std::size_t count = 1;
  while (count < used.size() && used[count] > 0) ++count;
  files.entries.resize(count);
  files.metadata.resize(count);
  for (SlicedTensors& each : files.sliced) {
    std::vector<TensorEntry>& entries = files.entries[each.file];
    each.first = entries.size();
    for (std::size_t i = 0; i < each.names.size(); ++i)
      for (const std::string& name : each.names[i])
        entries.push_back({name, each.slice.dtype(), Dims(each.like->parameters[i].sizes)});
  }
  for (const auto& [name, tensor] : files.whole)
    files.entries[0].push_back({name, tensor.dtype(), Dims(tensor.sizes())});
}

// The names of each parameter: a shared one has several.
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

Files files_of_model(const FullyShardedDataParallelBase& model, const std::vector<ShardedSlice>& slices) {
  Files files{kModel, {}};
  const auto names = names_of_parameters(model);
  files.whole = buffers_of(model, names);
  for (const ShardedSlice& slice : slices) {
    SlicedTensors sliced{&slice, slice.slice.detach(), {}};
    for (const auto& parameter : slice.parameters) sliced.names.push_back(names.at(parameter.name));
    files.sliced.push_back(std::move(sliced));
  }
  divide(files, model.process_group()->size());
  for (Texts& metadata : files.metadata) metadata.insert("format", "pt");  // which transformers expects
  return files;
}

// ---- the optimizer's state: it saves "state.I.FIELD" for its parameter number I, which is a slice here

// A key "state.WHAT.FIELD"; none for other keys.
struct StateKey {
  std::string what, field;
};
optional<StateKey> parse_key(const std::string& key) {
  if (!key.starts_with(kState)) return nullopt;
  const std::size_t dot = key.rfind('.');
  if (dot < kState.size()) return nullopt;
  return StateKey{key.substr(kState.size(), dot - kState.size()), key.substr(dot + 1)};
}
std::string key_of(const std::string& what, const std::string& field) { return concat(kState, what, ".", field); }

// The slices of an optimizer's parameters, and the names of the parameters in each group, a line each.
struct Groups {
  std::vector<const ShardedSlice*> slices;
  std::vector<std::size_t> sizes;
  Names names;
  std::vector<int64_t> counts;  // of names
};
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

const ShardedSlice& slice_at(const Groups& groups, const StateKey& key) {
  std::size_t at = groups.slices.size();
  if (!key.what.empty() && key.what.size() < 10 && key.what.find_first_not_of("0123456789") == std::string::npos)
    at = std::stoul(key.what);
  check(at < groups.slices.size(), "the optimizer saves '", key_of(key.what, key.field),
        "', which is not of the form state.NUMBER.NAME");
  return *groups.slices[at];
}

Files files_of_optimizer(const optim::Optimizer& optimizer, const std::vector<ShardedSlice>& slices, int ranks) {
  Files files{kOptimizer, {}};
  const Groups groups = groups_of(optimizer, slices);
  serialize::OutputArchive archive;
  optimizer.save(archive);
  for (const auto& [key, tensor] : archive.tensors()) {
    const auto parsed = parse_key(key);
    check(parsed.has_value(), "the optimizer saves the tensor '", key, "', which belongs to no parameter");
    const ShardedSlice& slice = slice_at(groups, *parsed);
    check(tensor.sizes() == slice.slice.sizes(), "the optimizer is not elementwise: '", key, "' has shape ",
          tensor.sizes(), ", but its parameter ", slice.slice.sizes());
    SlicedTensors sliced{&slice, tensor.contiguous(), {}};
    for (const auto& parameter : slice.parameters) sliced.names.push_back({key_of(parameter.name, parsed->field)});
    files.sliced.push_back(std::move(sliced));
  }
  Tensor counts = empty({static_cast<int64_t>(groups.counts.size())}, kLong);
  std::copy(groups.counts.begin(), groups.counts.end(), counts.data_ptr<int64_t>());
  files.whole.insert(kGroups, counts);
  divide(files, ranks);
  Texts& metadata = files.metadata[0];
  for (const auto& [key, text] : archive.metadata()) {
    if (const auto parsed = parse_key(key)) {
      for (const auto& parameter : slice_at(groups, *parsed).parameters)
        metadata.insert(key_of(parameter.name, parsed->field), text);
      continue;
    }
    std::string value = text;
    for (std::size_t g = 0; g < groups.names.size(); ++g)
      if (key == params_key(g)) value = groups.names[g];
    metadata.insert(key, std::move(value));
  }
  return files;
}

// Equal if all processes make the same calls.
std::string description(const Files& files) {
  std::string out;
  for (std::size_t i = 0; i < files.entries.size(); ++i) {
    for (const TensorEntry& entry : files.entries[i]) out += concat(i, " ", entry.name, " ", entry.dtype, "\n");
    for (const auto& [key, text] : files.metadata[i]) out += concat(key, "=", text, "\n");
  }
  return std::to_string(std::hash<std::string>{}(out));
}

// ---- saving

// Writes this process's file. Every process calls it; only errors of the group are thrown.
void write_share(ProcessGroup& group, const Files& files, const std::string& folder, std::string& error) {
  const auto rank = static_cast<std::size_t>(group.rank());
  std::unique_ptr<SafeTensorsWriter> writer;
  if (rank < files.entries.size())
    attempt(error, [&] {
      writer = std::make_unique<SafeTensorsWriter>(
          folder + "/" + serialize::shard_name(files.stem, rank + 1, files.entries.size()), files.entries[rank],
          files.metadata[rank]);
    });
  for (const SlicedTensors& sliced : files.sliced) {
    const bool here = sliced.file == rank;
    const int64_t length = sliced.slice.numel();
    const Tensor whole = here ? empty({group.size(), length}, sliced.slice.options()) : Tensor();
    group.gather(here ? whole.unbind(0) : Tensors(), sliced.slice, static_cast<int>(sliced.file))->wait();
    if (!here) continue;
    attempt(error, [&] {
      std::size_t at = sliced.first;
      for (std::size_t i = 0; i < sliced.names.size(); ++i) {
        const ShardedSlice::Parameter& p = sliced.like->parameters[i];
        const Tensor tensor = alias(whole, p.sizes, p.strides, p.offset);
        for (std::size_t k = 0; k < sliced.names[i].size(); ++k) writer->write(at++, tensor);
      }
    });
  }
  if (writer == nullptr) return;
  attempt(error, [&] {
    std::size_t at = files.entries[rank].size() - (rank == 0 ? files.whole.size() : 0);
    if (rank == 0)
      for (const auto& [name, tensor] : files.whole) writer->write(at++, tensor);
    writer->commit();
  });
}

void write_index(const Files& files, const std::string& folder) {
  Texts shard_of("Tensor");
  uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.entries.size(); ++i)
    for (const TensorEntry& entry : files.entries[i]) {
      shard_of.insert(entry.name, serialize::shard_name(files.stem, i + 1, files.entries.size()));
      bytes += bytes_of(entry);
    }
  write_file_atomically(folder + "/" + files.stem + std::string(serialize::kIndexEnding),
                        serialize::format_index(shard_of, bytes));
}

// Whether save_checkpoint writes a file of this name.
bool is_ours(const std::string& name, const std::string& stem) {
  if (name == stem + std::string(serialize::kIndexEnding)) return true;
  const std::string like = serialize::shard_name(stem, 0, 0);
  return name.size() == like.size() && std::equal(name.begin(), name.end(), like.begin(), [](char a, char b) {
           return b == '0' ? a >= '0' && a <= '9' : a == b;
         });
}

// Throws Error if the folder has anything that a new checkpoint would not replace.
void check_replaceable(const std::string& folder, const std::string& stem) {
  if (!fs::exists(folder)) return;
  check(fs::is_directory(folder), folder, ": is not a folder");
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (stem == kModel && name == kOptimizer && entry.is_directory())
      check_replaceable(entry.path().string(), kOptimizer);
    else
      check(is_ours(name, stem), folder, ": has ", name,
            ", which is not of a checkpoint; a checkpoint replaces its folder, so choose another one");
  }
}

// ---- loading

std::string listed(const char* head, const Names& names) {
  if (names.empty()) return "";
  std::string out = head;
  for (std::size_t i = 0; i < names.size() && i < 10; ++i) out += (i == 0 ? " " : ", ") + names[i];
  return out + (names.size() > 10 ? concat(", … (", names.size(), ")") : "");
}

// The names of a checkpoint's tensors that do not fit.
struct Misfits {
  Names missing, unexpected, shapes;

  void compare(const TensorEntry& entry, IntArrayRef sizes) {
    if (IntArrayRef(entry.sizes) != sizes)
      shapes.push_back(concat(entry.name, ": is ", sizes, " here, ", entry.sizes, " in the file"));
  }
  void report(const std::string& path, const char* of) const {
    if (missing.empty() && unexpected.empty() && shapes.empty()) return;
    fail(path, ": does not match the ", of, listed("\n  missing:", missing), listed("\n  unexpected:", unexpected),
         listed("\n  shape mismatch:", shapes));
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

void save_checkpoint(FullyShardedDataParallelBase& model, const std::string& folder,
                     const optim::Optimizer* optimizer) {
  constexpr const char* kCaller = "save_checkpoint";
  const NoGradGuard no_grad;
  ProcessGroup& group = *model.process_group();
  std::string error, made;
  std::unique_ptr<AtomicFolder> replaced;  // on rank 0
  std::vector<Files> all;
  const std::vector<ShardedSlice> slices = model.slices();
  attempt(error, [&] {
    all.push_back(files_of_model(model, slices));
    if (optimizer != nullptr) all.push_back(files_of_optimizer(*optimizer, slices, group.size()));
    made = new_folder_of(folder);
    if (group.rank() != 0) return;
    check_replaceable(folder, kModel);
    replaced = std::make_unique<AtomicFolder>(folder);
    if (optimizer != nullptr) fs::create_directory(made + "/" + kOptimizer);
  });
  std::string same;
  for (const Files& files : all) same += description(files) + " ";
  agree(group, kCaller, error, same);

  const auto folder_of = [&](const Files& files) { return files.stem == kModel ? made : made + "/" + files.stem; };
  or_abort(group, [&] {
    for (const Files& files : all) write_share(group, files, folder_of(files), error);
  });
  agree(group, kCaller, error);
  attempt(error, [&] {
    if (group.rank() != 0) return;
    for (const Files& files : all) write_index(files, folder_of(files));
    replaced->commit();
  });
  agree(group, kCaller, error);
}

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
