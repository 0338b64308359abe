// Checks of values, and batches from raw bytes.
#include "tandem/core/backend/data.h"

#include <atomic>

#include "tandem/core/cpu/index.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

template <class T>
void check_numbers(const T* x, int64_t count, const ValueRange& range) {
  const T low = static_cast<T>(range.low), high = static_cast<T>(range.high);
  std::atomic<bool> bad = false;
  parallel_for(count, positions_grain(1), [&](int64_t begin, int64_t end) {
    bool here = false;
    for (int64_t i = begin; i < end; ++i) here |= !(x[i] >= low && x[i] <= high);
    if (here) bad.store(true, std::memory_order_relaxed);
  });
  check(!bad, range.operation, ": ", range.message);
}
void check_range(const Tensor& x, const ValueRange& range) {
  if (x.dtype() == kDouble) return check_numbers(x.ptr<double>(), x.numel(), range);
  check_numbers(x.ptr<float>(), x.numel(), range);
}

void gather_normalized(const Tensor& out, const Tensor& label_out, const Tensor& images, const Tensor& labels,
                       const Tensor& index, const PixelScale& pixels) {
  const int64_t count = index.numel(), total = images.size(0);
  const int64_t pixel_count = total == 0 ? 0 : images.numel() / total;
  const int64_t* at = index.ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i)
    if (static_cast<uint64_t>(at[i]) >= static_cast<uint64_t>(total)) [[unlikely]]
      bad_index("gather_normalized", at[i], 0, total);
  parallel_for_each(count, positions_grain(pixel_count), [&](int64_t i) {
    const uint8_t* __restrict from = images.ptr<uint8_t>() + at[i] * pixel_count;
    float* __restrict to = out.ptr<float>() + i * pixel_count;
    for (int64_t k = 0; k < pixel_count; ++k) to[k] = (static_cast<float>(from[k]) - pixels.shift) / pixels.scale;
    label_out.ptr<int64_t>()[i] = labels.ptr<int64_t>()[at[i]];
  });
}

}  // namespace

constinit const DataKernels data_kernels{.check_range = check_range, .gather_normalized = gather_normalized};

}  // namespace tandem::cpu
