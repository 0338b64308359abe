// Weighted sampling of columns on CUDA. Produces the same samples as the CPU, so sums run over the columns
// sequentially. The device reports rows with invalid weights; their samples are 0.
#include "tandem/cuda/device.h"

#include <cmath>

#include "tandem/core/backend/sort.h"
#include "tandem/core/formulas/random_math.h"
#include "tandem/core/random/philox.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/random_tables.h"
#include "tandem/cuda/raise_fault.h"
#include "tandem/cuda/replayed_value.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kThreads = 256;

// The error messages, in host memory.
struct Texts {
  HostText operation = "multinomial";
  HostText bad = "weights must be finite and not negative";
  HostText zero = "all weights are 0";
  HostText few = "fewer positive weights than samples without replacement";
};

__device__ double uniform_at(const Generator::Draw& draw, int64_t element) {
  const PhiloxBlock block = philox(draw.seed, draw.offset, static_cast<uint64_t>(element) / 2);
  const int word = static_cast<int>(element % 2) * 2;
  return uniform_double(block.word[word], block.word[word + 1]);
}

// One warp per row checks the weights and writes their running sums. sums[row][columns - 1] is NaN for an
// invalid row.
__global__ void __launch_bounds__(kThreads) sum_weights(double* sums, const double* weights, int64_t rows,
                                                        int64_t columns, int64_t least, Texts texts, Fault* fault) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t row = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  double sum = 0;
  int64_t positive = 0;
  bool bad = false;
  for (int64_t from = 0; from < columns; from += 32) {
    const bool there = from + lane < columns;
    const double w = there ? weights[row * columns + from + lane] : 0;
    bad |= !(w >= 0 && w <= 1.7976931348623157e308);
    positive += __popc(__ballot_sync(kFullMask, w > 0));
    double own = 0;
    for (int l = 0; l < 32; ++l) {
      sum += __shfl_sync(kFullMask, w, l);
      if (l == lane) own = sum;
    }
    if (there) sums[row * columns + from + lane] = own;
  }
  bad = __ballot_sync(kFullMask, bad) != 0;
  __syncwarp();  // the last sum has been written
  if (lane != 0 || (!bad && positive >= least)) return;
  sums[row * columns + columns - 1] = NAN;
  const HostText text = bad ? texts.bad : positive == 0 ? texts.zero : texts.few;
  raise_fault(fault, {static_cast<int32_t>(FaultKind::kWeights), 0, texts.operation, row, 0, 0, text});
}

__device__ int64_t bisect(const double* sums, int64_t high, double x, bool upper) {
  int64_t low = 0;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (upper ? !(x < sums[middle]) : sums[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kThreads) sample_columns(int64_t* out, const double* sums, int64_t count,
                                                           int64_t columns, int64_t samples, ReplayedDraw draw) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const double* row = sums + i / samples * columns;
  const double sum = row[columns - 1];
  if (sum != sum) {
    out[i] = 0;
    return;
  }
  // A rounded product may reach the whole sum, so the last column with a weight is the limit.
  const int64_t last = bisect(row, columns, sum, false);
  out[i] = bisect(row, last, uniform_at(draw.now(), i) * sum, true);
}

// The k-th smallest key is sample k. Keys are infinite for columns without weight, and for all columns of an
// invalid row.
__global__ void __launch_bounds__(kThreads) waiting_times(double* times, const double* weights, const double* sums,
                                                          int64_t count, int64_t columns, ReplayedDraw draw) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const double sum = sums[i / columns * columns + columns - 1], w = weights[i];
  times[i] = sum == sum && w > 0 ? -random_math::log(1 - uniform_at(draw.now(), i)) / w : HUGE_VAL;
}

}  // namespace

void multinomial(const Tensor& out, const Tensor& weights, bool replacement, const Generator::Draw& draw) {
  Context& c = context(out.device());
  const int64_t rows = weights.size(0), columns = weights.size(1), samples = out.size(1);
  if (rows == 0) return;
  const Tensor sums = empty_raw({rows, columns}, kDouble, out.device());
  const double* w = weights.ptr<double>();
  launch("multinomial", c, {ceil_div(rows, kThreads / 32), kThreads}, sum_weights, sums.ptr<double>(), w, rows, columns,
         replacement ? 1 : samples, Texts(), c.fault());
  if (replacement) {
    launch("multinomial", c, grid_for(rows * samples, 1, kThreads), sample_columns, out.ptr<int64_t>(),
           sums.ptr<double>(), rows * samples, columns, samples, replayed_draw(c, draw));
    return;
  }
  const Tensor times = empty_raw({rows, columns}, kDouble, out.device());
  const Tensor smallest = empty_raw({rows, samples}, kDouble, out.device());
  launch("multinomial", c, grid_for(rows * columns, 1, kThreads), waiting_times, times.ptr<double>(), w,
         sums.ptr<double>(), rows * columns, columns, replayed_draw(c, draw));
  sort_kernels.topk(smallest, out, times, 1, samples, false);
}

}  // namespace tandem::cuda_impl
