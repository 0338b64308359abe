// Attention by blocks of queries and keys (T. Dao et al.: FlashAttention, 2022; M. Milakov, N. Gimelshein: Online
// normalizer calculation for softmax, 2018). Only the scores of one block are in memory.
//
// Blocks depend only on the lengths of a sequence, and each element is summed in the order of the blocks. A block that
// the mask hides entirely is skipped: it would add zeros.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/cpu/attention_scores.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/fast_exp.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kEnoughHeads = 8;  // with fewer, backward runs in parallel over blocks

constexpr int kWide = 32;  // sums side by side

template <class T, class S, class F, class Combine>
T fold(const S* x, int64_t n, T identity, F f, Combine combine) {
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
template <class T, class S>
T product_sum(const S* x, const S* y, int64_t n) {
  return fold<T>(
      x, n, T(0), [y](const S* at, int64_t i) { return static_cast<T>(at[i]) * static_cast<T>(y[i]); },
      [](T a, T b) { return a + b; });
}

// The running maximum and sum of the rows of one block of queries.
template <class T>
struct Running {
  T max[kRows], sum[kRows];
};

// Turns the scores of a block into exp(s - max) with the new maximum, and scales the output so far to it.
template <class T>
void online_softmax(T* s, const Block& b, Running<T>& running, bool first, T* out, int64_t ld, int64_t width) {
  for (int64_t r = 0; r < b.rows; ++r) {
    T* row = s + r * b.columns;
    const T before = running.max[r], block_max = largest(row, b.columns);
    const T max = block_max > before || block_max != block_max ? block_max : before;
    const T base = max == -std::numeric_limits<T>::infinity() ? T(0) : max;
    for (int64_t x = 0; x < b.columns; ++x) row[x] = fast_exp(row[x] - base);
    const T correction = fast_exp(before - base);
    running.sum[r] = running.sum[r] * correction + sum(row, b.columns);
    running.max[r] = max;
    if (!first && correction != T(1))
      for (int64_t x = 0; x < width; ++x) out[r * ld + x] *= correction;
  }
}

template <class T, class S>
void forward_block(const Inputs<T, S>& in, int64_t bh, int64_t i, T* s, T* pairs, const Heads<T>& out, T* of_rows) {
  const Shape<T>& shape = in.shape;
  const int64_t rows = std::min(kRows, shape.queries - i), width = shape.value_width;
  T* o = out.of(bh, i);
  Running<T> running;
  std::fill_n(running.max, rows, -std::numeric_limits<T>::infinity());
  std::fill_n(running.sum, rows, T(0));
  bool first = true;
  for (int64_t j = 0; j < shape.keys; j += kColumns) {
    const Block b(i, j, shape);
    if (in.hidden(bh, b)) continue;
    scores(s, b, bh, in);
    online_softmax(s, b, running, first, o, out.ld, width);
    if (in.dropout.active)
      for (int64_t r = 0; r < rows; ++r)
        in.dropout.apply(s + r * b.columns, s + r * b.columns, bh, i + r, j, b.columns);
    multiply(o, out.leading(width), s, rows, b.columns, false, in.v.of(bh / shape.shared, j), in.v.leading(width),
             width, T(1), first ? T(0) : T(1), pairs);
    first = false;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T total = running.sum[r], factor = total == T(0) ? T(0) : T(1) / total;
    for (int64_t x = 0; x < width; ++x) o[r * out.ld + x] = total == T(0) ? T(0) : o[r * out.ld + x] * factor;
    T* row = of_rows + 2 * (bh * shape.queries + i + r);
    row[0] = total == T(0) ? T(0) : running.max[r];
    row[1] = factor;
  }
}

template <class T, class S>
struct Backward {
  Inputs<T, S> in;
  Heads<T> grad_q, grad_k, grad_v;
  Heads<S> grad_out, out;
  const T* of_rows;  // the largest score and 1 / the sum of each row

  const Shape<T>& shape() const { return in.shape; }

  // delta[i] = Σ grad_out out for the queries [begin, end).
  void deltas(T* delta, int64_t bh, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i)
      delta[i - begin] = product_sum<T>(grad_out.of(bh, i), out.of(bh, i), shape().value_width);
  }

  static void clear(const Heads<T>& t, int64_t head, int64_t begin, int64_t end, int64_t width) {
    for (int64_t i = begin; i < end; ++i) std::fill_n(t.of(head, i), width, T(0));
  }

  // The memory of one task: p and ds [rows][columns] of a block.
  struct Memory {
    T *p, *ds, *delta, *pairs;
  };

  // Adds the gradients of one block.
  void block(const Block& b, int64_t bh, const T* delta, const Memory& memory, bool of_queries, bool of_keys) const {
    if (in.hidden(bh, b)) return;
    const int64_t width = shape().width, values = shape().value_width, group = bh / shape().shared;
    T *p = memory.p, *ds = memory.ds, *pairs = memory.pairs;
    scores(p, b, bh, in);
    const T* statistics = of_rows + 2 * (bh * shape().queries + b.i);
    for (int64_t r = 0; r < b.rows; ++r) {
      T* row = p + r * b.columns;
      const T largest = statistics[2 * r], factor = statistics[2 * r + 1];
      for (int64_t x = 0; x < b.columns; ++x) row[x] = fast_exp(row[x] - largest) * factor;
    }
    const S *g = grad_out.of(bh, b.i), *keys = in.k.of(group, b.j), *queries = in.q.of(bh, b.i);
    const int64_t ldg = grad_out.leading(values);
    multiply_rows(ds, b.rows, b.columns, values, g, ldg, in.v.of(group, b.j), in.v.leading(values), T(1));
    T factors[kColumns];
    for (int64_t r = 0; r < b.rows; ++r) {
      T *to = ds + r * b.columns, *weights = p + r * b.columns;
      if (in.dropout.active) {
        std::fill_n(factors, b.columns, T(1));
        in.dropout.apply(factors, factors, bh, b.i + r, b.j, b.columns);
        for (int64_t x = 0; x < b.columns; ++x) to[x] = weights[x] * (to[x] * factors[x] - delta[r]);
        for (int64_t x = 0; x < b.columns; ++x) weights[x] *= factors[x];
      } else {
        for (int64_t x = 0; x < b.columns; ++x) to[x] = weights[x] * (to[x] - delta[r]);
      }
    }
    if (of_keys)
      multiply(grad_v.of(group, b.j), grad_v.leading(values), p, b.rows, b.columns, true, g, ldg, values, T(1), T(1),
               pairs);
    if (of_queries)
      multiply(grad_q.of(bh, b.i), grad_q.leading(width), ds, b.rows, b.columns, false, keys, in.k.leading(width),
               width, shape().scale, T(1), pairs);
    if (of_keys)
      multiply(grad_k.of(group, b.j), grad_k.leading(width), ds, b.rows, b.columns, true, queries, in.q.leading(width),
               width, shape().scale, T(1), pairs);
  }

  void clear_keys(int64_t group, int64_t begin, int64_t end) const {
    clear(grad_k, group, begin, end, shape().width);
    clear(grad_v, group, begin, end, shape().value_width);
  }
  // All gradients of the heads that share keys.
  void heads(int64_t group, const Memory& memory) const {
    clear_keys(group, 0, shape().keys);
    for (int64_t bh = group * shape().shared; bh < (group + 1) * shape().shared; ++bh) {
      deltas(memory.delta, bh, 0, shape().queries);
      clear(grad_q, bh, 0, shape().queries, shape().width);
      for (int64_t j = 0; j < shape().keys; j += kColumns)
        for (int64_t i = 0; i < shape().queries; i += kRows)
          block({i, j, shape()}, bh, memory.delta + i, memory, true, true);
    }
  }
  // The gradients of one block of queries.
  void queries(int64_t bh, int64_t i, const Memory& memory) const {
    const int64_t end = std::min(shape().queries, i + kRows);
    deltas(memory.delta, bh, i, end);
    clear(grad_q, bh, i, end, shape().width);
    for (int64_t j = 0; j < shape().keys; j += kColumns) block({i, j, shape()}, bh, memory.delta, memory, true, false);
  }
  // The gradients of one block of keys.
  void keys(int64_t group, int64_t j, const Memory& memory) const {
    clear_keys(group, j, std::min(shape().keys, j + kColumns));
    for (int64_t bh = group * shape().shared; bh < (group + 1) * shape().shared; ++bh)
      for (int64_t i = 0; i < shape().queries; i += kRows) {
        deltas(memory.delta, bh, i, std::min(shape().queries, i + kRows));
        block({i, j, shape()}, bh, memory.delta, memory, false, true);
      }
  }
};

