// TensorImpl: what a Tensor points at: a strided window on a storage, and a place for autograd's data.
#pragma once
#include <memory>

#include "tandem/core/dims.h"
#include "tandem/core/dtype.h"
#include "tandem/core/storage.h"

namespace tandem {

/// What autograd keeps with a tensor; defined in autograd/meta.h.
struct AutogradMetaBase {
  virtual ~AutogradMetaBase() = default;
  /// For a view: whether its base requires a gradient by now.
  virtual bool base_requires_grad() const = 0;
};

class TensorImpl : public RefCounted {
 public:
  TensorImpl(Storage storage, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  /// Row-major.
  TensorImpl(Storage storage, ScalarType dtype, IntArrayRef sizes);

  static void* operator new(std::size_t size);
  static void operator delete(void* block, std::size_t size);

  Storage storage;
  std::unique_ptr<AutogradMetaBase> autograd;
  int64_t numel = 0;
  int64_t offset = 0;    // in elements
  void* data = nullptr;  // storage->data() + offset
  ScalarType dtype;
  bool contiguous = true;
  bool tracks_grad = false;     // a leaf that requires a gradient, or a tensor with a grad_fn
  bool inference = false;       // made in InferenceMode
  bool untracked_view = false;  // a view made while nothing was recorded: its base does not know of it
  Dims sizes, strides;

  bool requires_grad() const {
    return tracks_grad || (autograd != nullptr && autograd->base_requires_grad());
  }
  Device device() const { return storage->device(); }
  void refresh();  // numel, data and contiguous from the rest
};
inline void destroy(const TensorImpl* impl) noexcept { delete impl; }

}  // namespace tandem
