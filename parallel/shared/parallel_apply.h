// Runs the same work on several devices at once, with one host thread per device.
//
// Every call inherits the caller's modes (recording, inference, anomaly, autocast) and has its device as the current
// device. Random numbers: call i has its own default generator. Its seed derives from the seed of the
// caller's generator, one number drawn from that for the whole step, and i. So nothing depends on which
// device comes first, and a seed reproduces a run. Exceptions: all calls finish; then the exception of the
// first failing device in the list is rethrown with its original type and the prefix "replica i on DEVICE: ".
// std::bad_alloc becomes Error; all types but Tandem's and <stdexcept>'s are rethrown unchanged.
#pragma once
#include <exception>
#include <string>

#include "tandem/core/device_threads.h"
#include "tandem/nn/call.h"
#include "tandem/parallel/shared/device_copies.h"

namespace tandem::parallel {

/// Rethrows the exception in `thrown` with `place` prepended to its message.
[[noreturn]] void rethrow_from(const std::string& place, const std::exception_ptr& thrown);

/// Runs job(i) for every device.
void run_replicas(ArrayRef<Device> devices, FunctionRef<void(std::size_t index)> job);

/// Runs f(i) for every device; entry [i] is its result.
template <class F>
requires std::is_invocable_v<F&, std::size_t>
auto parallel_apply(const std::vector<Device>& devices, F&& f) {
  using Result = std::decay_t<std::invoke_result_t<F&, std::size_t>>;
  if constexpr (std::is_void_v<Result>) {
    run_replicas(devices, [&](std::size_t i) { f(i); });
  } else {
    std::vector<std::optional<Result>> results(devices.size());
    run_replicas(devices, [&](std::size_t i) { results[i].emplace(f(i)); });
    std::vector<Result> out;
    for (auto& result : results) out.push_back(std::move(*result));
    return out;
  }
}

/// Runs modules[i] (a shared_ptr or a holder) on inputs[i], with its hooks. Output i is moved to devices[i]
/// if given. Throws Error unless all lists have the same length.
template <class ModuleType>
std::vector<Tensor> parallel_apply(std::vector<ModuleType>& modules, const std::vector<Tensor>& inputs,
                                   const optional<std::vector<Device>>& devices = nullopt) {
  check(modules.size() == inputs.size(), "parallel_apply: ", modules.size(), " modules for ", inputs.size(), " inputs");
  check(!devices || devices->size() == modules.size(), "parallel_apply: ", modules.size(), " modules for ",
        devices ? devices->size() : 0, " devices");
  std::vector<Device> where;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    where.push_back(devices ? resolve((*devices)[i]) : inputs[i].device());
  return parallel_apply(where, [&](std::size_t i) {
    Tensor output = nn::call(*modules[i], inputs[i]);
    return devices ? output.to(where[i]) : output;
  });
}

}  // namespace tandem::parallel

namespace tandem::nn::parallel {
using tandem::parallel::parallel_apply;
}
