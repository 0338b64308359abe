// Attention in the order of core/cpu/attention.cpp: by blocks of kQueryBlock queries and kKeyBlock keys, of which a
// block of threads has a share of the queries, or for the gradients of keys and values a share of the keys. Scores are
// products one after the other along the features (core/formulas/sum_order.h).
#include "tandem/cuda/device.h"

#include <limits>

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/formulas/attention_blocks.h"
#include "tandem/core/formulas/fast_exp.h"
#include "tandem/core/formulas/random_ops.h"
#include "tandem/core/formulas/sum_order.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/replayed_value.h"
#include "tandem/cuda/strict/attention.h"
#include "tandem/cuda/strict/lane_dot.h"
#include "tandem/cuda/strict/maximum.h"
#include "tandem/cuda/unroll.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl::strict {
namespace {

constexpr int kRows = static_cast<int>(kQueryBlock), kColumns = static_cast<int>(kKeyBlock), kThreads = kColumns,
              kWarps = kThreads / 32;
constexpr int kShare = 16;  // queries or keys of a block of threads
constexpr int kOfWarp = kShare / kWarps;
constexpr int kKeysOfThread = kShare / (kThreads / kRows);  // for the gradients of keys

static_assert(piece_depth<double>(kColumns) == kColumns);  // products with values are one chain a block

// A tensor [B, heads, rows, features] of unit stride in its last dimension.
template <class T>
struct Heads {
  T* data;
  int64_t batch, head, row;
  int heads;
  __device__ T* at(int64_t bh, int64_t r = 0) const { return data + bh / heads * batch + bh % heads * head + r * row; }
};

// [B, H, L, S], or nothing.
template <class T>
struct Mask {
  const bool* visible;
  const T* numbers;
  int64_t batch, head, row, column;
  int heads;
  __device__ int64_t at(int64_t bh, int64_t i, int64_t j) const {
    return bh / heads * batch + bh % heads * head + i * row + j * column;
  }
  __device__ bool hides(int64_t place) const {
    return visible != nullptr ? !visible[place] : numbers[place] == -std::numeric_limits<T>::infinity();
  }
  __device__ T added(T score, int64_t place) const {
    if (visible != nullptr) return visible[place] ? score : -std::numeric_limits<T>::infinity();
    return score + numbers[place];
  }
};

TANDEM_HD inline int64_t key_blocks(int64_t keys) { return (keys + kColumns - 1) / kColumns; }
TANDEM_HD inline int64_t query_blocks(int64_t queries) { return (queries + kRows - 1) / kRows; }

template <class T>
struct Problem {
  Heads<const T> q, k, v;
  Mask<T> mask;
  const bool* hidden;                         // [heads, blocks of queries, blocks of keys], or null without a mask
  int64_t heads, shared;                      // of q, and how many of them have one of k and v
  int64_t queries, keys, width, value_width;  // features
  int64_t piece, value_piece;                 // products in one chain
  T scale;
  bool causal, dropped;
  int64_t before;
  ReplayedDraw draw;
  ops::Hit kept;
  T factor;  // of the kept elements

