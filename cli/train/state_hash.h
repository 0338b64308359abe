// SHA-256 of a run's state: the model's parameters and buffers, and what the optimizer remembers. It depends on the
// bits only, not on the devices, threads or processes that hold them, nor on whether a file does.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/files/archive.h"

namespace tandem::distributed {
class FullyShardedDataParallelBase;
}
namespace tandem::optim {
class Optimizer;
}

namespace tandem::cli {

struct Recipe;

struct StateHash {
  static constexpr std::size_t kDigits = 8;  ///< of each tensor

  std::string sum;                 ///< 64 hexadecimal digits, of all tensors and of the optimizer's numbers
  std::string tensors;             ///< the first kDigits of each tensor's own sum, without separators
  std::vector<std::string> names;  ///< of the tensors: "model.0.weight", "optimizer.state.0.exp_avg"
};

StateHash state_hash(const nn::Module& model, const optim::Optimizer& optimizer);
/// The same of a checkpoint.
StateHash state_hash(const serialize::InputArchive& model, const serialize::InputArchive& optimizer);
/// The same of a model of which each process keeps a slice, as if one process had it, with the recipe's optimizer. Every
/// process calls it; the result is on the first.
StateHash state_hash(distributed::FullyShardedDataParallelBase& model, const optim::Optimizer& optimizer,
                     const Recipe& recipe);
/// The sum of a model without an optimizer.
std::string model_sha256(const nn::Module& model);
std::string model_sha256(distributed::FullyShardedDataParallelBase& model);

/// The first tensor of `now` whose digits in `recorded` are others; "" if there is none.
std::string first_difference(const StateHash& now, const std::string& recorded);

}  // namespace tandem::cli
