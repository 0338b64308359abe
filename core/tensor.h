// Tensor: a handle on a strided n-dimensional array (LibTorch's torch::Tensor).
//
// Copying a Tensor copies the handle, not the elements. Methods that compute forward to the free function of
// the same name; autograd/ops/ documents those functions. A trailing _ marks an in-place operation.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tandem/core/accessor.h"
#include "tandem/core/generator.h"
#include "tandem/core/options.h"
#include "tandem/core/print.h"
#include "tandem/core/scalar.h"
#include "tandem/core/tensor_impl.h"

namespace tandem {

class Tensor;

using TensorList = ArrayRef<Tensor>;
namespace autograd {
class Node;
}
namespace indexing {
struct TensorIndex;
}

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// `x[0] = value`: assigning to a temporary writes its elements (copy_, fill_).
  Tensor& operator=(const Tensor& value) && { return copy_(value); }
  Tensor& operator=(Tensor&& value) && { return copy_(value); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // ---- metadata
  bool defined() const { return impl_.get() != nullptr; }
  explicit operator bool() const = delete;  // ambiguous: use defined() or item<bool>()
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  void reset() { impl_.reset(); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  int64_t use_count() const { return defined() ? impl_->use_count() : 0; }

  int64_t dim() const { return static_cast<int64_t>(get().sizes.size()); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return get().numel; }
  IntArrayRef sizes() const { return get().sizes; }
  IntArrayRef strides() const { return get().strides; }
  int64_t size(int64_t d) const { return get().sizes[static_cast<std::size_t>(wrap(d))]; }
  int64_t stride(int64_t d) const { return get().strides[static_cast<std::size_t>(wrap(d))]; }
  int64_t storage_offset() const { return get().offset; }
  const Storage& storage() const { return get().storage; }
  bool is_contiguous() const { return get().contiguous; }
  /// True when the elements fill their memory without gaps and no two indices share one: some permutation of
  /// the dimensions is contiguous.
  bool is_non_overlapping_and_dense() const;
  ScalarType dtype() const { return get().dtype; }
  ScalarType scalar_type() const { return get().dtype; }
  Device device() const { return get().device(); }
  DeviceIndex get_device() const { return device().index(); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_pinned() const { return get().storage->pinned(); }
  bool is_complex() const { return false; }
  bool is_signed() const { return dtype() != kBool && dtype() != kByte; }
  bool is_same_size(const Tensor& other) const { return sizes() == other.sizes(); }
  /// True when the only element is not 0. Throws Error unless there is exactly one element.
  bool is_nonzero() const { return item().toBool(); }
  bool is_floating_point() const { return tandem::is_floating_point(dtype()); }
  int64_t element_size() const { return item_size(dtype()); }
  int64_t itemsize() const { return element_size(); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel() * element_size()); }
  TensorOptions options() const { return TensorOptions(dtype()).device(optional<Device>(device())); }
  /// For messages: "[2, 3] float32 cpu:0".
  std::string describe() const;
  std::string toString() const;  ///< LibTorch's name: "CPUFloatType"

  /// Pointer to the first element. Throws Error when the tensor's dtype is not T.
  template <class T>
  T* data_ptr() const {
    if (scalar_type_of<std::remove_const_t<T>> != dtype()) [[unlikely]]
      wrong_type(scalar_type_of<std::remove_const_t<T>>);
    return static_cast<T*>(impl_->data);
  }
  void* data_ptr() const { return get().data; }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  /// Unchecked; for kernels, after dispatch.
  template <class T>
  T* ptr() const {
    return static_cast<T*>(impl_->data);
  }
  /// N-dimensional element access on the CPU. Throws Error when the dtype, rank or device does not match.
  template <class T, std::size_t N>
  TensorAccessor<T, N> accessor() const {
    check_accessor(N);
    return {data_ptr<T>(), impl_->sizes.data(), impl_->strides.data()};
  }
  /// The value of a one-element tensor, copied to the host. Throws Error unless there is exactly one element.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }
  void print() const;

  // ---- autograd (autograd/variable.cpp)
  bool requires_grad() const { return get().requires_grad(); }
  /// Throws Error unless this is a floating point leaf or the flag does not change. A view that becomes a
  /// leaf requiring a gradient stops being a view: later writes to its base are not recorded for it.
  const Tensor& requires_grad_(bool value = true) const;
  const Tensor& set_requires_grad(bool value) const { return requires_grad_(value); }
  bool is_leaf() const;
  /// The gradient; undefined before the first backward. Write it through mutable_grad.
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  IntrusivePtr<autograd::Node> grad_fn() const;
  uint32_t output_nr() const;
  /// Accumulates d(this)/d(leaf) into leaf.grad() for every leaf. `gradient` is required unless this tensor
  /// has exactly one element. When `inputs` is given, only those leaves accumulate. `create_graph` makes the
  /// gradients differentiable.
  void backward(const Tensor& gradient = {}, optional<bool> retain_graph = nullopt, bool create_graph = false,
                optional<TensorList> inputs = nullopt) const;
  Tensor detach() const;
  Tensor& detach_();
  /// A detached alias (LibTorch's .data()) that does not bump the version counter: when a write overwrites
  /// what backward needs, backward does not notice. After a write through detach() it throws.
  Tensor data() const;
  Tensor tensor_data() const { return detach(); }
  Tensor variable_data() const { return data(); }
  /// Makes this tensor share `other`'s storage, and take its shape, strides and dtype.
  void set_data(const Tensor& other) const;
  void retain_grad() const;
  bool retains_grad() const;
  /// Calls `hook(grad)` when the gradient of this tensor is computed. A defined return value replaces the
  /// gradient. Returns a handle for remove_hook.
  template <class Hook>
  unsigned register_hook(Hook hook) const;
  void remove_hook(unsigned handle) const;
  /// Calls `hook(leaf)` after a gradient has been accumulated into this leaf.
  template <class Hook>
  unsigned register_post_accumulate_grad_hook(Hook hook) const;
  bool is_view() const;
  Tensor _base() const;
  uint32_t _version() const { return get().versions().version(); }
  bool is_inference() const { return get().inference; }

  // ---- conversion (to.cpp, copy.cpp, clone.cpp)
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& like, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType type) const { return to(Device(type)); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor type_as(const Tensor& other) const { return to(other); }
  Tensor pin_memory() const;
  Tensor clone(MemoryFormat format = MemoryFormat::Preserve) const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor& copy_(const Tensor& source, bool non_blocking = false);

#include "tandem/core/tensor_aliases.inc"
#include "tandem/core/tensor_methods.inc"
#include "tandem/core/tensor_shape_methods.inc"

 private:
  TensorImpl& get() const {
    if (impl_.get() == nullptr) [[unlikely]]
      undefined();
    return *impl_;
  }
  int64_t wrap(int64_t d) const {
    const auto n = static_cast<int64_t>(get().sizes.size());
    if (d < -n || d >= n) [[unlikely]]
      bad_dim(d, n);
    return d < 0 ? d + n : d;
  }
  [[noreturn]] static void undefined();
  [[noreturn]] static void bad_dim(int64_t d, int64_t n);
  [[noreturn]] void wrong_type(ScalarType asked) const;
  void check_accessor(std::size_t rank) const;

  IntrusivePtr<TensorImpl> impl_;
};

inline void append(std::string& out, const Tensor& t) {
  out.append(t.defined() ? t.describe() : "undefined");
}

/// Uninitialised, without autograd. `device` must have an index.
Tensor empty_raw(IntArrayRef sizes, ScalarType dtype, Device device);
/// A view of `base`'s storage, without autograd. The arguments are not checked.
Tensor alias(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);

}  // namespace tandem
