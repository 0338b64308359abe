// CUDA's backend table, and the tables of families without a source of their own.
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/gpus.h"
#include "tandem/cuda/tables.h"

namespace tandem {
namespace cuda_impl {
struct UnaryLoops;   // ops/unary.h
struct BinaryLoops;  // ops/binary.h
constinit const UnaryKernels unary_kernels = make_unary_kernels<UnaryLoops>(kTakesHalf);
constinit const BinaryKernels binary_kernels = make_binary_kernels<BinaryLoops>(kTakesHalf);

#define TANDEM_FAMILY(Kernels, name) .name = name##_kernels,
constinit const Backend table{TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)};
}  // namespace cuda_impl

const Backend* cuda_backend() { return cuda_impl::device_count() > 0 ? &cuda_impl::table : nullptr; }
const char* cuda_reason() { return cuda_impl::why_none().c_str(); }
}  // namespace tandem
