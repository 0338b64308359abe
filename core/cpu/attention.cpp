// Attention by blocks of queries and keys (T. Dao et al.: FlashAttention, 2022; M. Milakov, N. Gimelshein: Online
// normalizer calculation for softmax, 2018). Only the scores of one block are in memory.
//
// Blocks depend only on the shape, and each element is summed in the order of the blocks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/core/backend/attention.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/fast_exp.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kRows = 128, kColumns = 256;  // queries and keys of a block
constexpr int64_t kEnoughHeads = 8;             // with fewer, backward runs in parallel over blocks

int64_t blocks(int64_t n, int64_t width) { return (n + width - 1) / width; }

// A tensor [B, H, rows, columns] as matrices.
template <class T>
struct Heads {
  explicit Heads(const Tensor& t)
      : data(t.ptr<T>()), batch(t.stride(0)), head(t.stride(1)), ld(t.stride(2)), heads(t.size(1)) {}
  T* of(int64_t bh, int64_t row = 0) const { return data + bh / heads * batch + bh % heads * head + row * ld; }
  // What gemm takes: the distance of a single row may be anything.
  int64_t leading(int64_t columns) const { return std::max(ld, columns); }
  T* data;
  int64_t batch, head, ld, heads;
};

template <class T>
struct Shape {
  int64_t heads, queries, keys, width, value_width;
  T scale;
  bool causal;
  int64_t query_blocks() const { return blocks(queries, kRows); }
  int64_t key_blocks() const { return blocks(keys, kColumns); }
};
template <class T>
Shape<T> shape_of(const Tensor& q, const Tensor& v, double scale, bool causal) {
  return {q.size(0) * q.size(1), q.size(2), v.size(2), q.size(3), v.size(3), static_cast<T>(scale), causal};
}

// A block of scores: `rows` queries from i, `columns` keys from j.
struct Block {
  Block(int64_t i, int64_t j, int64_t queries, int64_t keys)
      : i(i), j(j), rows(std::min(kRows, queries - i)), columns(std::min(kColumns, keys - j)) {}
  int64_t i, j, rows, columns;
  bool hidden(bool causal) const { return causal && j >= i + rows; }
};

// The mask, or nothing.
template <class T>
struct Mask {
  explicit Mask(const Tensor& t) {
    if (!t.defined()) return;
    data = t.ptr<T>();
    heads = t.size(1);
    for (int d = 0; d < 4; ++d) strides[d] = t.stride(d);
  }
  // row[x] += mask for the keys from j.
  void add(T* row, int64_t bh, int64_t i, int64_t j, int64_t n) const {
    const T* from = data + bh / heads * strides[0] + bh % heads * strides[1] + i * strides[2] + j * strides[3];
    if (strides[3] == 1)
      for (int64_t x = 0; x < n; ++x) row[x] += from[x];
    else
      for (int64_t x = 0; x < n; ++x) row[x] += from[x * strides[3]];
  }
  const T* data = nullptr;
  int64_t heads = 1, strides[4] = {};
};

// s = scale q kᵀ + mask for one block, [rows][columns].
template <class T>
void scores(T* s, const Block& b, int64_t bh, const Shape<T>& shape, const Heads<T>& q, const Heads<T>& k,
            const Mask<T>& mask) {
  gemm<T>({.m = b.rows,
           .n = b.columns,
           .k = shape.width,
           .a = q.of(bh, b.i),
           .lda = q.leading(shape.width),
           .b = k.of(bh, b.j),
           .ldb = k.leading(shape.width),
           .trans_b = true,
           .c = s,
           .ldc = b.columns,
           .alpha = shape.scale});
  for (int64_t r = 0; r < b.rows; ++r) {
    T* row = s + r * b.columns;
    if (mask.data != nullptr) mask.add(row, bh, b.i + r, b.j, b.columns);
    if (shape.causal)
      for (int64_t x = std::max<int64_t>(0, b.i + r - b.j + 1); x < b.columns; ++x)
        row[x] = -std::numeric_limits<T>::infinity();
  }
}

constexpr int kWide = 32;  // sums side by side

template <class T, class F, class Combine>
T fold(const T* x, int64_t n, T identity, F f, Combine combine) {
  T lanes[kWide], total = identity;
  for (int l = 0; l < kWide; ++l) lanes[l] = identity;
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide)
    for (int l = 0; l < kWide; ++l) lanes[l] = combine(lanes[l], f(x, i + l));
  for (; i < n; ++i) total = combine(total, f(x, i));
  for (int width = kWide / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] = combine(lanes[l], lanes[l + width]);
  return combine(total, lanes[0]);
}
template <class T>
T largest(const T* x, int64_t n) {
  return fold<T>(
      x, n, -std::numeric_limits<T>::infinity(), [](const T* at, int64_t i) { return at[i]; },
      [](T a, T b) { return (bool(b > a) | bool(b != b)) ? b : a; });
}
template <class T>
T sum(const T* x, int64_t n) {
  return fold<T>(
      x, n, T(0), [](const T* at, int64_t i) { return at[i]; }, [](T a, T b) { return a + b; });
}
template <class T>
T product_sum(const T* x, const T* y, int64_t n) {
  return fold<T>(
      x, n, T(0), [y](const T* at, int64_t i) { return at[i] * y[i]; }, [](T a, T b) { return a + b; });
}

