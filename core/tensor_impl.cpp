// Geometry of a TensorImpl.
#include "tandem/core/tensor_impl.h"

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/threads/thread_state.h"

namespace tandem {

namespace detail {
[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadState thread_state;
}

TensorImpl::TensorImpl(Storage s, ScalarType type, IntArrayRef dims, IntArrayRef steps, int64_t start)
    : storage(std::move(s)),
      offset(start),
      dtype(type),
      inference(detail::thread_state.inference_mode),
      sizes(dims),
      strides(steps) {
  refresh();
}

TensorImpl::TensorImpl(Storage s, ScalarType type, IntArrayRef dims)
    : storage(std::move(s)), dtype(type), inference(detail::thread_state.inference_mode), sizes(dims) {
  strides.resize(dims.size());
  uint64_t step = 1;  // may wrap if a size of 0 allows arbitrary others; those strides are never used
  bool empty = false;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(step);
    empty = empty || dims[i] == 0;
    if (dims[i] > 1) step *= static_cast<uint64_t>(dims[i]);
  }
  numel = empty ? 0 : static_cast<int64_t>(step);
  data = storage->data();
}

void TensorImpl::refresh() {
  numel = checked_numel(sizes);                      // checked again, because expand can create any product
  char* base = static_cast<char*>(storage->data());  // null if the device allocated nothing
  data = base == nullptr ? nullptr : base + offset * item_size(dtype);
  contiguous = true;
  uint64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0 && contiguous;) {
    if (sizes[i] == 1) continue;
    contiguous = strides[i] == static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(sizes[i]);
  }
  if (numel == 0) contiguous = true;
}

void* TensorImpl::operator new(std::size_t size) { return cpu::allocate(size); }
void TensorImpl::operator delete(void* block, std::size_t size) { cpu::deallocate(block, size); }

}  // namespace tandem
