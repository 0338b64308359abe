// to, copy_, clone, contiguous: the same values in another dtype, on another device, in other memory.
// Gradients: the gradient converted (moved) back.
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

struct ToBackward final : Node {
  const char* name() const override { return "ToBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].to(device, dtype); }
  Device device;
  ScalarType dtype = kFloat;
};

// Row-major copy in `dtype` on `device`. The conversion happens on the side of the source.
Tensor convert(const Tensor& self, Device device, ScalarType dtype) {
  const Device from = self.device();
  Tensor here = empty_raw(self.sizes(), dtype, from);
  backend(from).pointwise.copy(here, self);
  if (device == from) return here;
  Tensor there = empty_raw(self.sizes(), dtype, device);
  const auto& runtime = backend(device.is_cuda() ? device : from).runtime;
  runtime.copy_bytes(there.data_ptr(), device, here.data_ptr(), from, here.nbytes(), false);
  return there;
}

Tensor to_recorded(const Tensor& self, Device device, ScalarType dtype) {
  Tensor out = convert(self, device, dtype);
  if (auto* node = record<ToBackward>(out, self)) {
    node->device = self.device();
    node->dtype = self.dtype();
  }
  return out;
}

}  // namespace

Tensor Tensor::to(Device device, ScalarType dtype, bool, bool copy) const {
  device = resolve(device);
  if (!copy && device == this->device() && dtype == this->dtype()) return *this;
  return to_recorded(*this, device, dtype);
}
Tensor Tensor::to(ScalarType dtype, bool non_blocking, bool copy) const {
  return to(device(), dtype, non_blocking, copy);
}
Tensor Tensor::to(Device device, bool non_blocking, bool copy) const {
  return to(device, dtype(), non_blocking, copy);
}
Tensor Tensor::to(const Tensor& like, bool non_blocking, bool copy) const {
  return to(like.device(), like.dtype(), non_blocking, copy);
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy) const {
  return to(options.has_device() ? options.device() : device(),
            options.has_dtype() ? options.dtype() : dtype(), non_blocking, copy);
}

Tensor Tensor::clone(MemoryFormat) const { return to_recorded(*this, device(), dtype()); }
Tensor Tensor::contiguous(MemoryFormat) const { return is_contiguous() ? *this : clone(); }

// Outside autograd: pinned memory is for data on its way to a GPU.
Tensor Tensor::pin_memory() const {
  check(is_cpu(), "pin_memory: expected a tensor on the CPU, got ", *this);
  if (is_pinned()) return *this;
  Storage storage = make_storage(nbytes(), device(), /*pinned=*/true);
  Tensor out(IntrusivePtr(new TensorImpl(std::move(storage), dtype(), sizes())));
  backend(*this).pointwise.copy(out, *this);
  return out;
}

Tensor& Tensor::copy_(const Tensor& source, bool) {
  if (source.sizes() != sizes())
    check(broadcast_sizes(sizes(), source.sizes(), "copy_") == Dims(sizes()), "copy_: source ", source,
          " does not broadcast to ", *this);
  if (is_same(source)) return *this;
  return inplace(
      *this, "copy_", Before::kAlias,
      [&] {
        Tensor from = source.detach();
        if (from.device() != device()) from = convert(from, device(), dtype());
        if (from.storage() == storage()) from = from.clone();
        backend(*this).pointwise.copy(*this, from);
      },
      [&](const Tensor&) { return source.to(device(), dtype(), false, /*copy=*/true).expand(sizes()); },
      source);
}

}  // namespace tandem