// The running maximum and sum of the rows of one block of queries.
template <class T>
struct Running {
  T max[kRows], sum[kRows];
};

// Turns the scores of a block into exp(s - max) with the new maximum, and scales the output so far to it.
template <class T>
void online_softmax(T* s, const Block& b, Running<T>& running, T* out, int64_t ld, int64_t width) {
  for (int64_t r = 0; r < b.rows; ++r) {
    T* row = s + r * b.columns;
    const T before = running.max[r], block_max = largest(row, b.columns);
    const T max = block_max > before || block_max != block_max ? block_max : before;
    const T base = max == -std::numeric_limits<T>::infinity() ? T(0) : max;
    for (int64_t x = 0; x < b.columns; ++x) row[x] = fast_exp(row[x] - base);
    const T correction = fast_exp(before - base);
    running.sum[r] = running.sum[r] * correction + sum(row, b.columns);
    running.max[r] = max;
    if (b.j > 0 && correction != T(1))
      for (int64_t x = 0; x < width; ++x) out[r * ld + x] *= correction;
  }
}

template <class T>
void forward_block(const Shape<T>& shape, int64_t bh, int64_t i, T* s, const Heads<T>& out, T* lse, const Heads<T>& q,
                   const Heads<T>& k, const Heads<T>& v, const Mask<T>& mask) {
  const int64_t rows = std::min(kRows, shape.queries - i), width = shape.value_width;
  T* o = out.of(bh, i);
  Running<T> running;
  std::fill_n(running.max, rows, -std::numeric_limits<T>::infinity());
  std::fill_n(running.sum, rows, T(0));
  for (int64_t j = 0; j < shape.keys; j += kColumns) {
    const Block b(i, j, shape.queries, shape.keys);
    if (b.hidden(shape.causal)) break;
    scores(s, b, bh, shape, q, k, mask);
    online_softmax(s, b, running, o, out.ld, width);
    gemm<T>({.m = rows,
             .n = width,
             .k = b.columns,
             .a = s,
             .lda = b.columns,
             .b = v.of(bh, j),
             .ldb = v.leading(width),
             .c = o,
             .ldc = out.leading(width),
             .beta = j == 0 ? T(0) : T(1)});
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T total = running.sum[r], factor = total == T(0) ? T(0) : T(1) / total;
    for (int64_t x = 0; x < width; ++x) o[r * out.ld + x] = total == T(0) ? T(0) : o[r * out.ld + x] * factor;
    lse[bh * shape.queries + i + r] =
        total == T(0) ? std::numeric_limits<T>::infinity() : running.max[r] + math::log(total);
  }
}

template <class T>
struct Backward {
  Shape<T> shape;
  Heads<T> grad_q, grad_k, grad_v, grad_out, q, k, v, out;
  Mask<T> mask;
  const T* lse;

