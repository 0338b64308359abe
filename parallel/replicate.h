// replicate: copies of a module on several devices, for one step.
#pragma once
#include "tandem/nn/module_holder.h"
#include "tandem/parallel/replicas.h"

namespace tandem::parallel {

namespace detail {
std::vector<std::shared_ptr<nn::Module>> replicate_all(const std::shared_ptr<nn::Module>& module,
                                                       MakeReplica make, const std::vector<Device>& devices);
}

/// A copy of `module` on every device; one on the device where it is itself shares its memory. Backward
/// through the copies' parameters adds to the gradients of the module's: while recording is on, else they
/// have no gradients. The copies are made by clone() of Cloneable types, else by the default constructor; new
/// ones with every call: DataParallel keeps its own. Throws Error when the module can be copied in neither
/// way, or for a device twice.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module,
                                          const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<M>> out;
  for (const auto& copy : detail::replicate_all(module, detail::make_replica<M>, devices))
    out.push_back(std::static_pointer_cast<M>(copy));
  return out;
}
template <class M>
std::vector<nn::ModuleHolder<M>> replicate(const nn::ModuleHolder<M>& module,
                                           const std::vector<Device>& devices) {
  std::vector<nn::ModuleHolder<M>> out;
  for (auto& copy : replicate(module.ptr(), devices)) out.emplace_back(std::move(copy));
  return out;
}

}  // namespace tandem::parallel

namespace tandem::nn::parallel {
using tandem::parallel::replicate;
}
