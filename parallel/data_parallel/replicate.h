// replicate: copies of a module on several devices, for one step.
#pragma once
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/shared/replica_set.h"

namespace tandem::parallel {

namespace detail {
std::vector<std::shared_ptr<nn::Module>> replicate_all(const std::shared_ptr<nn::Module>& module, MakeReplica make,
                                                       const std::vector<Device>& devices);
}

/// A copy of `module` on every device; a copy on the module's own device shares its memory. If recording is
/// on, backward through the copies' parameters accumulates into the module's gradients; otherwise the copies
/// have no gradients. Copies are made by clone() for Cloneable types, otherwise by the default constructor.
/// Every call creates new copies, whereas DataParallel keeps its own. Throws Error if the module can be
/// copied in neither way or a device appears twice.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module, const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<M>> out;
  for (const auto& copy : detail::replicate_all(module, detail::make_replica<M>, devices))
    out.push_back(std::static_pointer_cast<M>(copy));
  return out;
}
template <class M>
std::vector<nn::ModuleHolder<M>> replicate(const nn::ModuleHolder<M>& module, const std::vector<Device>& devices) {
  std::vector<nn::ModuleHolder<M>> out;
  for (auto& copy : replicate(module.ptr(), devices)) out.emplace_back(std::move(copy));
  return out;
}

}  // namespace tandem::parallel

namespace tandem::nn::parallel {
using tandem::parallel::replicate;
}
