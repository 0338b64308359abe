// Replicas owned by the caller.
#include "tandem/parallel/replicate.h"

namespace tandem::parallel::detail {

std::vector<std::shared_ptr<nn::Module>> replicate_all(const std::shared_ptr<nn::Module>& module,
                                                       MakeReplica make, const std::vector<Device>& devices) {
  const std::vector<Device> where = checked_devices("replicate", devices);
  const Master master(module, make);
  std::vector<Replica> replicas;
  std::vector<Replica*> all;
  replicas.reserve(where.size());
  for (const Device& device : where) all.push_back(&replicas.emplace_back(master, device));
  send(master, all);
  for (std::size_t i = replicas.size();
       i-- > 0;) {  // descending: the node linked last adds its gradient first
    replicas[i].follow_modes(master);
    replicas[i].link(master, i, nullptr);
  }
  std::vector<std::shared_ptr<nn::Module>> out;
  for (const Replica& replica : replicas) out.push_back(replica.module());
  return out;
}

}  // namespace tandem::parallel::detail
