// GPUs: their number, selection, properties, peers and occupancy; versions; error texts.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tandem/tests/cuda_emulation/state.h"

namespace tandem::cuda_emulation {
namespace {

constexpr int kMultiprocessors = 132, kThreads = 2048, kBlocks = 32, kSharedOfBlock = 48 << 10;
constexpr int kSharedOptIn = 227 << 10, kSharedOfMultiprocessor = 228 << 10, kL2 = 50 << 20;

bool valid(int gpu) { return gpu >= 0 && gpu < static_cast<int>(state().gpus.size()); }

cudaError_t properties(cudaDeviceProp* out, int gpu) {
  if (out == nullptr) return cudaErrorInvalidValue;
  if (!valid(gpu)) return cudaErrorInvalidDevice;
  *out = {};
  std::snprintf(out->name, sizeof out->name, "Emulated GPU");
  std::memcpy(out->uuid.bytes, "emulated GPU   ", sizeof out->uuid.bytes);
  out->uuid.bytes[15] = static_cast<char>(gpu);
  out->totalGlobalMem = state().memory;
  out->sharedMemPerBlock = kSharedOfBlock;
  out->sharedMemPerBlockOptin = kSharedOptIn;
  out->sharedMemPerMultiprocessor = kSharedOfMultiprocessor;
  out->reservedSharedMemPerBlock = 1024;
  out->regsPerBlock = out->regsPerMultiprocessor = 65536;
  out->warpSize = 32;
  out->maxThreadsPerBlock = out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
  out->maxThreadsDim[2] = 64;
  out->maxGridSize[0] = 0x7fffffff;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->maxThreadsPerMultiProcessor = kThreads;
  out->maxBlocksPerMultiProcessor = kBlocks;
  out->multiProcessorCount = kMultiprocessors;
  out->major = 9;
  out->l2CacheSize = kL2;
  out->memoryBusWidth = 5120;
  out->asyncEngineCount = 3;
  out->concurrentKernels = out->canMapHostMemory = out->unifiedAddressing = out->cooperativeLaunch = 1;
  out->textureAlignment = 512;
  out->pciBusID = gpu + 1;
  return cudaSuccess;
}

cudaError_t attribute(int* out, cudaDeviceAttr attr, int gpu) {
  if (out == nullptr) return cudaErrorInvalidValue;
  if (!valid(gpu)) return cudaErrorInvalidDevice;
  switch (attr) {
    case cudaDevAttrPageableMemoryAccess:
      *out = 0;
      break;
    case cudaDevAttrMultiProcessorCount:
      *out = kMultiprocessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *out = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *out = 0;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *out = 1024;
      break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      *out = 1024;
      break;
    case cudaDevAttrMaxBlockDimZ:
      *out = 64;
      break;
    case cudaDevAttrMaxGridDimX:
      *out = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *out = 65535;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *out = kThreads;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *out = kBlocks;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *out = kSharedOfBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *out = kSharedOptIn;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *out = kSharedOfMultiprocessor;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *out = 65536;
      break;
    case cudaDevAttrWarpSize:
      *out = 32;
      break;
    case cudaDevAttrL2CacheSize:
      *out = kL2;
      break;
    case cudaDevAttrClockRate:
      *out = 1980000;
      break;
    case cudaDevAttrMemoryClockRate:
      *out = 2619000;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *out = 5120;
      break;
    case cudaDevAttrPciBusId:
      *out = gpu + 1;
      break;
    case cudaDevAttrAsyncEngineCount:
      *out = 3;
      break;
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrMemoryPoolsSupported:
      *out = 0;
      break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCooperativeLaunch:
      *out = 1;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t occupancy(int* out, int block, std::size_t shared) {
  if (out == nullptr || block <= 0 || block > 1024) return cudaErrorInvalidValue;
  const int by_threads = kThreads / ((block + 31) / 32 * 32);
  const int by_shared = static_cast<int>(kSharedOfMultiprocessor / (shared + 1024));
  *out = std::min({kBlocks, by_threads, by_shared});
  return cudaSuccess;
}

struct Text {
  cudaError_t code;
  const char *name, *text;
};
constexpr Text kTexts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};
const Text& text_of(cudaError_t code) {
  for (const Text& text : kTexts)
    if (text.code == code) return text;
  static constexpr Text kUnknown{cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};
  return kUnknown;
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudaError_t cudaGetDeviceCount(int* out) {
  *out = 0;
  return call("cudaGetDeviceCount", [&] {
    *out = static_cast<int>(state().gpus.size());
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* out) {
  return call("cudaGetDevice", [&] {
    *out = host_thread().gpu;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int gpu) {
  return call("cudaSetDevice", [&] {
    if (!valid(gpu)) return cudaErrorInvalidDevice;
    host_thread().gpu = gpu;
    return cudaSuccess;
  });
}
cudaError_t cudaInitDevice(int gpu, unsigned, unsigned) {
  return call("cudaInitDevice", [&] { return valid(gpu) ? cudaSuccess : cudaErrorInvalidDevice; });
}
cudaError_t cudaSetDeviceFlags(unsigned) {
  return call("cudaSetDeviceFlags", [] { return cudaSuccess; });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int gpu) {
  return call("cudaGetDeviceProperties", [&] { return properties(out, gpu); });
}
cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attr, int gpu) {
  return call("cudaDeviceGetAttribute", [&] { return attribute(out, attr, gpu); });
}
cudaError_t cudaDeviceGetPCIBusId(char* out, int length, int gpu) {
  return call("cudaDeviceGetPCIBusId", [&] {
    if (out == nullptr || length < 13) return cudaErrorInvalidValue;
    if (!valid(gpu)) return cudaErrorInvalidDevice;
    std::snprintf(out, static_cast<std::size_t>(length), "0000:%02X:00.0", gpu + 1);
    return cudaSuccess;
  });
}
cudaError_t cudaDriverGetVersion(int* out) {
  *out = state().no_driver ? 0 : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* out) {
  *out = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* out, int gpu, int peer) {
  return call("cudaDeviceCanAccessPeer", [&] {
    if (!valid(gpu) || !valid(peer)) return cudaErrorInvalidDevice;
    *out = gpu != peer;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call("cudaDeviceEnablePeerAccess", [&] {
    const int own = host_thread().gpu;
    if (flags != 0) return cudaErrorInvalidValue;
    if (!valid(peer) || peer == own) return cudaErrorInvalidDevice;
    auto enabled = state().gpus[static_cast<std::size_t>(own)].peers[static_cast<std::size_t>(peer)];
    if (enabled) return cudaErrorPeerAccessAlreadyEnabled;
    enabled = true;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call("cudaDeviceDisablePeerAccess", [&] {
    if (!valid(peer)) return cudaErrorInvalidDevice;
    auto enabled = state().gpus[static_cast<std::size_t>(host_thread().gpu)].peers[static_cast<std::size_t>(peer)];
    if (!enabled) return cudaErrorPeerAccessNotEnabled;
    enabled = false;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void*, int block, size_t shared) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&] { return occupancy(out, block, shared); });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void*, int block, size_t shared,
                                                                   unsigned) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", [&] { return occupancy(out, block, shared); });
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attr, int value) {
  return call("cudaFuncSetAttribute", [&] {
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > kSharedOptIn) return cudaErrorInvalidValue;
    state().shared_limits[function] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  return call("cudaFuncGetAttributes", [&] {
    if (out == nullptr || function == nullptr) return cudaErrorInvalidDeviceFunction;
    *out = {};
    out->maxThreadsPerBlock = 1024;
    out->numRegs = 32;
    out->ptxVersion = out->binaryVersion = 90;
    const auto found = state().shared_limits.find(function);
    out->maxDynamicSharedSizeBytes =
        found != state().shared_limits.end() ? static_cast<int>(found->second) : kSharedOfBlock;
    return cudaSuccess;
  });
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = host_thread().last_error;
  std::lock_guard lock(state().mutex);
  host_thread().last_error = state().sticky;
  return error;
}
cudaError_t cudaPeekAtLastError() { return host_thread().last_error; }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }

}  // extern "C"
