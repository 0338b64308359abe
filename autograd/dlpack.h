// DLPack: exchanging tensors with other libraries without a copy. core/dlpack_structs.h declares the structs,
// as dlpack/dlpack.h does.
//
//   DLManagedTensor* managed = to_dlpack(tensor);    // for another library, which calls managed->deleter(managed)
//   Tensor tensor = from_dlpack(managed);            // from another library; calls the deleter with the last reference
//
// Both sides see the same memory. On CUDA, the caller makes the streams of both sides wait for each other.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tandem {

/// `tensor` with its strides, without its gradient. Its memory lives until the receiver calls the deleter,
/// on any thread.
DLManagedTensor* to_dlpack(const Tensor& tensor);
/// The same in DLPack's newer struct, which has a version, and can forbid the receiver to write to the memory.
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor, bool read_only = false);
/// A tensor on the memory of `managed`. Its deleter, or `deleter` with the address of the first element in its place,
/// is called once, when the last tensor on the memory is gone. Throws Error, and `managed` remains the caller's, for
/// null pointers, dtypes that Tandem lacks, other devices than CPU and CUDA, negative strides and more than 12
/// dimensions.
Tensor from_dlpack(DLManagedTensor* managed, std::function<void(void*)> deleter = {});
/// The same; also throws Error unless the major version is 1. Read-only memory is copied, because any tensor may be
/// written to, and given back at once.
Tensor from_dlpack(DLManagedTensorVersioned* managed, std::function<void(void*)> deleter = {});

namespace detail {
/// DLPack's type code and number of bits of a dtype.
struct DlpackType {
  uint8_t code, bits;
};
DlpackType dlpack_type(ScalarType type);
/// Throws Error for a dtype that Tandem lacks.
ScalarType dtype_of_dlpack(DlpackType type, uint16_t lanes);
}  // namespace detail

}  // namespace tandem
