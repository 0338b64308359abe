// Conversions between tensors and DLPack's structs.
#include "tandem/autograd/dlpack.h"

#include <memory>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/dlpack_structs.h"
#include "tandem/core/memory/kept_weight.h"

namespace tandem {
namespace {

struct Code {
  ScalarType type;
  uint8_t code, bits;
};
constexpr Code kCodes[] = {{kByte, kDLUInt, 8},
                           {kUInt16, kDLUInt, 16},
                           {kUInt32, kDLUInt, 32},
                           {kUInt64, kDLUInt, 64},
                           {kChar, kDLInt, 8},
                           {kShort, kDLInt, 16},
                           {kInt, kDLInt, 32},
                           {kLong, kDLInt, 64},
                           {kHalf, kDLFloat, 16},
                           {kFloat, kDLFloat, 32},
                           {kDouble, kDLFloat, 64},
                           {kBool, kDLBool, 8},
                           {kBFloat16, kDLBfloat, 16},
                           {kComplexFloat, kDLComplex, 64},
                           {kComplexDouble, kDLComplex, 128}};

// Logical CPU devices share one memory, which is DLPack's only CPU.
DLDevice device_of(Device device) {
  if (device.is_cpu()) return {kDLCPU, 0};
  return {kDLCUDA, device.index()};
}
Device device_of(DLDevice device) {
  const bool host = device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
  check(host || device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged,
        "from_dlpack: memory of device type ", static_cast<int>(device.device_type),
        " cannot be used; copy the tensor to the CPU first");
  if (host) return Device(kCPU);
  check(device.device_id >= 0 && device.device_id < 128, "from_dlpack: there is no cuda:", device.device_id);
  return Device(kCUDA, static_cast<DeviceIndex>(device.device_id));
}

// Keeps the memory and the sizes of an exported tensor alive.
template <class Managed>
struct Export {
  Tensor tensor;
  Dims sizes, strides;
  Managed managed{};
};

template <class Managed>
Managed* exported(const Tensor& tensor) {
  check(tensor.defined(), "to_dlpack: the tensor is undefined");
  NoGradGuard no_grad;
  auto out = std::make_unique<Export<Managed>>();
  out->tensor = tensor.detach();
  detail::note_unversioned_alias();
  out->sizes = tensor.sizes();
  out->strides = tensor.strides();
  // Receivers may compare the strides of dimensions that have at most one element, where any stride is right.
  for (std::size_t d = 0; d < out->sizes.size(); ++d)
    if (out->sizes[d] < 2) out->strides[d] = 1;
  const detail::DlpackType type = detail::dlpack_type(tensor.dtype());
  out->managed.dl_tensor = {out->tensor.data_ptr(),
                            device_of(tensor.device()),
                            static_cast<int32_t>(tensor.dim()),
                            {type.code, type.bits, 1},
                            out->sizes.data(),
                            out->strides.data(),
                            0};
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_ctx); };
  return &out.release()->managed;
}

// nullptr for tensors without elements.
void* first_element(const DLTensor& t) {
  return t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
}

template <class Managed>
Tensor imported(Managed* managed, std::function<void(void*)> deleter) {
  const DLTensor& t = managed->dl_tensor;
  check(t.ndim >= 0 && t.ndim <= kMaxDims, "from_dlpack: the tensor has ", t.ndim, " dimensions, at most ", kMaxDims,
        " are possible");
  check(t.ndim == 0 || t.shape != nullptr, "from_dlpack: the tensor has no shape");
  const auto dims = static_cast<std::size_t>(t.ndim);
  const Dims sizes(IntArrayRef(t.shape, dims));
  const Dims strides = t.strides == nullptr ? Dims(contiguous_strides(sizes)) : Dims(IntArrayRef(t.strides, dims));
  bool none = false;
  for (const int64_t size : sizes) {
    check(size >= 0, "from_dlpack: negative size in ", sizes);
    none = none || size == 0;
  }
  check(none || t.data != nullptr, "from_dlpack: the tensor has no memory");
  const TensorOptions options =
      TensorOptions(detail::dtype_of_dlpack({t.dtype.code, t.dtype.bits}, t.dtype.lanes)).device(device_of(t.device));
  if (!deleter)
    deleter = [managed](void*) {
      if (managed->deleter != nullptr) managed->deleter(managed);
    };
  // Nothing may throw once the deleter belongs to a storage.
  from_blob(first_element(t), sizes, strides, options);
  return from_blob(first_element(t), sizes, strides, std::move(deleter), options);
}

}  // namespace

namespace detail {
DlpackType dlpack_type(ScalarType type) {
  for (const Code& known : kCodes)
    if (known.type == type) return {known.code, known.bits};
  fail("to_dlpack: DLPack has no dtype for ", type);
}
ScalarType dtype_of_dlpack(DlpackType type, uint16_t lanes) {
  for (const Code& known : kCodes)
    if (known.code == type.code && known.bits == type.bits && lanes == 1) return known.type;
  fail("from_dlpack: there are no tensors of type code ", static_cast<int>(type.code), " with ",
       static_cast<int>(type.bits), " bits and ", lanes, " lanes");
}
}  // namespace detail

DLManagedTensor* to_dlpack(const Tensor& tensor) { return exported<DLManagedTensor>(tensor); }
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor, bool read_only) {
  auto* out = exported<DLManagedTensorVersioned>(tensor);
  out->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  out->flags = read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return out;
}
Tensor from_dlpack(DLManagedTensor* managed, std::function<void(void*)> deleter) {
  check(managed != nullptr, "from_dlpack: the tensor is null");
  return imported(managed, std::move(deleter));
}
Tensor from_dlpack(DLManagedTensorVersioned* managed, std::function<void(void*)> deleter) {
  check(managed != nullptr, "from_dlpack: the tensor is null");
  check(managed->version.major == DLPACK_MAJOR_VERSION, "from_dlpack: the tensor is of version ",
        managed->version.major, ".", managed->version.minor, " of DLPack; known is ", DLPACK_MAJOR_VERSION);
  if ((managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) return imported(managed, std::move(deleter));
  NoGradGuard no_grad;
  const Tensor copy = imported(managed, [](void*) {}).clone();
  if (deleter)
    deleter(first_element(managed->dl_tensor));
  else if (managed->deleter != nullptr)
    managed->deleter(managed);
  return copy;
}

}  // namespace tandem