  // delta[i] = Σ grad_out out for the queries [begin, end).
  void deltas(T* delta, int64_t bh, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i)
      delta[i - begin] = product_sum(grad_out.of(bh, i), out.of(bh, i), shape.value_width);
  }

  static void clear(const Heads<T>& t, int64_t bh, int64_t begin, int64_t end, int64_t width) {
    for (int64_t i = begin; i < end; ++i) std::fill_n(t.of(bh, i), width, T(0));
  }

  // Adds the gradients of one block; p and ds are [rows][columns].
  void block(const Block& b, int64_t bh, const T* delta, T* p, T* ds, bool of_queries, bool of_keys) const {
    if (b.hidden(shape.causal)) return;
    scores(p, b, bh, shape, q, k, mask);
    const T* sums = lse + bh * shape.queries + b.i;
    for (int64_t r = 0; r < b.rows; ++r) {
      T* row = p + r * b.columns;
      for (int64_t x = 0; x < b.columns; ++x) row[x] = fast_exp(row[x] - sums[r]);
    }
    const T* g = grad_out.of(bh, b.i);
    const int64_t ldg = grad_out.leading(shape.value_width), width = shape.width;
    if (of_keys)
      gemm<T>({.m = b.columns,
               .n = shape.value_width,
               .k = b.rows,
               .a = p,
               .lda = b.columns,
               .trans_a = true,
               .b = g,
               .ldb = ldg,
               .c = grad_v.of(bh, b.j),
               .ldc = grad_v.leading(shape.value_width),
               .beta = 1});
    gemm<T>({.m = b.rows,
             .n = b.columns,
             .k = shape.value_width,
             .a = g,
             .lda = ldg,
             .b = v.of(bh, b.j),
             .ldb = v.leading(shape.value_width),
             .trans_b = true,
             .c = ds,
             .ldc = b.columns});
    for (int64_t r = 0; r < b.rows; ++r) {
      T* to = ds + r * b.columns;
      const T* weights = p + r * b.columns;
      for (int64_t x = 0; x < b.columns; ++x) to[x] = weights[x] * (to[x] - delta[r]);
    }
    if (of_queries)
      gemm<T>({.m = b.rows,
               .n = width,
               .k = b.columns,
               .a = ds,
               .lda = b.columns,
               .b = k.of(bh, b.j),
               .ldb = k.leading(width),
               .c = grad_q.of(bh, b.i),
               .ldc = grad_q.leading(width),
               .alpha = shape.scale,
               .beta = 1});
    if (of_keys)
      gemm<T>({.m = b.columns,
               .n = width,
               .k = b.rows,
               .a = ds,
               .lda = b.columns,
               .trans_a = true,
               .b = q.of(bh, b.i),
               .ldb = q.leading(width),
               .c = grad_k.of(bh, b.j),
               .ldc = grad_k.leading(width),
               .alpha = shape.scale,
               .beta = 1});
  }

  // All gradients of one head.
  void head(int64_t bh, T* p, T* ds, T* delta) const {
    deltas(delta, bh, 0, shape.queries);
    clear(grad_q, bh, 0, shape.queries, shape.width);
    clear(grad_k, bh, 0, shape.keys, shape.width);
    clear(grad_v, bh, 0, shape.keys, shape.value_width);
    for (int64_t j = 0; j < shape.keys; j += kColumns)
      for (int64_t i = 0; i < shape.queries; i += kRows)
        block({i, j, shape.queries, shape.keys}, bh, delta + i, p, ds, true, true);
  }
  // The gradients of one block of queries.
  void queries(int64_t bh, int64_t i, T* p, T* ds, T* delta) const {
    const int64_t end = std::min(shape.queries, i + kRows);
    deltas(delta, bh, i, end);
    clear(grad_q, bh, i, end, shape.width);
    for (int64_t j = 0; j < shape.keys; j += kColumns)
      block({i, j, shape.queries, shape.keys}, bh, delta, p, ds, true, false);
  }
  // The gradients of one block of keys.
  void keys(int64_t bh, int64_t j, T* p, T* ds, T* delta) const {
    const int64_t end = std::min(shape.keys, j + kColumns);
    clear(grad_k, bh, j, end, shape.width);
    clear(grad_v, bh, j, end, shape.value_width);
    for (int64_t i = 0; i < shape.queries; i += kRows) {
      deltas(delta, bh, i, std::min(shape.queries, i + kRows));
      block({i, j, shape.queries, shape.keys}, bh, delta, p, ds, false, true);
    }
  }
};

// Few heads are split into blocks of queries and blocks of keys, which computes the scores twice.
template <class T>
void run_backward(const Backward<T>& backward) {
  const Shape<T>& shape = backward.shape;
  const bool whole = shape.heads >= kEnoughHeads;
  const int64_t tasks = whole ? 1 : shape.query_blocks() + shape.key_blocks();
  const int64_t tile = std::min(kRows, shape.queries) * std::min(kColumns, shape.keys);
  parallel_for(shape.heads * tasks, 1, [&](int64_t begin, int64_t end) {
    const Workspace<T> memory(2 * tile + shape.queries + kRows);
    T *p = memory.data(), *ds = p + tile, *delta = ds + tile;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t bh = t / tasks, part = t % tasks;
      if (whole)
        backward.head(bh, p, ds, delta);
      else if (part < shape.query_blocks())
        backward.queries(bh, part * kRows, p, ds, delta);
      else
        backward.keys(bh, (part - shape.query_blocks()) * kColumns, p, ds, delta);
    }
  });
}

void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
               const Tensor& mask, double scale, bool causal) {
  dispatch(q.dtype(), FloatTypes{}, "attention", [&]<class T>(Type<T>) {
    const Shape<T> shape = shape_of<T>(q, v, scale, causal);
    const Heads<T> o(out), queries(q), keys(k), values(v);
    const Mask<T> added(mask);
    const int64_t parts = shape.query_blocks();
    parallel_for(shape.heads * parts, 1, [&](int64_t begin, int64_t end) {
      const Workspace<T> s(std::min(kRows, shape.queries) * std::min(kColumns, shape.keys) + 1);
      for (int64_t t = begin; t < end; ++t)
        forward_block(shape, t / parts, t % parts * kRows, s.data(), o, lse.ptr<T>(), queries, keys, values, added);
    });
  });
}

void attention_backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                        const Tensor& mask, double scale, bool causal) {
  dispatch(q.dtype(), FloatTypes{}, "attention_backward", [&]<class T>(Type<T>) {
    run_backward<T>({shape_of<T>(q, v, scale, causal), Heads<T>(grad_q), Heads<T>(grad_k), Heads<T>(grad_v),
                     Heads<T>(grad_out), Heads<T>(q), Heads<T>(k), Heads<T>(v), Heads<T>(out), Mask<T>(mask),
                     lse.ptr<T>()});
  });
}

}  // namespace

constinit const AttentionKernels attention_kernels{.forward = attention, .backward = attention_backward};

}  // namespace tandem::cpu
