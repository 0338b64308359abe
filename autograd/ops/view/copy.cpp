// to, copy_, clone, contiguous: the same values in another dtype, on another device, or in other memory.
// Gradients: the gradient converted (moved) back.
#include "tandem/autograd/ops/factories/fill.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/warning.h"

namespace tandem {
namespace {
using namespace autograd;

struct ToBackward final : NamedNode<ToBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = (is_complex(dtype) ? g[0] : real(g[0])).to(device, dtype);
  }
  Device device;
  ScalarType dtype = kFloat;
};

// Converts into newly allocated memory on the same device.
Tensor converted(const Tensor& self, ScalarType dtype, MemoryFormat format) {
  Tensor out = empty_raw(self.sizes(), dtype, self.device(), format);
  copy_raw(out, self);
  return out;
}

// Copies bytes between two dense tensors of the same dtype, size and layout.
void move_bytes(const Tensor& to, const Tensor& from, bool non_blocking) {
  const auto& runtime = backend(to.is_cpu() ? from.device() : to.device()).runtime;
  runtime.copy_bytes(to.data_ptr(), to.device(), from.data_ptr(), from.device(), from.nbytes(), non_blocking);
}

// Warns once when a conversion drops imaginary parts. Outside of backward, where it is intended.
void warn_of_complex(ScalarType from, ScalarType to) {
  if (!is_complex(from) || is_complex(to) || to == kBool) return;
  static std::atomic_flag warned;
  if (WarningUtils::is_due(warned))
    warn("a conversion from a complex to a real dtype discards the imaginary part; take real()");
}

// A copy in `dtype` on `device`, dense in `format`. Transfers the data in the smaller of the two dtypes, directly from
// its memory if that has the layout.
Tensor convert(const Tensor& self, Device device, ScalarType dtype, bool non_blocking, MemoryFormat format) {
  if (device == self.device()) return converted(self, dtype, format);
  const ScalarType crossing = self.element_size() <= item_size(dtype) ? self.dtype() : dtype;
  const Tensor here = self.is_contiguous(format) && crossing == self.dtype() ? self : converted(self, crossing, format);
  Tensor there = empty_raw(self.sizes(), crossing, device, format);
  move_bytes(there, here, non_blocking);
  return crossing == dtype ? there : converted(there, dtype, format);
}

Tensor to_recorded(const Tensor& self, Device device, ScalarType dtype, optional<MemoryFormat> format,
                   bool non_blocking = false) {
  Tensor out = convert(self, device, dtype, non_blocking, preserved_format(self, format));
  if (!is_differentiable(dtype)) return out;  // a node without an output would be gone before it is filled
  if (auto* node = record<ToBackward>(out, self)) {
    node->device = self.device();
    node->dtype = self.dtype();
  }
  return out;
}

}  // namespace

Tensor Tensor::to(Device device, ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> format) const {
  device = resolve(device);
  // Where sizes of 1 leave the layout open, the strides say it: LibTorch's to() looks at them, contiguous() does not.
  const bool kept =
      !format || *format == MemoryFormat::Preserve || (is_contiguous(*format) && suggest_memory_format() == *format);
  if (!copy && kept && device == this->device() && dtype == this->dtype()) return *this;
  warn_of_complex(this->dtype(), dtype);
  return to_recorded(*this, device, dtype, format, non_blocking);
}
Tensor Tensor::to(ScalarType dtype, bool non_blocking, bool copy, optional<MemoryFormat> format) const {
  return to(device(), dtype, non_blocking, copy, format);
}
Tensor Tensor::to(const Tensor& like, bool non_blocking, bool copy, optional<MemoryFormat> format) const {
  return to(like.device(), like.dtype(), non_blocking, copy, format);
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy, optional<MemoryFormat> format) const {
  check(!options.requires_grad(), "to(options) expects unset requires_grad flag, but got it set as true");
  return to(options.device(options.has_device() ? options.device() : device()).resolved_device(),
            options.has_dtype() ? options.dtype() : dtype(), non_blocking, copy,
            format ? format : options.memory_format_opt());
}
Tensor Tensor::to(optional<ScalarType> dtype, optional<Layout>, optional<Device> device, optional<bool>,
                  bool non_blocking, bool copy, optional<MemoryFormat> format) const {
  return to(device.value_or(this->device()), dtype.value_or(scalar_type()), non_blocking, copy, format);
}

Tensor Tensor::to(MemoryFormat format) const { return to(device(), dtype(), false, false, format); }

Tensor Tensor::clone(optional<MemoryFormat> format) const { return to_recorded(*this, device(), dtype(), format); }
Tensor Tensor::contiguous(MemoryFormat format) const {
  if (is_contiguous(format)) return *this;
  check(format != MemoryFormat::Preserve, "contiguous: there is no format to preserve; use clone()");
  return clone(format);
}

// Not recorded by autograd: pinned memory holds data on its way to a GPU.
Tensor Tensor::pin_memory() const {
  check(is_cpu(), "pin_memory: expected a tensor on the CPU, got ", *this);
  if (is_pinned()) return *this;
  Storage storage = make_storage(nbytes(), device(), /*pinned=*/true);
  Tensor out(IntrusivePtr(new TensorImpl(std::move(storage), dtype(), sizes())));
  copy_raw(out, *this);
  return out;
}

Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) const {
  if (source.sizes() != sizes())
    check(broadcast_sizes(sizes(), source.sizes(), "copy_") == Dims(sizes()), "copy_: source ", source,
          " does not broadcast to ", *this);
  warn_of_complex(source.dtype(), dtype());
  if (is_same(source)) return tandem::detail::mutable_handle(*this);
  return inplace(
      *this, "copy_", Before::kAlias,
      [&] {
        Tensor from = source.detach();
        if (from.device() != device()) {
          const MemoryFormat format = suggest_memory_format();
          if (is_contiguous(format) && from.is_contiguous(format) && from.dtype() == dtype() && from.sizes() == sizes())
            return move_bytes(*this, from, non_blocking);
          from = convert(from, device(), dtype(), non_blocking, from.suggest_memory_format());
        }
        if (from.storage() == storage()) from = from.clone();
        copy_raw(*this, from);
      },
      [&](const Tensor& before) {
        return in_place_of(*this, before, source.to(device(), dtype(), false, /*copy=*/true).expand(sizes()));
      },
      source);
}

}  // namespace tandem
