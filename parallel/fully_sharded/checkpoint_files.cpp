// save_checkpoint: gathers and writes slice by slice.
#include "tandem/parallel/fully_sharded/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/atomic_folder.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/files/safetensors_writer.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/fully_sharded/checkpoint_parts.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {
namespace {

namespace fs = std::filesystem;
using namespace detail;
using serialize::SafeTensorsWriter;
using serialize::TensorEntry;
using Texts = OrderedDict<std::string, std::string>;

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

Files files_of_model(const FullyShardedDataParallelBase& model, const std::vector<ShardedSlice>& slices, int ranks) {
  Files files{kModel, {}};
  const auto names = names_of_parameters(model);
  files.whole = buffers_of(model, names);
  for (const ShardedSlice& slice : slices) {
    SlicedTensors sliced{&slice, slice.slice.detach(), {}};
    for (const auto& parameter : slice.parameters) sliced.names.push_back(names.at(parameter.name));
    files.sliced.push_back(std::move(sliced));
  }
  divide(files, ranks);
  for (Texts& metadata : files.metadata) metadata.insert("format", "pt");  // which transformers expects
  return files;
}

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

// Calls f(i, tensor) for each tensor, on the process of its file. Every process calls it.
template <class F>
void for_whole(ProcessGroup& group, const SlicedTensors& sliced, const F& f) {
  const bool here = static_cast<std::size_t>(group.rank()) == sliced.file;
  const Tensor whole = here ? empty({group.size(), sliced.slice.numel()}, sliced.slice.options()) : Tensor();
  group.gather(here ? whole.unbind(0) : Tensors(), sliced.slice, static_cast<int>(sliced.file))->wait();
  for (std::size_t i = 0; here && i < sliced.names.size(); ++i) {
    const ShardedSlice::Parameter& p = sliced.like->parameters[i];
    f(i, alias(whole, p.sizes, p.strides, p.offset));
  }
}

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
    std::size_t at = sliced.first;
    for_whole(group, sliced, [&](std::size_t i, const Tensor& tensor) {
      attempt(error, [&] {
        for (std::size_t k = 0; k < sliced.names[i].size(); ++k) writer->write(at++, tensor);
      });
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
    all.push_back(files_of_model(model, slices, group.size()));
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

void visit_checkpoint(FullyShardedDataParallelBase& model, const optim::Optimizer* optimizer,
                      const std::function<void(const CheckpointPart& part)>& visit) {
  const NoGradGuard no_grad;
  ProcessGroup& group = *model.process_group();
  const std::vector<ShardedSlice> slices = model.slices();
  const auto visit_files = [&](const Files& files) {
    const bool of_model = files.stem == kModel;
    const auto part = [&](const std::string& name) {
      const StateKey key = of_model ? StateKey{name, ""} : parse_key(name).value();
      return CheckpointPart{key.what, key.field, {}, ""};
    };
    for (const SlicedTensors& sliced : files.sliced)
      for_whole(group, sliced, [&](std::size_t i, const Tensor& tensor) {
        for (const std::string& name : sliced.names[i]) {
          CheckpointPart next = part(name);
          next.tensor = tensor;
          visit(next);
        }
      });
    if (group.rank() != 0) return;
    for (const auto& [name, tensor] : files.whole)
      if (of_model) visit({name, "", tensor, ""});
    for (const auto& [name, text] : files.metadata[0])
      if (!of_model && parse_key(name)) {
        CheckpointPart next = part(name);
        next.text = text;
        visit(next);
      }
  };
  or_abort(group, [&] {
    visit_files(files_of_model(model, slices, 1));
    if (optimizer != nullptr) visit_files(files_of_optimizer(*optimizer, slices, 1));
  });
}

}  // namespace tandem::distributed
