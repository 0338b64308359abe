// nonzero: positions of nonzero elements. Counts per chunk first; then each chunk writes after the preceding
// ones.
#include <numeric>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/cpu/index.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kChunk = 4 * kGrain;
constexpr int64_t kRun = 512;

template <class T>
bool is_nonzero(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(x) != 0;
  else
    return x != T(0);
}

// Number of nonzero elements in each chunk.
template <class T>
std::vector<int64_t> chunk_counts(const T* x, int64_t n) {
  std::vector<int64_t> counts(static_cast<std::size_t>((n + kChunk - 1) / kChunk));
  parallel_for(n, kChunk, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) count += is_nonzero(x[i]) ? 1 : 0;
    counts[static_cast<std::size_t>(begin / kChunk)] = count;
  });
  return counts;
}

}  // namespace

int64_t count_nonzero(const Tensor& in) {
  const Tensor x = row_major(in);
  int64_t total = 0;
  dispatch(in.dtype(), AllTypes{}, "nonzero", [&]<class T>(Type<T>) {
    const auto counts = chunk_counts(x.ptr<T>(), x.numel());
    total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  });
  return total;
}

void nonzero(const Tensor& out, const Tensor& in) {
  const Tensor x = row_major(in);
  const std::size_t rank = in.sizes().size();
  const Dims sizes(in.sizes());
  dispatch(in.dtype(), AllTypes{}, "nonzero", [&]<class T>(Type<T>) {
    const T* values = x.ptr<T>();
    const int64_t row = rank == 0 ? 1 : sizes[rank - 1];
    auto starts = chunk_counts(values, x.numel());
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), int64_t{0});
    parallel_for(x.numel(), kChunk, [&](int64_t begin, int64_t end) {
      int64_t* to = out.ptr<int64_t>() + starts[static_cast<std::size_t>(begin / kChunk)] * static_cast<int64_t>(rank);
      int64_t found[kRun];
      for (int64_t i = begin; i < end;) {  // in runs within a row, which share all but the last coordinate
        const int64_t column = i % row, count = std::min({kRun, row - column, end - i});
        int64_t hits = 0;
        for (int64_t k = 0; k < count; ++k) {  // branch-free
          found[hits] = column + k;
          hits += is_nonzero(values[i + k]);
        }
        Dims at(rank, 0);
        int64_t rest = i / row;
        for (std::size_t d = rank; d-- > 1; rest /= sizes[d - 1]) at[d - 1] = rest % sizes[d - 1];
        for (int64_t k = 0; k < hits && rank > 0; ++k, to += rank) {
          for (std::size_t d = 0; d + 1 < rank; ++d) to[d] = at[d];
          to[rank - 1] = found[k];
        }
        i += count;
      }
    });
  });
}

}  // namespace tandem::cpu
