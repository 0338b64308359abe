// Runs work on several devices at once, with one host thread per device.
#pragma once
#include <exception>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem {

/// Calls job(i) for every i, each on its own host thread with devices[i] as the current device; job(0) runs
/// on the calling thread. The jobs inherit the caller's modes (recording, inference, anomaly), default
/// generator and current streams. Returns when all jobs have ended; entry i is the exception that job(i)
/// threw, or null. If a thread cannot be started, its entry says why, and no job runs. Threads persist: a
/// device gets its previous thread if that one is free. Two jobs may name the same device, and a job may call
/// run_on_devices itself.
std::vector<std::exception_ptr> run_on_devices(ArrayRef<Device> devices, FunctionRef<void(std::size_t index)> job);

}  // namespace tandem
