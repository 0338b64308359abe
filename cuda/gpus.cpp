// Queries the driver once.
#include "tandem/cuda/gpus.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/core/error.h"
#include "tandem/cuda/check.h"

namespace tandem::cuda_impl {
namespace {

constexpr const char* kForked =
    "CUDA cannot be used in a forked child: its parent used the driver before the fork; start the child with "
    "exec or posix_spawn, or fork before the first use of CUDA (querying the devices counts as use)";

struct Found {
  std::vector<Gpu> gpus;
  int devices = 0;
  std::string reason;
};

Gpu read_gpu(int index) {
  cudaDeviceProp p{};
  ensure(cudaGetDeviceProperties(&p, index), "cudaGetDeviceProperties");
  return {index,
          p.name,
          p.major,
          p.minor,
          p.multiProcessorCount,
          p.maxThreadsPerMultiProcessor,
          p.sharedMemPerBlockOptin,
          p.totalGlobalMem};
}

Found look() {
  Found found;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    forget_error();
    int driver = 0;
    const bool none = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
    found.reason = concat("no CUDA device: ", none                    ? "no NVIDIA driver found"
                                              : status == cudaSuccess ? "the driver reports none"
                                                                      : cudaGetErrorString(status));
    return found;
  }
  try {
    for (int i = 0; i < count; ++i) found.gpus.push_back(read_gpu(i));
    found.devices = logical_devices(std::getenv("TANDEM_CUDA_DEVICES"), count);
  } catch (const Error& error) {
    found.gpus.clear();
    found.reason = concat("no CUDA device: ", error.what());
  }
  return found;
}

// The first process that used the driver, as a fork generation counted from 1.
constinit std::atomic<uint32_t> first_user{0};

// Never destroyed: used until the process ends.
const Found& found() {
  static constinit tandem::detail::OnFirstUse<const Found> instance;
  return instance.get([] {
    uint32_t nobody = 0;
    first_user.compare_exchange_strong(nobody, tandem::detail::this_process() + 1);
    return new Found(is_forked_child() ? Found{{}, 0, kForked} : look());
  });
}

}  // namespace

int logical_devices(const char* wanted, int gpus) {
  if (wanted == nullptr || *wanted == 0) return gpus;
  int number = 0;
  const char* end = wanted + std::strlen(wanted);
  const auto [stop, error] = std::from_chars(wanted, end, number);
  check(error == std::errc() && stop == end && number >= 1 && number <= 64, "TANDEM_CUDA_DEVICES=", wanted,
        ": expected a number from 1 to 64");
  return number;
}

bool is_forked_child() {
  const uint32_t first = first_user.load(std::memory_order_relaxed);
  return first != 0 && first != tandem::detail::this_process() + 1;
}
void refuse_in_forked_child() {
  if (is_forked_child()) [[unlikely]]
    fail(kForked);
}

int device_count() { return found().devices; }
const std::string& why_none() { return found().reason; }

const Gpu& gpu_of(int device) {
  const Found& f = found();
  check(device >= 0 && device < f.devices, "no device cuda:", device, ": this process has ", f.devices, " CUDA device",
        f.devices == 1 ? "" : "s");
  return f.gpus[static_cast<std::size_t>(device) % f.gpus.size()];
}

int sharers(int device) {
  int count = 0;
  for (int i = 0; i < device_count(); ++i) count += gpu_of(i).index == gpu_of(device).index;
  return count;
}

void use_gpu(int device) {
  refuse_in_forked_child();
  thread_local bool used = false;
  if (used && found().gpus.size() == 1) return;
  const int gpu = gpu_of(device).index;
  int current = -1;
  ensure(cudaGetDevice(&current), "cudaGetDevice");
  if (!used || current != gpu) ensure(cudaSetDevice(gpu), "cudaSetDevice");
  used = true;
}

GpuGuard::GpuGuard(int device) : previous_(-1) {
  ensure(cudaGetDevice(&previous_), "cudaGetDevice");
  use_gpu(device);
}
GpuGuard::~GpuGuard() { log_failure(cudaSetDevice(previous_), "cudaSetDevice"); }

}  // namespace tandem::cuda_impl