// Few heads are split into blocks of queries and blocks of keys, which computes the scores twice.
template <class T, class S>
void run_backward(const Backward<T, S>& backward) {
  const Shape<T>& shape = backward.shape();
  const int64_t groups = shape.heads / shape.shared;
  const bool whole = groups >= kEnoughHeads;
  const int64_t query_tasks = shape.heads * shape.query_blocks();
  parallel_for(whole ? groups : query_tasks + groups * shape.key_blocks(), 1, [&](int64_t begin, int64_t end) {
    const Workspace<T> memory(2 * shape.tile() + shape.queries + kRows + pair_room<T, S>(shape));
    T *p = memory.data(), *ds = p + shape.tile(), *delta = ds + shape.tile(), *pairs = delta + shape.queries + kRows;
    for (int64_t t = begin; t < end; ++t) {
      if (whole)
        backward.heads(t, {p, ds, delta, pairs});
      else if (t < query_tasks)
        backward.queries(t / shape.query_blocks(), t % shape.query_blocks() * kRows, {p, ds, delta, pairs});
      else
        backward.keys((t - query_tasks) / shape.key_blocks(), (t - query_tasks) % shape.key_blocks() * kColumns,
                      {p, ds, delta, pairs});
    }
  });
}

template <class T, class S>
void run_forward(const Inputs<T, S>& in, const Heads<T>& out, T* of_rows) {
  const int64_t parts = in.shape.query_blocks(), tile = in.shape.tile();
  parallel_for(in.shape.heads * parts, 1, [&](int64_t begin, int64_t end) {
    const Workspace<T> memory(tile + 1 + pair_room<T, S>(in.shape));
    for (int64_t t = begin; t < end; ++t)
      forward_block(in, t / parts, t % parts * kRows, memory.data(), memory.data() + tile, out, of_rows);
  });
}

