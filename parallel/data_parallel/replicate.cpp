// Replicas owned by the caller.
#include "tandem/parallel/data_parallel/replicate.h"

namespace tandem::parallel::detail {

std::vector<std::shared_ptr<nn::Module>> replicate_all(const std::shared_ptr<nn::Module>& module, MakeReplica make,
                                                       const std::vector<Device>& devices) {
  const std::vector<Device> where = checked_devices("replicate", devices);
  const auto master = std::make_shared<const Master>(module, make);
  // The module itself is not one of them: its own device gets a copy that shares its memory.
  ReplicaSet set(master, where, where.size());
  set.create(where.size());
  set.refresh(where.size(), 0);
  set.link(where.size(), nullptr);
  std::vector<std::shared_ptr<nn::Module>> out;
  for (std::size_t i = 0; i < where.size(); ++i) {
    set.follow_modes(i);
    out.push_back(set.module(i));
  }
  return out;
}

}  // namespace tandem::parallel::detail
