// Storages whose memory is given back for a time while tensors refer to them, as PyTorch's resize_(0) of a storage does.
//
// The storage, its size and its version stay. Tensors keep the address that they had, so who restores the memory calls
// follow_storage() on those that it knows; autograd does it for the tensors that it has kept.
#pragma once
#include <functional>

#include "tandem/core/tensor_impl.h"

namespace tandem::detail {

/// A storage of `nbytes` > 0 bytes that has no memory so far.
Storage make_released_storage(std::size_t nbytes, Device device);
/// Frees the memory of such a storage, if it has any. No operation may use it any more.
void release_memory(StorageImpl& storage) noexcept;
/// Gives it new memory, uninitialised, if it has none. Throws Error if there is no memory left.
void restore_memory(StorageImpl& storage);
inline bool is_released(const StorageImpl& storage) { return storage.data() == nullptr && storage.nbytes() > 0; }

/// `restore` brings back the memory and the values of a storage when backward needs them; empty: nothing does any more.
/// Any thread may call these two.
void set_restorer(const StorageImpl& storage, std::function<void()> restore);
/// Calls it. Throws Error if there is none, or if it has restored nothing.
void restore_values(const StorageImpl& storage);

/// Takes over the present address of the memory.
inline void follow_storage(TensorImpl& tensor) {
  auto* base = static_cast<char*>(tensor.storage->data());
  if (tensor.data != (base == nullptr ? nullptr : base + tensor.offset * item_size(tensor.dtype))) [[unlikely]]
    tensor.refresh();
}

}  // namespace tandem::detail