// Whether bfloat16 is multiplied in pairs. Otherwise it is converted, as float16 is.
bool takes_pairs(const Tensor& q, const Tensor& v) {
  return q.dtype() == kBFloat16 && multiplies_pairs() && q.size(3) % 2 == 0 && v.size(3) % 2 == 0;
}
// The tensor, or a copy if not all rows start at even places.
Tensor in_pairs(const Tensor& t) {
  bool even = reinterpret_cast<std::uintptr_t>(t.data_ptr()) % sizeof(float) == 0;
  for (int64_t d = 0; d < 3; ++d) even = even && (t.size(d) == 1 || t.stride(d) % 2 == 0);
  return even ? t : t.contiguous();
}

void attention(const Tensor& out, const Tensor& rows, const Tensor& q, const Tensor& k, const Tensor& v,
               const Tensor& mask, const AttentionRule& rule) {
  if (takes_pairs(q, v)) {
    const tandem::detail::FloatArgument<const Tensor&> sums(out, true, false);
    const Tensor queries = in_pairs(q), keys = in_pairs(k), values = in_pairs(v);
    run_forward(Inputs<float, BFloat16>(queries, keys, values, mask, rule), Heads<float>(sums.value),
                rows.ptr<float>());
    return sums.store();
  }
  if (tandem::detail::is_half(q))
    return tandem::detail::call_in_float(attention, {.outputs = 2}, out, rows, q, k, v, mask, rule);
  dispatch(q.dtype(), FloatTypes{}, "attention",
           [&]<class T>(Type<T>) { run_forward(Inputs<T, T>(q, k, v, mask, rule), Heads<T>(out), rows.ptr<T>()); });
}

void attention_backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& rows,
                        const Tensor& mask, const AttentionRule& rule) {
  if (takes_pairs(q, v)) {
    const tandem::detail::FloatArgument<const Tensor&> sums[] = {
        {grad_q, true, false}, {grad_k, true, false}, {grad_v, true, false}};
    const Tensor queries = in_pairs(q), keys = in_pairs(k), values = in_pairs(v), grads = in_pairs(grad_out);
    run_backward<float, BFloat16>({Inputs<float, BFloat16>(queries, keys, values, mask, rule),
                                   Heads<float>(sums[0].value), Heads<float>(sums[1].value),
                                   Heads<float>(sums[2].value), Heads<BFloat16>(grads), Heads<BFloat16>(out),
                                   rows.ptr<float>()});
    for (const auto& sum : sums) sum.store();
    return;
  }
  if (tandem::detail::is_half(q))
    return tandem::detail::call_in_float(attention_backward, {.outputs = 3}, grad_q, grad_k, grad_v, grad_out, q, k, v,
                                         out, rows, mask, rule);
  dispatch(q.dtype(), FloatTypes{}, "attention_backward", [&]<class T>(Type<T>) {
    run_backward<T, T>({Inputs<T, T>(q, k, v, mask, rule), Heads<T>(grad_q), Heads<T>(grad_k), Heads<T>(grad_v),
                        Heads<T>(grad_out), Heads<T>(out), rows.ptr<T>()});
  });
}

}  // namespace

constinit const AttentionKernels attention_kernels{.forward = {attention, kTakesHalf},
                                                   .backward = {attention_backward, kTakesHalf},
                                                   .fits = [](ScalarType, int64_t) { return true; }};

}  // namespace tandem::cpu
