// Generated kernels on the host. The compiler that this library was built with makes one shared library of all kernels
// that wait when one of them starts: those of a recording, as a rule. Most of the time goes into their common headers.
#include "tandem/cuda/fusion/compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "emulation_compiler.h"
#include "tandem/cuda/fusion/texts.h"
#include "tandem/tests/cuda_emulation/device.h"

namespace tandem::cuda_impl {

namespace {

using Run = void (*)(unsigned block, unsigned thread, const void* p, const void* core);

// Threads of kernels without a core do not wait for each other: they need nothing of the emulation, which would take
// longer to compile than the kernels.
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
constexpr const char* kCall = R"(
static void run(void (*kernel)(const tandem::cuda_impl::Fused), unsigned block, unsigned thread, const void* p,
                const void*) {
  blockIdx.x = block;
  threadIdx.x = thread;
  kernel(*static_cast<const tandem::cuda_impl::Fused*>(p));
}
)";
constexpr const char* kBeforeCore = R"(#include <device_language.h>
#undef __grid_constant__
#define __grid_constant__
#define TANDEM_GENERATED_KERNEL
)";
constexpr const char* kCallCore = R"(
static void run(void (*kernel)(const tandem::cuda_impl::Fused), unsigned, unsigned, const void* p, const void*) {
  kernel(*static_cast<const tandem::cuda_impl::Fused*>(p));
}
template <class Core>
static void run(void (*kernel)(const tandem::cuda_impl::Fused, const Core), unsigned, unsigned, const void* p,
                const void* core) {
  kernel(*static_cast<const tandem::cuda_impl::Fused*>(p), *static_cast<const Core*>(core));
}
)";

struct Kernel {
  std::string body;
  bool has_core = false;
  std::atomic<Run> run = nullptr;
};

std::mutex mutex;
auto& waiting = *new std::vector<Kernel*>;

void* compiled(const std::string& text) {
  std::string folder = std::filesystem::temp_directory_path() / "tandem-kernel-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return nullptr;
  const std::string source = folder + "/kernel.cpp", library = folder + "/kernel.so";
  std::ofstream(source) << text;
#ifdef __FMA__
  constexpr const char* machine = " -mfma";  // or formulas round twice
#else
  constexpr const char* machine = "";
#endif
  const std::string command = concat(TANDEM_EMULATION_CXX, machine,
                                     " -std=c++20 -O1 -ffp-contract=off -shared -fPIC -o ", library, " ", source);
  void* loaded = std::system(command.c_str()) == 0 ? ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::filesystem::remove_all(folder);
  return loaded;
}

void compile_waiting() {
  const std::lock_guard lock(mutex);
  if (waiting.empty()) return;
  const bool has_core = std::ranges::any_of(waiting, [](const Kernel* k) { return k->has_core; });
  std::string text =
      has_core ? concat(kBeforeCore, joined(kAllIncludes), kCallCore) : concat(kBefore, joined(kLoopHeaders), kCall);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    for (const char* name : {"Body", "Before", "After", "tandem_fused"})
      text += concat("#undef ", name, "\n#define ", name, ' ', name, i, '\n');
    text += concat(waiting[i]->body, "extern \"C\" void tandem_run", i,
                   "(unsigned block, unsigned thread, const void* p, const void* core) {\n"
                   "  run(tandem_fused, block, thread, p, core);\n}\n");
  }
  void* library = compiled(text);
  check(library != nullptr, "emulated GPU: generated kernels could not be compiled");
  for (std::size_t i = 0; i < waiting.size(); ++i)
    waiting[i]->run = reinterpret_cast<Run>(::dlsym(library, concat("tandem_run", i).c_str()));
  waiting.clear();
}

}  // namespace

bool has_fused_compiler() { return true; }

const void* fused_kernel(const Context&, const FusedSource& source) {
  static auto& kernels = *new std::unordered_map<std::string, Kernel>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = kernels.try_emplace(source.body);
  if (is_new) {
    at->second.body = source.body;
    at->second.has_core = source.core != nullptr;
    waiting.push_back(&at->second);
  }
  return &at->second;
}

cudaError_t enqueue_fused(const void* kernel, const LaunchShape& shape, const Fused& p, const std::vector<char>& core) {
  const auto* k = static_cast<const Kernel*>(kernel);
  return cuda_emulation::launch("fused", shape.stream, shape.blocks, shape.threads, 0, [k, p, core] {
    if (k->run == nullptr) std::thread(compile_waiting).join();  // not on the small stack of an emulated thread
    k->run.load()(cuda_emulation::position.block.x, cuda_emulation::position.thread.x, &p, core.data());
  });
}

}  // namespace tandem::cuda_impl
