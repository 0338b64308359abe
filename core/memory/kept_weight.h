// KeptWeight: a weight in the order in which a kernel reads it, kept between calls.
//
// In inference a weight rarely changes, but packing it takes time on each call. A copy is used again only while it is
// certain that the weight's memory was not written through a tensor: its storage, geometry and version must be the
// same, and nothing else may be able to write the memory without bumping that version. So nothing is kept for a weight
// that shares its storage with another tensor (a view, an export) or borrows its memory; and a tensor from data(),
// whose writes bump no version, makes the copy invalid. Tensors created in InferenceMode count their versions, too.
// Writes through a raw pointer are not seen.
#pragma once
#include <cstdint>
#include <memory>

#include "tandem/core/base/fork.h"
#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem {

namespace detail {
/// Must be called after a tensor is made whose writes do not bump the version of the storage that it shares, and before
/// anything can write it.
void note_unversioned_alias();
}  // namespace detail

/// Holds at most one packed copy of one weight. Several threads may use it at once.
class KeptWeight {
 public:
  KeptWeight() = default;
  /// Copies hold nothing: a copied layer has other weights.
  KeptWeight(const KeptWeight&) {}
  KeptWeight& operator=(const KeptWeight& other) {
    if (this != &other) clear();
    return *this;
  }

  /// The copy of `weight`, which pack(to) has written to `bytes` bytes aligned to 64, in this call or an earlier one
  /// with the same `layout`, which names how `pack` orders the elements. The caller holds on to it while it reads.
  /// Returns null, without packing, if no copy may be kept.
  std::shared_ptr<const void> get(const Tensor& weight, int64_t layout, std::size_t bytes,
                                  FunctionRef<void(void* to)> pack);
  /// Frees the copy.
  void clear();

 private:
  struct Copy {
    std::shared_ptr<const void> packed;
    Storage storage;  // so that its address is not used again
    const void* data = nullptr;
    ScalarType dtype{};
    Dims sizes;
    int64_t layout = 0;
    std::size_t bytes = 0;
    uint32_t version = 0;
    uint64_t aliases = 0;  // tensors made by data() in this process, when the weight was packed

    bool same(const Copy& other) const;
  };
  detail::ForkMutex mutex_;
  Copy copy_;
};

}  // namespace tandem
