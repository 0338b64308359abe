// Matrix products by plain loops, in the precision of the operands; the half types in float.
#include <algorithm>
#include <vector>

#include "tandem/tests/cuda_emulation/library.h"

namespace tandem::cuda_emulation {
namespace {

std::size_t size_of(const Gemm& g) { return static_cast<std::size_t>(item_size(g.type)); }

// The rows x cols elements of op(X), column-major and dense. They are stored as S.
template <class T, class S>
std::vector<T> packed(const Gemm::Operand& x, int64_t rows, int64_t cols, int64_t batch, bool tf32) {
  std::vector<T> out(static_cast<std::size_t>(rows * cols));
  const S* data = static_cast<const S*>(x.data) + batch * x.stride;
  T* to = out.data();
  for (int64_t j = 0; j < cols; ++j)
    for (int64_t i = 0; i < rows; ++i)
      *to++ = operand(static_cast<T>(x.transposed ? data[j + i * x.ld] : data[i + j * x.ld]), tf32);
  return out;
}

template <class T, class S>
void store_column(const Gemm& g, int64_t batch, int64_t j, const std::vector<T>& sum) {
  const T alpha = static_cast<T>(g.alpha), beta = static_cast<T>(g.beta);
  const S* c = static_cast<const S*>(g.c.data) + batch * g.c.stride + j * g.c.ld;
  S* d = static_cast<S*>(g.d) + batch * g.stride_d + j * g.ldd;
  for (int64_t i = 0; i < g.m; ++i) {
    T value = alpha * sum[static_cast<std::size_t>(i)];
    if (beta != 0) value += beta * static_cast<T>(c[i]);  // with beta 0, C is not read
    if (g.bias != nullptr) value += static_cast<T>(static_cast<const S*>(g.bias)[i]);
    if (g.relu && value < 0) value = 0;
    d[i] = static_cast<S>(value);
  }
}

template <class T, class S>
void run_as(const Gemm& g) {
  std::vector<T> sum(static_cast<std::size_t>(g.m));
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    const std::vector<T> a = packed<T, S>(g.a, g.m, g.k, batch, g.tf32), b = packed<T, S>(g.b, g.k, g.n, batch, g.tf32);
    for (int64_t j = 0; j < g.n; ++j) {
      std::fill(sum.begin(), sum.end(), T{0});
      for (int64_t l = 0; l < g.k; ++l) {
        const T factor = b[static_cast<std::size_t>(l + j * g.k)];
        const T* column = a.data() + l * g.m;
        for (int64_t i = 0; i < g.m; ++i) sum[static_cast<std::size_t>(i)] += column[i] * factor;
      }
      store_column<T, S>(g, batch, j, sum);
    }
  }
}

bool all_usable(const Gemm& g, const void* data, int64_t rows, int64_t cols, int64_t ld, int64_t stride) {
  if (rows == 0 || cols == 0) return true;
  return elements_usable(data, (cols - 1) * ld + rows + (g.batch - 1) * stride, size_of(g));
}

}  // namespace

bool valid(const Gemm& g) {
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0) return false;
  const int64_t rows_a = g.a.transposed ? g.k : g.m, rows_b = g.b.transposed ? g.n : g.k, one = 1;
  return g.a.ld >= std::max(one, rows_a) && g.b.ld >= std::max(one, rows_b) && g.c.ld >= std::max(one, g.m) &&
         g.ldd >= std::max(one, g.m);
}

bool usable(const Gemm& g) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return true;
  const bool ta = g.a.transposed, tb = g.b.transposed;
  return all_usable(g, g.a.data, ta ? g.k : g.m, ta ? g.m : g.k, g.a.ld, g.a.stride) &&
         all_usable(g, g.b.data, tb ? g.n : g.k, tb ? g.k : g.n, g.b.ld, g.b.stride) &&
         (g.beta == 0 || all_usable(g, g.c.data, g.m, g.n, g.c.ld, g.c.stride)) &&
         all_usable(g, g.d, g.m, g.n, g.ldd, g.stride_d) &&
         (g.bias == nullptr || elements_usable(g.bias, g.m, size_of(g)));
}

void run(const Gemm& g) {
  by_dtype(g.type, [&]<class T, class S>(T, S) { run_as<T, S>(g); });
}

}  // namespace tandem::cuda_emulation
