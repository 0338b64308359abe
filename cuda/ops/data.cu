// Checks of values, and batches from a data set on the device: gathered, converted and scaled in one launch,
// four pixels per thread.
#include "tandem/core/backend/data.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/raise_fault.h"
#include "tandem/cuda/strided.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kPixels = 4;

// An image is `packs` groups of four pixels; the last group may be partial.
struct Batch {
  HostText operation;
  float* out;
  int64_t* label_out;
  const uint8_t* images;
  const int64_t *labels, *index;
  int64_t total;
  uint32_t pixels, count;
  FastDivide packs;
  bool aligned;
};

__global__ void gather_kernel(const Batch b, const PixelScale scale, Fault* fault) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= b.count) return;
  const uint32_t row = b.packs.quotient(thread), pack = thread - row * b.packs.divisor;
  int64_t from_row = b.index[row];
  if (static_cast<uint64_t>(from_row) >= static_cast<uint64_t>(b.total)) {
    if (pack == 0) raise_index_fault(fault, b.operation, from_row, 0, b.total);
    from_row = 0;
  }
  if (pack == 0) b.label_out[row] = b.labels[from_row];
  const uint8_t* from = b.images + from_row * b.pixels + pack * kPixels;
  float* to = b.out + static_cast<int64_t>(row) * b.pixels + pack * kPixels;
  if (b.aligned) {
    const uchar4 x = *reinterpret_cast<const uchar4*>(from);
    *reinterpret_cast<float4*>(to) = make_float4(
        (static_cast<float>(x.x) - scale.shift) / scale.scale, (static_cast<float>(x.y) - scale.shift) / scale.scale,
        (static_cast<float>(x.z) - scale.shift) / scale.scale, (static_cast<float>(x.w) - scale.shift) / scale.scale);
  } else {
    for (uint32_t k = 0; k < kPixels && pack * kPixels + k < b.pixels; ++k)
      to[k] = (static_cast<float>(from[k]) - scale.shift) / scale.scale;
  }
}

template <class T>
__global__ void check_range_kernel(const T* x, int64_t n, T low, T high, HostText operation, HostText message,
                                   Fault* fault) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n && !(x[i] >= low && x[i] <= high))
    raise_fault(fault, {static_cast<int32_t>(FaultKind::kOther), 0, operation, 0, 0, 0, message});
}

template <class T>
void check_numbers(const Tensor& x, const ValueRange& range) {
  Context& c = context(x.device());
  launch("check_range", c, grid_for(x.numel(), 1), check_range_kernel<T>, static_cast<const T*>(x.ptr<T>()), x.numel(),
         static_cast<T>(range.low), static_cast<T>(range.high), HostText(range.operation), HostText(range.message),
         c.fault());
}
void check_range(const Tensor& x, const ValueRange& range) {
  if (x.numel() == 0) return;
  x.dtype() == kDouble ? check_numbers<double>(x, range) : check_numbers<float>(x, range);
}

void gather_normalized(const Tensor& out, const Tensor& label_out, const Tensor& images, const Tensor& labels,
                       const Tensor& index, const PixelScale& pixels) {
  const int64_t rows = index.numel(), total = images.size(0);
  check(total > 0 || rows == 0, "gather_normalized: the data set has no images");
  if (rows == 0) return;
  const int64_t pixel_count = images.numel() / total;
  check(pixel_count > 0 && pixel_count < kMaxElements, "gather_normalized: unsupported image size: ", pixel_count,
        " pixels");
  const int64_t packs = ceil_div(pixel_count, kPixels), most = std::max<int64_t>(1, (kMaxElements - 1) / packs);
  Context& c = context(out.device());
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first) * packs;
    const Batch batch{.operation = "gather_normalized",
                      .out = out.ptr<float>() + first * pixel_count,
                      .label_out = label_out.ptr<int64_t>() + first,
                      .images = images.ptr<uint8_t>(),
                      .labels = labels.ptr<int64_t>(),
                      .index = index.ptr<int64_t>() + first,
                      .total = total,
                      .pixels = static_cast<uint32_t>(pixel_count),
                      .count = static_cast<uint32_t>(count),
                      .packs = FastDivide(static_cast<uint32_t>(packs)),
                      .aligned = pixel_count % kPixels == 0 &&
                                 reinterpret_cast<uintptr_t>(images.data_ptr()) % 4 == 0 &&
                                 reinterpret_cast<uintptr_t>(out.data_ptr()) % 16 == 0};
    launch("gather_normalized", c, grid_for(count), gather_kernel, batch, pixels, c.fault());
  }
}

}  // namespace

constinit const DataKernels data_kernels{.check_range = check_range, .gather_normalized = gather_normalized};

}  // namespace tandem::cuda_impl
