// CUDA's backend table.
#include "tandem/cuda/gpus.h"
#include "tandem/cuda/tables.h"

namespace tandem {
namespace cuda_impl {
#define TANDEM_FAMILY(Kernels, name) .name = name##_kernels,
constinit const Backend table{TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)};
}  // namespace cuda_impl

const Backend* cuda_backend() { return cuda_impl::device_count() > 0 ? &cuda_impl::table : nullptr; }
const char* cuda_reason() { return cuda_impl::why_none().c_str(); }
}  // namespace tandem
