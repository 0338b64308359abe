// Work on several devices at once: one host thread each.
#pragma once
#include <exception>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/core/parallel_for.h"

namespace tandem {

/// Calls job(i) for every i, each on a host thread of its own whose current device is devices[i]; job(0) on
/// the calling thread. Modes (recording, inference, anomaly), the default generator and the current streams
/// are the caller's. Returns when all have ended; entry i is what job(i) threw, or null. Threads persist: a
/// device gets the thread it had before, if that is free. Two jobs may name one device. A job may call this
/// again.
std::vector<std::exception_ptr> run_on_devices(ArrayRef<Device> devices,
                                               FunctionRef<void(std::size_t index)> job);

}  // namespace tandem
