// The same work on several devices at once, one host thread each.
//
// Every call works under the caller's modes (recording, inference, anomaly) with its device as the current
// one. Random numbers: the default generator of call i is one of its own, whose seed comes from the seed of
// the caller's, one number that is drawn from it for the whole step, and i. So nothing depends on which
// device is first, and a seed repeats. Exceptions: all calls end; then that of the first device in the list
// is thrown again, with "replica i on DEVICE: " before its text, as the type it was. std::bad_alloc becomes
// Error; types other than tandem's and those of <stdexcept> are thrown as they are.
#pragma once
#include <exception>
#include <string>

#include "tandem/core/device_threads.h"
#include "tandem/nn/call.h"
#include "tandem/parallel/comm.h"

namespace tandem::parallel {

/// Throws what `thrown` holds again, with `place` before its text.
[[noreturn]] void rethrow_from(const std::string& place, const std::exception_ptr& thrown);

/// job(i) for every device.
void run_replicas(ArrayRef<Device> devices, FunctionRef<void(std::size_t index)> job);

/// f(i) for every device; entry [i] is what it gave.
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

/// modules[i] (a shared_ptr or a holder) on inputs[i], with its hooks; output i on devices[i], or where it
/// is. Throws Error unless all lists have the same length.
template <class ModuleType>
std::vector<Tensor> parallel_apply(std::vector<ModuleType>& modules, const std::vector<Tensor>& inputs,
                                   const optional<std::vector<Device>>& devices = nullopt) {
  check(modules.size() == inputs.size(), "parallel_apply: ", modules.size(), " modules for ", inputs.size(),
        " inputs");
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
