// resize_.
#include "tandem/autograd/record.h"

namespace tandem {

const Tensor& Tensor::resize_(IntArrayRef size, optional<MemoryFormat> format) const {
  check(format.value_or(MemoryFormat::Contiguous) == MemoryFormat::Contiguous,
        "resize_: the result is row-major; take contiguous() for another memory format");
  return resize_(size);
}

const Tensor& Tensor::resize_(IntArrayRef size) const {
  check(!requires_grad(), "resize_: the tensor requires a gradient: ", *this, "; use reshape or detach()");
  const int64_t count = checked_numel(size);
  TensorImpl& impl = *this->impl();
  const int64_t room = static_cast<int64_t>(impl.storage->nbytes()) / item_size(impl.dtype) - impl.offset;
  if (count > room) {
    check(count <= INT64_MAX - impl.offset, "resize_: too many elements: ", size);
    Tensor larger = empty_raw({impl.offset + count}, impl.dtype, impl.device());
    // All elements of the storage, in memory order.
    const Tensor kept = tandem::alias(*this, {impl.offset + room}, {1}, 0);
    copy_raw(tandem::alias(larger, kept.sizes(), {1}, 0), kept);
    impl.storage = larger.storage();
  }
  impl.set_geometry(size, contiguous_strides(size), impl.offset);
  autograd::wrote(*this, "resize_");
  return *this;
}

}  // namespace tandem
