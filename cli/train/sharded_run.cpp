#include "tandem/cli/train/sharded_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tandem/autograd/ops.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/early_stopping.h"
#include "tandem/cli/train/sharded_memory.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/atomic_folder.h"
#include "tandem/nn/files/safetensors_index.h"
#include "tandem/nn/files/safetensors_reader.h"
#include "tandem/nn/files/safetensors_writer.h"
#include "tandem/parallel/distributed/store.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"
#include "tandem/parallel/fully_sharded/unit_plan.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kTensors = "checkpoint-";
constexpr const char* kAverage = "-average";
constexpr const char* kBest = "best-";
constexpr const char* kModel = "model";

void find_blocks(const nn::Module& module, const std::string& prefix, std::set<std::string>& names) {
  for (const auto& item : module.named_children()) {
    const std::string name = prefix + item.key();
    if (distributed::is_container(module))
      names.insert(name);
    else
      find_blocks(*item.value(), name + ".", names);
  }
}

}  // namespace

Team team_of_one() {
  return Team(distributed::ProcessGroup::make(std::make_shared<distributed::HashStore>(), 0, 1), 0, 1);
}

distributed::UnitRule units_of(const nn::Sequential& model) {
  std::set<std::string> names;
  const auto children = model->named_children();
  if (const auto* net = children.find("net"))
    find_blocks(**net, "net.", names);
  else
    find_blocks(*model, "", names);
  return [names](const std::string& name, const nn::Module&) { return names.contains(name); };
}

std::unique_ptr<distributed::ShardedConstruction> build_in_parts(const Placement& placement, const Checkpoint& start,
                                                                 const std::string& weights) {
  const bool from_file = !weights.empty() || is_onnx(start.config.model);
  if (!placement.fully_sharded || !placement.root.is_cpu() || from_file) return nullptr;
  return std::make_unique<distributed::ShardedConstruction>(placement.team.group());
}

std::string tensor_folder(const std::string& folder, const Progress& p) {
  return (fs::path(folder) / concat(kTensors, p.epoch, "-", p.batch)).string();
}

std::string result_folder(const std::string& folder, const RunConfig& config, const Progress& p) {
  if (config.recipe.keep == "best" && !p.history.empty())
    return (fs::path(folder) / concat(kBest, best_epoch(config, p.history))).string();
  return tensor_folder(folder, p) + (config.recipe.ema > 0 ? kAverage : "");
}

void save_best(const std::string& folder, int64_t epoch, distributed::FullyShardedDataParallelBase& model) {
  distributed::save_checkpoint(model, (fs::path(folder) / concat(kBest, epoch)).string());
}

void load_sharded(const std::string& tensors, distributed::FullyShardedDataParallelBase& model,
                  optim::Optimizer& optimizer, nn::ExponentialMovingAverage* average, int64_t updates) {
  if (average != nullptr) {
    distributed::load_checkpoint(model, readable_folder(tensors + kAverage));
    OrderedDict<std::string, std::string> numbers("Entry");
    numbers.insert("updates", std::to_string(updates));
    serialize::InputArchive values(model.state_dict(), std::move(numbers));
    average->load(values);
  }
  distributed::load_checkpoint(model, tensors, &optimizer);
}

void save_sharded(const std::string& folder, const RunConfig& config, const Progress& progress,
                  distributed::FullyShardedDataParallelBase& model, const optim::Optimizer& optimizer,
                  nn::ExponentialMovingAverage* average) {
  distributed::ProcessGroup& group = *model.process_group();
  if (average != nullptr) {
    const auto averaged = average->use();
    distributed::save_checkpoint(model, tensor_folder(folder, progress) + kAverage);
  }
  distributed::save_checkpoint(model, tensor_folder(folder, progress), &optimizer);
  std::string error;
  if (group.rank() == 0) {
    try {
      save_position(folder, config, progress);
      remove_other_tensors(folder, config, progress);
    } catch (const Error& thrown) {
      error = thrown.what();
    }
  }
  error = distributed::exchange_texts(group, error)[0];
  if (!error.empty()) fail(error);
}

void remove_other_tensors(const std::string& folder, const RunConfig& config, const Progress& progress) {
  std::set<std::string> needed;
  const std::string own = tensor_folder(folder, progress);
  for (const std::string& path : {own, own + kAverage, result_folder(folder, config, progress)}) {
    const std::string name = fs::path(path).filename().string();
    needed.insert({name, "." + name + ".old"});  // from which a crash can be undone
  }
  std::vector<fs::path> others;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string plain = name.substr(name.starts_with('.') ? 1 : 0);
    if ((plain.starts_with(kTensors) || plain.starts_with(kBest)) && !needed.contains(name) &&
        entry.is_directory(error))
      others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove_all(path, error);
}

void export_sharded(const std::string& tensors, const std::string& folder, const std::string& model) {
  const serialize::SafeTensorsReader file(readable_folder(tensors));
  const std::string prefix = is_published(model) || is_text_model(model) || is_onnx(model) ? "net." : "";
  std::map<std::size_t, std::vector<std::size_t>> items;  // of each file
  const auto exported_name = [&](std::size_t i) { return file.items()[i].entry.name.substr(prefix.size()); };
  for (std::size_t i = 0; i < file.items().size(); ++i) {
    const auto& item = file.items()[i];
    const bool head = is_text_model(model) && item.entry.name.starts_with("net.lm_head.");  // it is the embedding
    if (item.entry.name.starts_with(prefix) && !head) items[item.shard].push_back(i);
  }
  const auto path_of = [&](const std::string& name) { return (fs::path(folder) / name).string(); };
  const std::string index = path_of(kModel + std::string(serialize::kIndexEnding));
  fs::remove(index);  // which must not name files of two models
  OrderedDict<std::string, std::string> file_of("Tensor"), metadata("Entry");
  metadata.insert("format", "pt");  // which transformers expects
  uint64_t bytes = 0;
  std::set<std::string> names;
  for (const auto& [shard, own] : items) {
    const std::string name = serialize::shard_name(kModel, names.size() + 1, items.size());
    names.insert(name);
    std::vector<serialize::TensorEntry> entries;
    for (const std::size_t i : own) {
      const serialize::TensorEntry& entry = file.items()[i].entry;
      entries.push_back({exported_name(i), entry.dtype, entry.sizes});
      file_of.insert(exported_name(i), name);
      bytes += entry.end - entry.begin;
    }
    serialize::SafeTensorsWriter writer(path_of(name), entries, metadata);
    for (std::size_t k = 0; k < own.size(); ++k) {
      const Tensor values = empty(entries[k].sizes, TensorOptions(entries[k].dtype));
      file.read_into({{own[k], values}});
      writer.write(k, values);
    }
    writer.commit();
  }
  write_file_atomically(index, serialize::format_index(file_of, bytes));
  std::vector<fs::path> others;  // of a model in another number of files
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model-") && name.ends_with(".safetensors") && !names.contains(name))
      others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove(path);
}

std::string described_memory(const distributed::FullyShardedDataParallelBase& model, const Recipe& recipe,
                             int64_t shards) {
  const int processes = model.process_group()->size();
  std::vector<UnitBytes> units;
  for (const distributed::ShardedSlice& each : model.slices())
    units.push_back({each.unit, static_cast<double>(each.slice.nbytes()) * processes, each.slice.requires_grad()});
  const int states = (recipe.optimizer == "adamw" ? 2 : recipe.momentum > 0 ? 1 : 0) + (recipe.ema > 0 ? 1 : 0);
  return "memory   in each process " + described_bytes(units, processes, states, shards);
}

}  // namespace tandem::cli
