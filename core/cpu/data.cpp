// Batches from raw bytes.
#include "tandem/core/backend/data.h"
#include "tandem/core/cpu/index.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

void gather_normalized(const Tensor& out, const Tensor& label_out, const Tensor& images, const Tensor& labels,
                       const Tensor& index, const PixelScale& pixels) {
  const int64_t count = index.numel(), total = images.size(0);
  const int64_t pixel_count = total == 0 ? 0 : images.numel() / total;
  const int64_t* at = index.ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i)
    if (static_cast<uint64_t>(at[i]) >= static_cast<uint64_t>(total)) [[unlikely]]
      bad_index("gather_normalized", at[i], 0, total);
  parallel_for(count, positions_grain(pixel_count), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* __restrict from = images.ptr<uint8_t>() + at[i] * pixel_count;
      float* __restrict to = out.ptr<float>() + i * pixel_count;
      for (int64_t k = 0; k < pixel_count; ++k) to[k] = (static_cast<float>(from[k]) - pixels.shift) / pixels.scale;
      label_out.ptr<int64_t>()[i] = labels.ptr<int64_t>()[at[i]];
    }
  });
}

}  // namespace

constinit const DataKernels data_kernels{.gather_normalized = gather_normalized};

}  // namespace tandem::cpu
