// Generated kernels on a GPU: NVRTC compiles them. It is loaded when it is first needed.
#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "tandem/core/base/cache_folder.h"
#include "tandem/cuda/fusion/compiler.h"
#include "tandem/cuda/fusion/kept_code.h"
#include "tandem/cuda/fusion/texts.h"
#include "tandem/cuda/streams.h"

namespace tandem::cuda_impl {

namespace {

// NVRTC's functions, as its header declares them; each returns 0 if it succeeds.
using Program = struct NvrtcProgram*;

struct Nvrtc {
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* contents,
                const char* const* names) = nullptr;
  int (*compile)(Program, int count, const char* const* options) = nullptr;
  int (*size)(Program, std::size_t* bytes) = nullptr;
  int (*get)(Program, char* to) = nullptr;
  int (*log_size)(Program, std::size_t* bytes) = nullptr;
  int (*log)(Program, char* to) = nullptr;
  int (*destroy)(Program*) = nullptr;
  bool loaded = false;

  Nvrtc() {
    const std::string name = concat("libnvrtc.so.", CUDART_VERSION / 1000);
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "tandem: captured steps are not fused: %s\n", ::dlerror());
      return;
    }
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      return function != nullptr;
    };
    loaded = find(version, "nvrtcVersion") && find(create, "nvrtcCreateProgram") &&
             find(compile, "nvrtcCompileProgram") && find(size, "nvrtcGetCUBINSize") && find(get, "nvrtcGetCUBIN") &&
             find(log_size, "nvrtcGetProgramLogSize") && find(log, "nvrtcGetProgramLog") &&
             find(destroy, "nvrtcDestroyProgram");
    if (!loaded) std::fprintf(stderr, "tandem: captured steps are not fused: %s lacks functions\n", name.c_str());
  }
};
const Nvrtc& nvrtc() {
  static const Nvrtc instance;
  return instance;
}

constexpr const char* kOptions[] = {"-std=c++20", "-fmad=false", "-default-device"};

// The binary code for the GPU; "" if it cannot be compiled.
std::string compiled(const std::string& architecture, const std::string& source) {
  const char* options[] = {architecture.c_str(), kOptions[0], kOptions[1], kOptions[2]};
  const Nvrtc& n = nvrtc();
  Program program = nullptr;
  if (n.create(&program, source.c_str(), "fused.cu", 0, nullptr, nullptr) != 0) return "";
  std::string binary;
  std::size_t size = 0;
  if (n.compile(program, 4, options) == 0 && n.size(program, &size) == 0) {
    binary.resize(size);
    if (n.get(program, binary.data()) != 0) binary.clear();
  } else if (n.log_size(program, &size) == 0) {
    std::string log(size, '\0');
    n.log(program, log.data());
    std::fprintf(stderr, "tandem: %s\n", log.c_str());
  }
  n.destroy(&program);
  return binary;
}

const void* loaded(const std::string& binary) {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  if (binary.empty() ||
      cudaLibraryLoadData(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess ||
      cudaLibraryGetKernel(&kernel, library, "tandem_fused") != cudaSuccess) {
    forget_error();
    if (library != nullptr) (void)cudaLibraryUnload(library);
    return nullptr;
  }
  return reinterpret_cast<const void*>(kernel);
}

// What comes before a kernel's source.
struct Headers {
  std::string text;
  uint64_t hash = text_hash(text);
};
const Headers& headers_of(const FusedSource& source) {
  static const Headers plain{
      concat("#define TANDEM_GENERATED_KERNEL\n", joined(kStandardHeaders), joined(kLoopHeaders))},
      with_cores{plain.text + joined(kCoreHeaders)};
  return source.core != nullptr ? with_cores : plain;
}

const void* make_kernel(const std::string& architecture, const FusedSource& source) {
  static const std::string folder = writable_cache_folder("fused");
  const Headers& headers = headers_of(source);
  int major = 0, minor = 0;
  nvrtc().version(&major, &minor);
  const KeptCode kept(folder, concat("NVRTC ", major, '.', minor, ' ', architecture, ' ', kOptions[0], ' ', kOptions[1],
                                     ' ', kOptions[2], ", headers ", headers.hash, '\n', source.body));
  if (const void* kernel = loaded(kept.find()); kernel != nullptr) return kernel;
  const std::string binary = compiled(architecture, headers.text + source.body);
  const void* kernel = loaded(binary);
  if (kernel != nullptr) {
    kept.keep(binary);
  } else {
    static std::once_flag told;
    std::call_once(told, [] {
      std::fprintf(stderr, "tandem: a fused kernel cannot be compiled or loaded: its parts run one by one\n");
    });
  }
  return kernel;
}

}  // namespace

bool has_fused_compiler() { return nvrtc().loaded; }

const void* fused_kernel(const Context& c, const FusedSource& source) {
  static std::mutex mutex;
  static auto& kernels = *new std::unordered_map<std::string, const void*>;  // outlives static destructors
  const std::string architecture = concat("--gpu-architecture=sm_", c.gpu().major, c.gpu().minor);
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = kernels.try_emplace(concat(architecture, '\n', source.body));
  const RelaxedCapture relaxed;
  if (is_new) at->second = make_kernel(architecture, source);
  return at->second;
}

cudaError_t enqueue_fused(const void* kernel, const LaunchShape& shape, const Fused& p, const std::vector<char>& core) {
  void* parameters[] = {const_cast<Fused*>(&p), const_cast<char*>(core.data())};
  return cudaLaunchKernel(kernel, shape.blocks, shape.threads, parameters, 0, shape.stream);
}

}  // namespace tandem::cuda_impl
