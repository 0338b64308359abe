// Runs with --fully-sharded, in which each process keeps a slice of the model (parallel/fully_sharded). In such a run's
// folder, checkpoint.safetensors has all but tensors; these are in the folder checkpoint-EPOCH-BATCH, as
// distributed::save_checkpoint writes them. A new one gets its own folder, so the file always names a complete one. With
// --ema the average is in checkpoint-EPOCH-BATCH-average; with --keep best the best model in best-EPOCH.
#pragma once
#include <memory>
#include <string>

#include "tandem/cli/device_list.h"
#include "tandem/cli/train/run_folder.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel_base.h"
#include "tandem/parallel/fully_sharded/sharded_construction.h"

namespace tandem::cli {

/// A group of this process alone, which can train a model in one slice.
Team team_of_one();

/// Which modules of a model of the tool are gathered together: the blocks of its network.
distributed::UnitRule units_of(const nn::Sequential& model);
/// While it lives, models are built block by block. Null if something needs the whole: values from a file, or another
/// device than the CPU.
std::unique_ptr<distributed::ShardedConstruction> build_in_parts(const Placement& placement, const Checkpoint& start,
                                                                 const std::string& weights);

/// "FOLDER/checkpoint-3-120", with the tensors after 3 epochs and 120 batches.
std::string tensor_folder(const std::string& folder, const Progress& progress);
/// The folder with the tensors of the model that counts as the run's result.
std::string result_folder(const std::string& folder, const RunConfig& config, const Progress& progress);
/// Writes a checkpoint. Every process calls it, with the same folder. Throws Error on all of them if one fails; the old
/// checkpoint is then still there.
void save_sharded(const std::string& folder, const RunConfig& config, const Progress& progress,
                  distributed::FullyShardedDataParallelBase& model, const optim::Optimizer& optimizer,
                  nn::ExponentialMovingAverage* average);
/// Writes the best model so far, after `epoch`, in the same way. It counts after the next save_sharded().
void save_best(const std::string& folder, int64_t epoch, distributed::FullyShardedDataParallelBase& model);
/// Reads what save_sharded has written, in any number of processes, with an average that has had `updates`.
void load_sharded(const std::string& tensors, distributed::FullyShardedDataParallelBase& model,
                  optim::Optimizer& optimizer, nn::ExponentialMovingAverage* average, int64_t updates);
/// Removes folders of tensors that belong to no checkpoint, and what a process that was killed has left of one.
void remove_other_tensors(const std::string& folder, const RunConfig& config, const Progress& progress);

/// Writes model.safetensors.index.json and its files to the run's folder, from a checkpoint's, tensor by tensor, with
/// the names of exported().
void export_sharded(const std::string& tensors, const std::string& folder, const std::string& model);

/// "memory   each process keeps 1.2 GiB …"
std::string described_memory(const distributed::FullyShardedDataParallelBase& model, const Recipe& recipe,
                             int64_t shards);

}  // namespace tandem::cli
