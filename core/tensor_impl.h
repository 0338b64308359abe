// TensorImpl: what a Tensor points at: a strided window on a storage, and a place for autograd's data.
#pragma once
#include <atomic>
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
  Storage counter;  // counts the writes instead of `storage`, for data() and the views of it; mostly null
  std::unique_ptr<AutogradMetaBase> autograd;
  int64_t numel = 0;
  int64_t offset = 0;    // in elements
  void* data = nullptr;  // storage->data() + offset
  ScalarType dtype;
  bool contiguous = true;
  // A leaf that requires a gradient, or a tensor with a grad_fn. A thread that uses a view may set it while
  // others look.
  std::atomic<bool> tracks_grad{false};
  bool inference = false;       // made in InferenceMode
  bool untracked_view = false;  // a view that was not recorded: its base would not learn of a write
  bool misses_history = false;  // such a view of what required a gradient when it was made
  Dims sizes, strides;

  bool requires_grad() const {
    return tracks_grad.load(std::memory_order_relaxed) ||
           (autograd != nullptr && autograd->base_requires_grad());
  }
  Device device() const { return storage->device(); }
  /// Where in-place writes are counted.
  StorageImpl& versions() const { return counter ? *counter : *storage; }
  void refresh();  // numel, data and contiguous from the rest
};
inline void destroy(const TensorImpl* impl) noexcept { delete impl; }

}  // namespace tandem
