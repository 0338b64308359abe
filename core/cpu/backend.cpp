// The CPU's backend table, for one instruction set (kernel_sets.h), and the tables of families without a source of
// their own.
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/capture.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/capture/cpu_capture.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::cpu {
struct UnaryLoops;   // pointwise/unary_loop.h
struct BinaryLoops;  // pointwise/binary_loop.h
constinit const UnaryKernels unary_kernels = make_unary_kernels<UnaryLoops>(kTakesHalf);
constinit const BinaryKernels binary_kernels = make_binary_kernels<BinaryLoops>(kTakesHalf);
constinit const CaptureKernels capture_kernels{
    .create = create_capture,
    .destroy = destroy_capture,
    .enter = enter_capture,
    .leave = enter_capture,
    .begin = begin_capture,
    .end = end_capture,
    .place = place_capture,
    .begin_numbers = begin_numbers,
    .end_numbers = end_numbers,
    .replay = replay_capture,
};

#define TANDEM_FAMILY(Kernels, name) .name = name##_kernels,
constinit const Backend kernels{TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)};
}  // namespace tandem::cpu
