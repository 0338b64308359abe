// What saving and loading of a FullyShardedDataParallel's checkpoints have in common: errors of all processes, names, and
// the keys of the optimizer's state. Internal to checkpoint_*.cpp.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/fully_sharded/fully_sharded_data_parallel_base.h"

namespace tandem::optim {
class Optimizer;
}

namespace tandem::distributed::detail {

using Names = std::vector<std::string>;

inline constexpr const char* kModel = "model";
inline constexpr const char* kOptimizer = "optimizer";
/// A tensor of how many parameters each group has, so that the index lists a file if there is no state yet.
inline constexpr const char* kGroups = "param_groups";

// ---- errors: a process goes on with the calls of all when it has failed

/// Calls f unless there is an error; keeps what it throws, but for errors of the group.
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

/// Throws on all processes if one has an error, or if they differ in `same`. Equal errors are named once.
void agree(ProcessGroup& group, const char* caller, const std::string& error, const std::string& same = "");

// ---- names

/// The names of each parameter: a shared one has several.
std::unordered_map<std::string, Names> names_of_parameters(const FullyShardedDataParallelBase& model);
/// What the wrapped module's state has besides the parameters, whose names are given.
OrderedDict<std::string, Tensor> buffers_of(const FullyShardedDataParallelBase& model,
                                            const std::unordered_map<std::string, Names>& parameters);

// ---- the optimizer's state: it saves "state.I.FIELD" for its parameter number I, which is a slice here

/// A key "state.WHAT.FIELD"; none for other keys.
struct StateKey {
  std::string what, field;
};
optional<StateKey> parse_key(const std::string& key);
std::string key_of(const std::string& what, const std::string& field);

/// The slices of an optimizer's parameters, and the names of the parameters in each group, a line each.
struct Groups {
  std::vector<const ShardedSlice*> slices;
  std::vector<std::size_t> sizes;
  Names names;
  std::vector<int64_t> counts;  ///< of names
};
/// Throws Error if a parameter is not a slice.
Groups groups_of(const optim::Optimizer& optimizer, const std::vector<ShardedSlice>& slices);
std::string params_key(std::size_t group);

}  // namespace tandem::distributed::detail