  __device__ int64_t row(int64_t bh, int64_t i) const { return bh * queries + i; }
  __device__ int columns(int64_t j) const { return keys - j < kColumns ? static_cast<int>(keys - j) : kColumns; }
  __device__ int rows(int64_t i) const { return queries - i < kRows ? static_cast<int>(queries - i) : kRows; }
  // Whether no query of the block that begins at i sees a key of that at j.
  __device__ bool is_hidden(int64_t bh, int64_t i, int64_t j) const {
    if (causal && j > i + rows(i) - 1 + before) return true;
    return hidden != nullptr && hidden[(bh * query_blocks(queries) + i / kRows) * key_blocks(keys) + j / kColumns];
  }
  __device__ T score(T product, int64_t bh, int64_t i, int64_t j) const {
    if (mask.visible != nullptr || mask.numbers != nullptr) product = mask.added(product, mask.at(bh, i, j));
    return causal && j > i + before ? -std::numeric_limits<T>::infinity() : product;
  }
  // What dropout multiplies an element of the softmax by.
  __device__ T dropout_factor(const Generator::Draw& now, int64_t bh, int64_t i, int64_t j) const {
    const int64_t element = row(bh, i) * keys + j;
    const PhiloxBlock block = philox(now.seed, now.offset, static_cast<uint64_t>(element / 4));
    return static_cast<T>(kept(block.word[element % 4])) * factor;
  }
};

// to[c] = alpha Σ others[c] own for `count` <= kCount vectors of `depth` elements, `stride` apart. in_lanes: as the
// only column of a product.
template <int kCount, class T>
__device__ void multiply(T (&to)[kCount], const T* own, const T* others, int64_t stride, int count, int64_t depth,
                         int64_t piece, bool in_lanes, T alpha) {
  const T* from[kCount];
  TANDEM_UNROLL
  for (int c = 0; c < kCount; ++c) {
    from[c] = others + (c < count ? c : 0) * stride;
    to[c] = 0;
  }
  if (alpha == T(0)) return;
  if (in_lanes) {
    TANDEM_UNROLL
    for (int c = 0; c < kCount; ++c)
      if (c < count) to[c] = alpha * lane_dot(depth, from[c], own);
    return;
  }
  for (int64_t begin = 0; begin < depth; begin += piece) {
    const int64_t end = begin + piece < depth ? begin + piece : depth;
    T sums[kCount] = {};
    for (int64_t p = begin; p < end; ++p) {
      const T x = own[p];
      TANDEM_UNROLL
      for (int c = 0; c < kCount; ++c) sums[c] = math::fma(from[c][p], x, sums[c]);
    }
    TANDEM_UNROLL
    for (int c = 0; c < kCount; ++c) to[c] = begin == 0 ? alpha * sums[c] : alpha * sums[c] + to[c];
  }
}

// put(r, x, Σ a[r][p] b[p][x]), p < depth, for r < rows and x < width: a warp has each kWarps-th row. The rows of b are
// `stride` apart. in_lanes: as the only column of a product, if it is contiguous.
template <class T, int kPitch, class Put>
__device__ void multiply_rows(const T (&a)[kShare][kPitch], int rows, int depth, const T* b, int64_t stride,
                              int64_t width, bool in_lanes, Put put) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (in_lanes && width == 1 && stride == 1) {
    for (int r = warp; lane == 0 && r < rows; r += kWarps) put(r, int64_t{0}, lane_dot<T>(depth, a[r], b));
    return;
  }
  for (int64_t x = lane; x < width; x += 32) {
    T sums[kOfWarp] = {};
    for (int p = 0; p < depth; ++p) {
      const T factor = b[p * stride + x];
      TANDEM_UNROLL
      for (int k = 0; k < kOfWarp; ++k) sums[k] = math::fma(a[warp + k * kWarps][p], factor, sums[k]);
    }
    TANDEM_UNROLL
    for (int k = 0; k < kOfWarp; ++k)
      if (warp + k * kWarps < rows) put(warp + k * kWarps, x, sums[k]);
  }
}

// Folds value(x), x < n, in a warp's lanes, and the rest one after the other.
template <class T, class Value, class Combine>
__device__ T fold_row(int64_t n, T identity, Value value, Combine combine) {
  const int64_t whole = n - n % 32;
  T lanes = identity, total = identity;
  for (int64_t x = threadIdx.x % 32; x < whole; x += 32) lanes = combine(lanes, value(x));
  for (int64_t x = whole; x < n; ++x) total = combine(total, value(x));
  return combine(total, fold_warp(lanes, combine));
}

// One block of threads for each pair of blocks of queries and keys.
template <class T>
__global__ void __launch_bounds__(kThreads) find_hidden(bool* hidden, Problem<T> p) {
  const int64_t across = key_blocks(p.keys), down = query_blocks(p.queries), block = blockIdx.x;
  const int64_t bh = block / (across * down), i = block / across % down * kRows, j = block % across * kColumns;
  const int rows = p.mask.row == 0 ? 1 : p.rows(i), columns = p.columns(j), x = static_cast<int>(threadIdx.x);
  bool seen = false;
  for (int r = 0; r < rows && !seen; ++r)
    seen = __syncthreads_or(x < columns && !p.mask.hides(p.mask.at(bh, i + r, j + x)) ? 1 : 0) != 0;
  if (x == 0) hidden[block] = !seen;
}

