// Checkpoints of a FullyShardedDataParallel: whole tensors in safetensors files, written and read in parts by all
// processes.
//
//   distributed::save_checkpoint(*model, "runs/latest", &optimizer);
//   distributed::load_checkpoint(*model, "runs/latest", &optimizer);   // with any number of processes
//
//   runs/latest/model.safetensors.index.json         which file has which tensor, as Hugging Face's libraries write it
//               model-00001-of-00004.safetensors     parameters and buffers, whole, under the wrapped module's names
//               optimizer/optimizer.safetensors.index.json
//                         optimizer-00001-of-00004.safetensors    state.NAME.exp_avg of each parameter NAME
//
// Options of parameter groups, and numbers such as the count of steps, are in the metadata of the optimizer's files.
#pragma once
#include <functional>
#include <string>

#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel_base.h"

namespace tandem::optim {
class Optimizer;
}

namespace tandem::distributed {

/// Replaces the folder in one step (core/base/atomic_folder.h): a crash at any moment leaves the old checkpoint or the
/// new one. Every process calls it, between steps, with a path of the same folder; each process writes the units that
/// are gathered on it, of which one at a time is in memory. The optimizer's state must have a value per element.
/// Throws Error on every process if one fails, with its rank and the reason; the old checkpoint is then still there. A
/// folder with files that are none of a checkpoint's is refused. The group's timeout must be longer than a process takes
/// to write its part.
void save_checkpoint(FullyShardedDataParallelBase& model, const std::string& folder,
                     const optim::Optimizer* optimizer = nullptr);

/// Reads what save_checkpoint has written, with any number of processes and any units; without an optimizer any
/// safetensors file, index or folder with either. Every process reads its slices, across dtypes. Throws Error on every
/// process if one fails, or if names, shapes or the optimizer's groups differ; nothing has changed then. Memory: slices
/// and state of this process once more, and one tensor if it is channels-last.
void load_checkpoint(FullyShardedDataParallelBase& model, const std::string& path,
                     optim::Optimizer* optimizer = nullptr);

/// A part of what a checkpoint has.
struct CheckpointPart {
  std::string name;   ///< of a parameter or buffer
  std::string field;  ///< of the optimizer's state for this parameter; "": the value itself
  Tensor tensor;      ///< whole; undefined if the field is a number
  std::string text;   ///< the number
};
/// Calls `visit` on rank 0 for all that save_checkpoint would write, but for the options of parameter groups. Every
/// process calls it, between steps; the parameters of one unit at a time are whole on rank 0. Throws Error, and
/// DistributedError on the others, if `visit` does.
void visit_checkpoint(FullyShardedDataParallelBase& model, const optim::Optimizer* optimizer,
                      const std::function<void(const CheckpointPart& part)>& visit);

}  // namespace tandem::distributed
