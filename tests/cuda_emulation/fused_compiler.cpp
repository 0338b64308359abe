// Generated kernels on the host: the compiler that this library was built with makes a shared library of each.
#include "tandem/cuda/fusion/compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include "tandem/tests/cuda_emulation/device.h"

namespace tandem::cuda_impl {

extern const char* const kFusedHeaders;

namespace {

using Run = void (*)(unsigned block, unsigned thread, const void* parameter);

constexpr const char* kBefore = R"(#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
static struct { unsigned x; } threadIdx_, blockIdx_;
#define threadIdx threadIdx_
#define blockIdx blockIdx_
#define __global__
#define __device__
#define __launch_bounds__(...)
#define __grid_constant__
#define TANDEM_GENERATED_KERNEL
)";
constexpr const char* kAfter = R"(
extern "C" void tandem_run(unsigned block, unsigned thread, const void* parameter) {
  blockIdx.x = block;
  threadIdx.x = thread;
  tandem_fused(*static_cast<const tandem::cuda_impl::Fused*>(parameter));
}
)";

Run compile(const std::string& body) {
  std::string folder = std::filesystem::temp_directory_path() / "tandem-kernel-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return nullptr;
  const std::string source = folder + "/kernel.cpp", library = folder + "/kernel.so";
  std::ofstream(source) << kBefore << kFusedHeaders << body << kAfter;
  const std::string command =
      concat(TANDEM_EMULATION_CXX, " -std=c++20 -O1 -ffp-contract=off -shared -fPIC -o ", library, " ", source);
  void* loaded = std::system(command.c_str()) == 0 ? ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::filesystem::remove_all(folder);
  return loaded == nullptr ? nullptr : reinterpret_cast<Run>(::dlsym(loaded, "tandem_run"));
}

}  // namespace

bool has_fused_compiler() { return true; }

const void* fused_kernel(const Context&, const std::string& body) {
  static std::mutex mutex;
  static auto& kernels = *new std::unordered_map<std::string, Run>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = kernels.try_emplace(body);
  if (is_new) at->second = compile(body);
  return reinterpret_cast<const void*>(at->second);
}

cudaError_t enqueue_fused(const void* kernel, const LaunchShape& shape, const Fused& p) {
  const auto run = reinterpret_cast<Run>(const_cast<void*>(kernel));
  return cuda_emulation::launch("fused", shape.stream, shape.blocks, shape.threads, 0, [run, p] {
    run(cuda_emulation::position.block.x, cuda_emulation::position.thread.x, &p);
  });
}

}  // namespace tandem::cuda_impl