// The share of the queries of a head that a block of threads has, and the scores of its columns.
template <class T>
struct QueryShare {
  const Problem<T>& p;
  int64_t bh, i, block;
  int rows;
  __device__ explicit QueryShare(const Problem<T>& problem)
      : p(problem), bh(blockIdx.x % p.heads), i(blockIdx.x / p.heads * kShare), block(i / kRows * kRows) {
    rows = p.queries - i < kShare ? static_cast<int>(p.queries - i) : kShare;
  }
  // of(c, score) for the share's scores of key j + x.
  template <class Of>
  __device__ void each_score(int64_t j, int x, Of of) const {
    T sums[kShare];
    multiply(sums, p.k.at(bh / p.shared, j + x), p.q.at(bh, i), p.q.row, rows, p.width, p.piece, p.columns(j) == 1,
             p.scale);
    TANDEM_UNROLL
    for (int r = 0; r < kShare; ++r)
      if (r < rows) of(r, p.score(sums[r], bh, i + r, j + x));
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) attend(Problem<T> p, Heads<T> out, T* of_rows) {
  __shared__ T s[kShare][kColumns];
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const QueryShare<T> own(p);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const Generator::Draw draw = p.draw.now();
  T most[kOfWarp], sum[kOfWarp], correction[kOfWarp];
  for (int k = 0; k < kOfWarp; ++k) {
    most[k] = kLowest;
    sum[k] = 0;
  }
  bool first = true;
  for (int64_t j = 0; j < p.keys; j += kColumns) {
    if (p.is_hidden(own.bh, own.block, j)) continue;
    const int columns = p.columns(j);
    __syncthreads();  // the earlier block's scores have been used
    if (thread < columns) own.each_score(j, thread, [&](int r, T score) { s[r][thread] = score; });
    __syncthreads();
    TANDEM_UNROLL
    for (int k = 0; k < kOfWarp; ++k) {
      const int r = warp + k * kWarps;
      if (r >= own.rows) continue;
      T* row = s[r];
      const T before = most[k], largest = fold_row(
                                    columns, kLowest, [&](int64_t x) { return row[x]; }, Larger());
      most[k] = largest > before || largest != largest ? largest : before;
      const T base = most[k] == kLowest ? T(0) : most[k];
      __syncwarp();
      for (int x = lane; x < columns; x += 32) row[x] = fast_exp(row[x] - base);
      __syncwarp();
      correction[k] = fast_exp(before - base);
      sum[k] = sum[k] * correction[k] + fold_row(
                                            columns, T(0), [&](int64_t x) { return row[x]; }, Plus());
      __syncwarp();
      for (int x = lane; p.dropped && x < columns; x += 32) row[x] *= p.dropout_factor(draw, own.bh, own.i + r, j + x);
    }
    __syncwarp();
    multiply_rows(s, own.rows, columns, p.v.at(own.bh / p.shared, j), p.v.row, p.value_width, true,
                  [&](int r, int64_t x, T value) {
                    T& to = out.at(own.bh, own.i + r)[x];
                    const T scale = correction[r / kWarps];
                    to = first ? value : value + (scale != T(1) ? to * scale : to);
                  });
    first = false;
  }
  TANDEM_UNROLL
  for (int k = 0; k < kOfWarp; ++k) {
    const int r = warp + k * kWarps;
    if (r >= own.rows) continue;
    const bool none = sum[k] == T(0);
    const T factor = none ? T(0) : T(1) / sum[k];
    T* to = out.at(own.bh, own.i + r);
    // The threads that have written them.
    for (int64_t x = lane; x < p.value_width; x += 32) to[x] = none ? T(0) : to[x] * factor;
    T* statistics = of_rows + 2 * p.row(own.bh, own.i + r);
    if (lane == 0) statistics[0] = none ? T(0) : most[k];
    if (lane == 1) statistics[1] = factor;
  }
}

// deltas[row] = Σ grad_out out: a warp a row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    find_deltas(T* deltas, Heads<const T> grad_out, Heads<const T> out, int64_t rows, int64_t queries, int64_t width) {
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (row >= rows) return;
  const T *g = grad_out.at(row / queries, row % queries), *o = out.at(row / queries, row % queries);
  const T sum = fold_row(
      width, T(0), [&](int64_t x) { return g[x] * o[x]; }, Plus());
  if (threadIdx.x % 32 == 0) deltas[row] = sum;
}

template <class T>
struct Backward {
  Problem<T> p;
  Heads<const T> grad_out;
  Heads<T> grad_q, grad_k, grad_v;
  const T *of_rows, *deltas;

  struct Pair {
    T weight, gradient;
  };
  // The softmax with dropout, and the gradient of the score, of the product of a gradient and a value.
  __device__ Pair pair(const Generator::Draw& draw, int64_t bh, int64_t i, int64_t j, T score, T product) const {
    const int64_t row = p.row(bh, i);
    const T weight = fast_exp(score - of_rows[2 * row]) * of_rows[2 * row + 1];
    if (!p.dropped) return {weight, weight * (product - deltas[row])};
    const T factor = p.dropout_factor(draw, bh, i, j);
    return {weight * factor, weight * (product * factor - deltas[row])};
  }
};

