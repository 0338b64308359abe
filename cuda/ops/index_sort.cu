// The stable sort behind index_put, index_add and scatter. In a separate file because CUB takes long to
// compile.
#include <cub/cub.cuh>

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/index.h"

namespace tandem::cuda_impl {

SortedWrites sort_writes(Context& c, const SortedWrites& writes, int bits) {
  const auto count = static_cast<int>(writes.keys.numel());
  SortedWrites out{empty_raw(writes.keys.sizes(), kLong, c.device()),
                   empty_raw(writes.positions.sizes(), kInt, c.device())};
  const auto* keys = reinterpret_cast<const uint64_t*>(writes.keys.ptr<int64_t>());
  auto* sorted = reinterpret_cast<uint64_t*>(out.keys.ptr<int64_t>());
  const auto sort = [&](void* scratch, std::size_t& bytes) {
    ensure(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted,
                                           static_cast<const int32_t*>(writes.positions.ptr<int32_t>()),
                                           out.positions.ptr<int32_t>(), count, 0, bits, c.stream()),
           "cub::DeviceRadixSort::SortPairs");
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  const Tensor scratch = empty_raw({static_cast<int64_t>(bytes)}, kByte, c.device());
  sort(scratch.data_ptr(), bytes);
  return out;
}

}  // namespace tandem::cuda_impl
