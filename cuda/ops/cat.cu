// cat: copies all row-major parts in one launch (one per kMaxCatParts parts), in the widest units that their
// sizes and addresses allow. Other parts are copied separately into their windows. Also contains triangle.
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/cat_batch.h"
#include "tandem/cuda/ops/index.h"
#include "tandem/cuda/strided.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

template <class Unit>
__global__ void cat_kernel(CatBatch batch) {
  const uint32_t part = batch.part_of(blockIdx.x);
  const FastDivide length = batch.length[part];
  const auto* from = reinterpret_cast<const Unit*>(batch.from[part]);
  auto* to = reinterpret_cast<Unit*>(batch.to[part]);
  const uint32_t start = (blockIdx.x - batch.first_block[part]) * kCatBlock + threadIdx.x;
  for (uint32_t k = 0; k < kCatEach; ++k) {
    const uint32_t i = start + k * kCatThreads;
    if (i >= batch.units[part]) break;
    const uint32_t row = length.quotient(i);
    to[row * batch.pitch + (i - row * length.divisor)] = from[i];
  }
}

void launch_batch(Context& c, const CatBatch& batch, int64_t unit) {
  const Grid grid{static_cast<int64_t>(batch.blocks), static_cast<int>(kCatThreads)};
  if (unit == 16) return launch("cat", c, grid, cat_kernel<uint4>, batch);
  dispatch_bits(unit, [&]<class Bits>(Type<Bits>) { launch("cat", c, grid, cat_kernel<Bits>, batch); });
}

// Collects parts and launches the batch whenever it is full, and at the end.
class Batches {
 public:
  Batches(Context& c, int64_t pitch_bytes, int64_t unit) : c_(c), unit_(unit), pitch_(pitch_bytes) { clear(); }
  // `bytes` is the size of one row.
  void add(const char* from, char* to, int64_t rows, int64_t bytes) {
    const int64_t step = cat_rows(bytes / unit_);
    for (int64_t first = 0; first < rows; first += step) {
      const CatPart part{from + first * bytes, to + first * pitch_, std::min(step, rows - first), bytes / unit_};
      if (batch_.add(part)) continue;
      start();
      batch_.add(part);
    }
  }
  void start() {
    launch_batch(c_, batch_, unit_);
    clear();
  }

 private:
  void clear() {
    batch_.blocks = batch_.parts = 0;
    batch_.pitch = pitch_ / unit_;
  }
  Context& c_;
  int64_t unit_, pitch_;
  CatBatch batch_;
};

// Parts with longer rows are copied like non-contiguous parts.
constexpr int64_t kLongestRow = int64_t{1} << 29;

struct TriangleShape {
  FastDivide rows, columns;
  int64_t wide_rows, wide_columns, diagonal, first;
  bool wide, upper;
};

template <class Bits>
__global__ void triangle_kernel(uint32_t n, Walk<2> walk, TriangleShape s, Bits* out, const Bits* in) {
  const uint32_t p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  const auto o = walk.offsets(p);
  const int64_t index = s.first + p;
  int64_t row, column;
  if (s.wide) {
    column = index % s.wide_columns;
    row = index / s.wide_columns % s.wide_rows;
  } else {
    const auto i = static_cast<uint32_t>(index);
    const uint32_t line = s.columns.quotient(i);
    column = i - line * s.columns.divisor;
    row = line - s.rows.quotient(line) * s.rows.divisor;
  }
  const bool stays = s.upper ? column >= row + s.diagonal : column <= row + s.diagonal;
  out[o.at[0]] = stays ? in[o.at[1]] : Bits(0);
}

}  // namespace

void cat(const Tensor& out, TensorList parts, int64_t dim) {
  Context& c = context(out.device());
  if (out.numel() == 0) return;
  const auto d = static_cast<std::size_t>(dim);
  const int64_t item = out.element_size(), step = out.strides()[d], pitch = out.sizes()[d] * step * item;
  int64_t rows = 1;
  for (std::size_t k = 0; k < d; ++k) rows *= out.sizes()[k];
  const auto dense = [](const Tensor& t) { return t.numel() != 0 && t.is_contiguous(); };
  uint64_t bits = static_cast<uint64_t>(rows > 1 ? pitch : 0) | reinterpret_cast<uintptr_t>(out.data_ptr());
  for (const Tensor& part : parts) {
    // Each part begins where the preceding ones end, so the sizes of non-contiguous parts count, too.
    bits |= static_cast<uint64_t>(part.sizes()[d] * step * item);
    if (dense(part)) bits |= reinterpret_cast<uintptr_t>(part.data_ptr());
  }
  Batches batches(c, pitch, cat_unit(bits));
  int64_t start = 0;
  for (const Tensor& part : parts) {
    char* to = static_cast<char*>(out.data_ptr()) + start * step * item;
    const int64_t bytes = part.sizes()[d] * step * item;
    if (dense(part) && bytes < kLongestRow)
      batches.add(static_cast<const char*>(part.data_ptr()), to, rows, bytes);
    else if (part.numel() != 0)
      copy_raw(alias(out, part.sizes(), out.strides(), out.storage_offset() + start * step), part);
    start += part.sizes()[d];
  }
  batches.start();
}

void triangle(const Tensor& out, const Tensor& in, int64_t diagonal, bool upper) {
  Context& c = context(out.device());
  const LoopPlan<2> plan = make_plan<2>({&out, &in});
  if (plan.numel == 0) return;
  const bool wide = plan.numel >= kMaxElements;
  const auto divider = [&](int64_t by) { return wide ? FastDivide() : FastDivide(static_cast<uint32_t>(by)); };
  diagonal = std::clamp(diagonal, -out.size(-2) - out.size(-1), out.size(-2) + out.size(-1));
  TriangleShape shape{
      divider(out.size(-2)), divider(out.size(-1)), out.size(-2), out.size(-1), diagonal, 0, wide, upper};
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) {
    for_pieces(plan, [&](const Piece<2>& piece) {
      shape.first = (piece.data[0] - plan.data[0]) / plan.item_sizes[0];
      launch("triangle", c, grid_for(piece.numel), triangle_kernel<Bits>, piece.numel, piece.walk, shape,
             reinterpret_cast<Bits*>(piece.data[0]), reinterpret_cast<const Bits*>(piece.data[1]));
    });
  });
}

}  // namespace tandem::cuda_impl
