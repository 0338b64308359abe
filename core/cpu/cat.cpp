// cat: small parts are distributed among tasks; otherwise all threads copy each part in turn.
#include <cstring>

#include "tandem/core/cpu/index.h"

namespace tandem::cpu {
namespace {

// A row-major part of a row-major result with longer rows. A row is everything from `dim` on.
struct Rows {
  char* to;
  const char* from;
  int64_t bytes, pitch;
};

void copy_rows(const Rows& r, int64_t count) {
  const int64_t grain = std::max<int64_t>(1, 4 * kGrain / std::max<int64_t>(1, r.bytes));
  parallel_for_each(count, grain, [&](int64_t i) {
    std::memcpy(r.to + i * r.pitch, r.from + i * r.bytes, static_cast<std::size_t>(r.bytes));
  });
}

}  // namespace

void cat(const Tensor& out, TensorList parts, int64_t dim) {
  const auto d = static_cast<std::size_t>(dim);
  const int64_t item = out.element_size(), step = out.strides()[d];
  int64_t rows = 1;
  for (std::size_t k = 0; k < d; ++k) rows *= out.sizes()[k];
  const int64_t pitch = out.sizes()[d] * step * item;
  std::vector<int64_t> starts(parts.size());
  int64_t start = 0, grain = static_cast<int64_t>(parts.size());
  for (std::size_t j = 0; j < parts.size(); ++j) {
    starts[j] = start;
    start += parts[j].sizes()[d];
  }
  // Small parts are distributed among threads; a large part keeps all threads busy on its own.
  const int64_t mean = out.numel() / std::max<int64_t>(1, static_cast<int64_t>(parts.size()));
  if (mean < kGrain && out.numel() >= 2 * kGrain) grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, mean));
  parallel_for(static_cast<int64_t>(parts.size()), grain, [&](int64_t begin, int64_t end) {
    for (auto j = static_cast<std::size_t>(begin); j < static_cast<std::size_t>(end); ++j) {
      const Tensor& part = parts[j];
      if (part.numel() == 0) continue;
      const int64_t offset = out.storage_offset() + starts[j] * step;
      if (part.is_contiguous())
        copy_rows({static_cast<char*>(out.data_ptr()) + starts[j] * step * item,
                   static_cast<const char*>(part.data_ptr()), part.sizes()[d] * step * item, pitch},
                  rows);
      else
        copy_raw(alias(out, part.sizes(), out.strides(), offset), part);
    }
  });
}

void triangle(const Tensor& out, const Tensor& in, int64_t diagonal, bool upper) {
  if (out.numel() == 0) return;
  const int64_t rows = out.size(-2), columns = out.size(-1);
  const int64_t from = in.stride(-1);
  const Tensor o = without_dim(out, out.dim() - 1, out.sizes()), x = without_dim(in, in.dim() - 1, in.sizes());
  dispatch_bits(in.element_size(), [&]<class Bits>(Type<Bits>) {
    parallel_for(out.numel() / columns, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t start = 0, rest = r;  // offset of this row in `in`
        for (std::size_t k = x.sizes().size(); k-- > 0; rest /= x.sizes()[k])
          start += rest % x.sizes()[k] * x.strides()[k];
        const Bits* row = in.ptr<Bits>() + start;
        Bits* to = out.ptr<Bits>() + r * columns;
        // Keep columns [low, high).
        const int64_t edge = std::clamp<int64_t>(r % rows + diagonal + (upper ? 0 : 1), 0, columns);
        const int64_t low = upper ? edge : 0, high = upper ? columns : edge;
        for (int64_t c = 0; c < low; ++c) to[c] = Bits(0);
        for (int64_t c = low; c < high; ++c) to[c] = row[c * from];
        for (int64_t c = high; c < columns; ++c) to[c] = Bits(0);
      }
    });
  });
}

}  // namespace tandem::cpu