// Adds alpha times the product to an element of a gradient. A factor of 0 leaves the product out, as on the CPU.
template <class T>
__device__ void add_to(T& to, T value, T alpha) {
  if (alpha != T(0)) to = alpha * value + to;
}

template <class T>
__device__ void clear_rows(const Heads<T>& t, int64_t bh, int64_t begin, int rows, int64_t width) {
  for (int r = static_cast<int>(threadIdx.x) / 32; r < rows; r += kWarps)
    for (int64_t x = threadIdx.x % 32; x < width; x += 32) t.at(bh, begin + r)[x] = T(0);
}

template <class T>
__global__ void __launch_bounds__(kThreads) query_gradient(Backward<T> b) {
  __shared__ T ds[kShare][kColumns];
  const Problem<T>& p = b.p;
  const QueryShare<T> own(p);
  const int thread = static_cast<int>(threadIdx.x);
  const Generator::Draw draw = p.draw.now();
  clear_rows(b.grad_q, own.bh, own.i, own.rows, p.width);
  for (int64_t j = 0; j < p.keys; j += kColumns) {
    if (p.is_hidden(own.bh, own.block, j)) continue;
    const int columns = p.columns(j);
    __syncthreads();
    if (thread < columns) {
      T products[kShare];
      multiply(products, p.v.at(own.bh / p.shared, j + thread), b.grad_out.at(own.bh, own.i), b.grad_out.row, own.rows,
               p.value_width, p.value_piece, columns == 1, T(1));
      own.each_score(j, thread, [&](int r, T score) {
        ds[r][thread] = b.pair(draw, own.bh, own.i + r, j + thread, score, products[r]).gradient;
      });
    }
    __syncthreads();
    multiply_rows(ds, own.rows, columns, p.k.at(own.bh / p.shared, j), p.k.row, p.width, true,
                  [&](int r, int64_t x, T value) { add_to(b.grad_q.at(own.bh, own.i + r)[x], value, p.scale); });
  }
}

// Of keys and values, summed over the queries of the heads that share them. Half of the threads have a query each, with
// half of the keys.
template <class T>
__global__ void __launch_bounds__(kThreads) key_gradients(Backward<T> b, int64_t groups) {
  __shared__ T weights[kShare][kRows], ds[kShare][kRows];
  const Problem<T>& p = b.p;
  const int64_t group = blockIdx.x % groups, first = blockIdx.x / groups * kShare, j = first / kColumns * kColumns;
  const int share = p.keys - first < kShare ? static_cast<int>(p.keys - first) : kShare;
  const int r = static_cast<int>(threadIdx.x) % kRows, c0 = static_cast<int>(threadIdx.x) / kRows * kKeysOfThread;
  const bool only = p.columns(j) == 1;
  const Generator::Draw draw = p.draw.now();
  clear_rows(b.grad_k, group, first, share, p.width);
  clear_rows(b.grad_v, group, first, share, p.value_width);
  for (int64_t bh = group * p.shared; bh < (group + 1) * p.shared; ++bh)
    for (int64_t i = 0; i < p.queries; i += kRows) {
      if (p.is_hidden(bh, i, j)) continue;
      const int rows = p.rows(i), count = share - c0;
      __syncthreads();
      if (r < rows && count > 0) {
        T scores[kKeysOfThread], products[kKeysOfThread];
        const int64_t key = first + c0;
        multiply(scores, p.q.at(bh, i + r), p.k.at(group, key), p.k.row, count, p.width, p.piece, only, p.scale);
        multiply(products, b.grad_out.at(bh, i + r), p.v.at(group, key), p.v.row, count, p.value_width, p.value_piece,
                 only, T(1));
        TANDEM_UNROLL
        for (int c = 0; c < kKeysOfThread; ++c) {
          if (c >= count) continue;
          const T score = p.score(scores[c], bh, i + r, key + c);
          const auto pair = b.pair(draw, bh, i + r, key + c, score, products[c]);
          weights[c0 + c][r] = pair.weight;
          ds[c0 + c][r] = pair.gradient;
        }
      }
      __syncthreads();
      multiply_rows(weights, share, rows, b.grad_out.at(bh, i), b.grad_out.row, p.value_width, false,
                    [&](int c, int64_t x, T value) { add_to(b.grad_v.at(group, first + c)[x], value, T(1)); });
      multiply_rows(ds, share, rows, p.q.at(bh, i), p.q.row, p.width, false,
                    [&](int c, int64_t x, T value) { add_to(b.grad_k.at(group, first + c)[x], value, p.scale); });
    }
}

