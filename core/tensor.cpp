// Tensor metadata, its geometry, and the creation of raw tensors.
#include "tandem/core/tensor.h"

#include <algorithm>
#include <limits>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/deprecated_type.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile.h"
#include "tandem/core/stream.h"
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

void TensorImpl::set_geometry(IntArrayRef new_sizes, IntArrayRef new_strides, int64_t new_offset) {
  sizes = new_sizes;
  strides = new_strides;
  offset = new_offset;
  refresh();
}

void* TensorImpl::operator new(std::size_t size) { return cpu::allocate(size); }
void TensorImpl::operator delete(void* block, std::size_t size) { cpu::deallocate(block, size); }

void Tensor::undefined() { fail("the tensor is undefined"); }
void Tensor::bad_dim(int64_t d, int64_t n) {
  if (n == 0) throw IndexError(concat("dimension ", d, " specified but the tensor has no dimensions"));
  throw IndexError(concat("dimension ", d, " is out of range: expected ", -n, " to ", n - 1));
}
void Tensor::wrong_type(ScalarType asked) const {
  if (!defined()) undefined();
  fail("data_ptr<", tandem::name(asked), ">: the tensor is ", *this);
}
void Tensor::check_accessor(std::size_t rank) const {
  check(dim() == static_cast<int64_t>(rank), "accessor: expected ", rank, " dimensions, the tensor is ", *this);
  check(is_cpu(), "accessor: the tensor is not on the CPU: ", *this);
}

void Tensor::check_packed(std::size_t rank, bool in_32_bits) const {
  check(dim() == static_cast<int64_t>(rank), "packed_accessor: expected ", rank, " dimensions, the tensor is ", *this);
  if (!in_32_bits) return;
  int64_t last = 0;
  for (int64_t d = 0; d < dim(); ++d) last += (std::max<int64_t>(size(d), 1) - 1) * stride(d);
  check(last <= std::numeric_limits<int32_t>::max(), "packed_accessor32: the tensor is too large: ", *this,
        "; use packed_accessor64");
}

std::string Tensor::describe() const { return concat(sizes(), " ", dtype(), " ", device()); }
std::string DeprecatedTypeProperties::toString() const {
  constexpr const char* layouts[] = {"",          "Sparse",    "SparseCsr", "Mkldnn",
                                     "SparseCsc", "SparseBsr", "SparseBsc", "Nested"};
  return concat(layouts[static_cast<int>(layout_)], DeviceTypeName(device_), tandem::toString(type_), "Type");
}
DeprecatedTypeProperties Tensor::type() const { return {device().type(), scalar_type()}; }
std::string Tensor::toString() const { return type().toString(); }
const std::string& Tensor::name() const {
  static const std::string none;
  return none;
}

bool Tensor::is_non_overlapping_and_dense() const {
  if (is_contiguous()) return true;
  Dims sizes = get().sizes, strides = get().strides;
  int64_t step = 1;
  for (std::size_t left = sizes.size(); left > 0;) {  // find the dimension with each expected stride in turn
    std::size_t i = 0;
    while (i < left && sizes[i] != 1 && strides[i] != step) ++i;
    if (i == left) return false;
    if (sizes[i] != 1) step *= sizes[i];
    sizes.erase(i);
    strides.erase(i);
    --left;
  }
  return true;
}

Scalar Tensor::item() const {
  check(numel() == 1, "item: expected one element, the tensor is ", *this);
  if (profiler::is_on()) [[unlikely]]
    detail::note_host_read(*this, "item");
  alignas(8) unsigned char bytes[16];
  if (is_cpu())
    __builtin_memcpy(bytes, get().data, static_cast<std::size_t>(element_size()));
  else
    backend(*this).runtime.copy_bytes(bytes, Device(kCPU, 0), get().data, device(), nbytes(), false);
  Scalar out;
  dispatch(dtype(), StoredTypes{}, "item", [&]<class T>(Type<T>) {
    T value;
    __builtin_memcpy(&value, bytes, sizeof(T));
    out = Scalar(value);
  });
  return out;
}

Tensor alias_as(const Tensor& base, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  Tensor out = alias(base, {0}, {1}, 0);
  out.impl()->dtype = dtype;
  out.impl()->set_geometry(sizes, strides, offset);
  return out;
}
Tensor parts_raw(const Tensor& complex) {
  Dims sizes(complex.sizes()), strides(complex.strides());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return alias_as(complex, toRealValueType(complex.dtype()), sizes, strides, 2 * complex.storage_offset());
}

namespace {
// The real parts (0) or the imaginary parts (1).
Tensor part_raw(const Tensor& complex, int64_t which) {
  Dims strides(complex.strides());
  for (int64_t& stride : strides) stride *= 2;
  return alias_as(complex, toRealValueType(complex.dtype()), complex.sizes(), strides,
                  2 * complex.storage_offset() + which);
}

// Copies to or from a complex dtype, part by part.
void copy_complex(const Tensor& to, const Tensor& from) {
  if (is_complex(to.dtype()) && is_complex(from.dtype())) return copy_raw(parts_raw(to), parts_raw(from));
  if (is_complex(to.dtype())) {
    copy_raw(part_raw(to, 0), from);
    return fill_raw(part_raw(to, 1), 0);
  }
  if (to.dtype() != kBool) return copy_raw(to, part_raw(from, 0));
  const Tensor real = part_raw(from, 0), imaginary = part_raw(from, 1),
               any = empty_raw(from.sizes(), kBool, from.device());
  backend(to).comparison.value.get<ops::LogicalOr>()(any, real, imaginary);
  copy_raw(to, any);
}
}  // namespace

void copy_raw(const Tensor& to, const Tensor& from) {
  if (to.dtype() != from.dtype() && (is_complex(to.dtype()) || is_complex(from.dtype()))) [[unlikely]]
    return copy_complex(to, from);
  backend(to).copy.copy(to, from);
}
void fill_raw(const Tensor& to, const Scalar& value) { backend(to).copy.fill(to, value); }
void copy_bytes_raw(const Tensor& to, const Tensor& from, bool non_blocking) {
  backend(to.is_cpu() ? from : to)
      .runtime.copy_bytes(to.data_ptr(), to.device(), from.data_ptr(), from.device(), to.nbytes(), non_blocking);
}

void Tensor::record_stream(const Stream& stream) const {
  check(stream.device() == device(), "record_stream: the stream is on ", stream.device(), ", the tensor is ", *this);
  backend(*this).runtime.record_stream(device(), data_ptr(), stream.handle());
}

Tensor empty_raw(IntArrayRef sizes, ScalarType dtype, Device device) {
  const int64_t numel = checked_numel(sizes);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(numel, item_size(dtype), &bytes) || bytes >= int64_t{1} << 46) [[unlikely]]
    fail("too many elements: ", sizes, " of ", name(dtype));
  return Tensor(IntrusivePtr(new TensorImpl(make_storage(static_cast<std::size_t>(bytes), device), dtype, sizes)));
}

Tensor empty_raw(IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format) {
  Tensor out = empty_raw(sizes, dtype, device);
  if (is_channels_last(format)) out.impl()->set_geometry(sizes, channels_last_strides(sizes, format), 0);
  return out;
}

Tensor alias(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const TensorImpl& impl = *base.impl();
  Tensor out(IntrusivePtr(new TensorImpl(impl.storage, impl.dtype, sizes, strides, offset)));
  out.impl()->inference = impl.inference;
  if (impl.counter) out.impl()->counter = impl.counter;
  return out;
}

}  // namespace tandem
