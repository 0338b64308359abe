// The exports of a plugin of CPU kernels: the table of kernels compiled for another instruction set.
//
// All else in the plugin is hidden, so no function compiled for its processor can take the place of one of the
// library's. State (memory, threads, the profiler, random numbers) is the library's, which the plugin links.
#pragma once
#include <cstdint>

#include "tandem/core/backend/attention.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/capture.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/data.h"
#include "tandem/core/backend/decomposition.h"
#include "tandem/core/backend/fft.h"
#include "tandem/core/backend/index.h"
#include "tandem/core/backend/layer_norm.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/backend/loss.h"
#include "tandem/core/backend/optim.h"
#include "tandem/core/backend/pool.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/backend/scan.h"
#include "tandem/core/backend/softmax.h"
#include "tandem/core/backend/sort.h"
#include "tandem/core/backend/special.h"
#include "tandem/core/backend/ternary.h"
#include "tandem/core/backend/unary.h"

namespace tandem::cpu {

struct KernelPlugin {
  uint64_t layout;  // first, whatever changes
  const Backend* kernels;
};

/// Differs between builds whose tables differ in their number of kernels.
inline constexpr uint64_t kTableLayout = [] {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
#define TANDEM_FAMILY(Kernels, name) sizeof(Kernels),
  for (const std::size_t size : {TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)}) hash = (hash ^ size) * 1099511628211u;
#undef TANDEM_FAMILY
  return hash;
}();

}  // namespace tandem::cpu

extern "C" const tandem::cpu::KernelPlugin tandem_kernel_plugin;