// ---- host

template <class T>
Heads<T> heads_of(const Tensor& t) {
  return {t.ptr<std::remove_const_t<T>>(), t.stride(0), t.stride(1), t.stride(2), static_cast<int>(t.size(1))};
}

int64_t shares(int64_t n) { return ceil_div(n, int64_t{kShare}); }

// The problem, and the memory of its hidden blocks.
template <class T>
struct HostProblem {
  Problem<T> p;
  Tensor hidden;
  HostProblem(Context& c, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              const AttentionRule& rule)
      : p{.q = heads_of<const T>(q),
          .k = heads_of<const T>(k),
          .v = heads_of<const T>(v),
          .mask = {},
          .hidden = nullptr,
          .heads = q.size(0) * q.size(1),
          .shared = q.size(1) / k.size(1),
          .queries = q.size(2),
          .keys = v.size(2),
          .width = q.size(3),
          .value_width = v.size(3),
          .piece = piece_depth<T>(q.size(3)),
          .value_piece = piece_depth<T>(v.size(3)),
          .scale = static_cast<T>(rule.scale),
          .causal = rule.causal,
          .dropped = rule.dropout > 0,
          .before = rule.before,
          .draw = rule.dropout > 0 ? replayed_draw(c, rule.draw) : ReplayedDraw{},
          .kept = ops::Hit(1 - rule.dropout),
          .factor = static_cast<T>(1 / (1 - rule.dropout))} {
    if (!mask.defined()) return;
    const bool visible = mask.dtype() == kBool;
    p.mask = {visible ? mask.ptr<bool>() : nullptr,
              visible ? nullptr : mask.ptr<T>(),
              mask.stride(0),
              mask.stride(1),
              mask.stride(2),
              mask.stride(3),
              static_cast<int>(mask.size(1))};
    const int64_t blocks = p.heads * query_blocks(p.queries) * key_blocks(p.keys);
    hidden = empty_raw({blocks}, kBool, q.device());
    launch("attention", c, {blocks, kThreads}, find_hidden<T>, hidden.ptr<bool>(), p);
    p.hidden = hidden.ptr<bool>();
  }
};

}  // namespace

void attention(const Tensor& out, const Tensor& rows, const Tensor& q, const Tensor& k, const Tensor& v,
               const Tensor& mask, const AttentionRule& rule) {
  if (tandem::detail::is_half(q))
    return tandem::detail::call_in_float(attention, {.outputs = 2}, out, rows, q, k, v, mask, rule);
  dispatch(q.dtype(), FloatTypes{}, "attention", [&]<class T>(Type<T>) {
    Context& c = context(q.device());
    const HostProblem<T> problem(c, q, k, v, mask, rule);
    const Problem<T>& p = problem.p;
    launch("attention", c, {p.heads * shares(p.queries), kThreads}, attend<T>, p, heads_of<T>(out), rows.ptr<T>());
  });
}

void attention_backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& rows,
                        const Tensor& mask, const AttentionRule& rule) {
  constexpr const char* kName = "attention_backward";
  if (tandem::detail::is_half(q))
    return tandem::detail::call_in_float(attention_backward, {.outputs = 3}, grad_q, grad_k, grad_v, grad_out, q, k, v,
                                         out, rows, mask, rule);
  dispatch(q.dtype(), FloatTypes{}, kName, [&]<class T>(Type<T>) {
    Context& c = context(q.device());
    const HostProblem<T> problem(c, q, k, v, mask, rule);
    const Problem<T>& p = problem.p;
    const int64_t all = p.heads * p.queries, groups = p.heads / p.shared;
    const Tensor deltas = empty_raw({all}, scalar_type_of<T>, q.device());
    launch(kName, c, {ceil_div(all, int64_t{kWarps}), kThreads}, find_deltas<T>, deltas.ptr<T>(),
           heads_of<const T>(grad_out), heads_of<const T>(out), all, p.queries, p.value_width);
    const Backward<T> b{p,
                        heads_of<const T>(grad_out),
                        heads_of<T>(grad_q),
                        heads_of<T>(grad_k),
                        heads_of<T>(grad_v),
                        rows.ptr<T>(),
                        deltas.ptr<T>()};
    launch(kName, c, {p.heads * shares(p.queries), kThreads}, query_gradient<T>, b);
    launch(kName, c, {groups * shares(p.keys), kThreads}, key_gradients<T>, b, groups);
  });
}

}  // namespace tandem::cuda_impl::strict
