// TensorImpl: the object behind a Tensor: a strided view of a storage, and a slot for autograd's data.
#pragma once
#include <atomic>
#include <memory>

#include "tandem/core/dims.h"
#include "tandem/core/dtype.h"
#include "tandem/core/storage.h"

namespace tandem {

/// Autograd's data for a tensor; defined in autograd/meta.h.
struct AutogradMetaBase {
  virtual ~AutogradMetaBase() = default;
  /// For a view: whether its base requires a gradient now.
  virtual bool base_requires_grad() const = 0;
};

/// Why a view is not recorded, so that its base would not notice a write.
enum class UntrackedView : unsigned char { kNo, kNoGrad, kInference, kCustomFunction, kLeaf };

class TensorImpl : public RefCounted {
 public:
  TensorImpl(Storage storage, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  /// Creates a row-major tensor.
  TensorImpl(Storage storage, ScalarType dtype, IntArrayRef sizes);

  static void* operator new(std::size_t size);
  static void operator delete(void* block, std::size_t size);

  Storage storage;
  Storage counter;  // replaces `storage` as version counter, for data() and views of it; usually null
  std::unique_ptr<AutogradMetaBase> autograd;
  int64_t numel = 0;
  int64_t offset = 0;    // in elements
  void* data = nullptr;  // storage->data() + offset
  ScalarType dtype;
  bool contiguous = true;
  // Set for a leaf that requires a gradient and for a tensor with a grad_fn. A thread that uses a view may
  // set it while others read it.
  std::atomic<bool> tracks_grad{false};
  bool inference = false;  // created in InferenceMode
  UntrackedView untracked_view = UntrackedView::kNo;
  bool misses_history = false;  // such a view, of a tensor that required a gradient at the time
  Dims sizes, strides;

  bool requires_grad() const {
    return tracks_grad.load(std::memory_order_relaxed) || (autograd != nullptr && autograd->base_requires_grad());
  }
  Device device() const { return storage->device(); }
  /// The storage whose version counter in-place writes bump.
  StorageImpl& versions() const { return counter ? *counter : *storage; }
  void refresh();  // recomputes numel, data and contiguous
  void set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset);
};
inline void destroy(const TensorImpl* impl) noexcept { delete impl; }

}  // namespace tandem
