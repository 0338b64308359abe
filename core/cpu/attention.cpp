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

#include "tandem/core/backend/attention.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/pack_half.h"
#include "tandem/core/cpu/philox_lanes.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/fast_exp.h"
#include "tandem/core/formulas/random_ops.h"
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
  Shape(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionRule& rule)
      : heads(q.size(0) * q.size(1)),
        shared(q.size(1) / k.size(1)),
        queries(q.size(2)),
        keys(v.size(2)),
        width(q.size(3)),
        value_width(v.size(3)),
        scale(static_cast<T>(rule.scale)),
        causal(rule.causal),
        before(rule.before) {}
  int64_t query_blocks() const { return blocks(queries, kRows); }
  int64_t key_blocks() const { return blocks(keys, kColumns); }
  int64_t tile() const { return std::min(kRows, queries) * std::min(kColumns, keys); }
  int64_t heads, shared, queries, keys, width, value_width;  // `shared` heads of q have one of k and v
  T scale;
  bool causal;
  int64_t before;
};

// Elements that multiply() needs for pairs of any block.
template <class T, class S>
int64_t pair_room(const Shape<T>& shape) {
  if (std::is_same_v<T, S>) return 0;
  const int64_t rows = std::min(kRows, shape.queries) + 1, columns = std::min(kColumns, shape.keys) + 1;
  return 2 * rows * columns + (rows + columns) * std::max(shape.width, shape.value_width);
}

// A block of scores: `rows` queries from i, `columns` keys from j.
struct Block {
  template <class T>
  Block(int64_t i, int64_t j, const Shape<T>& shape)
      : i(i), j(j), rows(std::min(kRows, shape.queries - i)), columns(std::min(kColumns, shape.keys - j)) {}
  int64_t i, j, rows, columns;
};

// The mask, or nothing. true and numbers above -infinity are visible.
template <class T, class S>
struct Mask {
  explicit Mask(const Tensor& t) {
    if (!t.defined()) return;
    if (t.dtype() == kBool)
      visible = t.ptr<bool>();
    else
      numbers = t.ptr<S>();
    heads = t.size(1);
    for (int d = 0; d < 4; ++d) strides[d] = t.stride(d);
  }
  bool hides(int64_t bh, const Block& b) const {
    if (visible != nullptr) return hides(visible, bh, b, [](bool x) { return x; });
    return numbers != nullptr &&
           hides(numbers, bh, b, [](S x) { return static_cast<T>(x) != -std::numeric_limits<T>::infinity(); });
  }
  // row[x] += mask for the keys from j.
  void add(T* row, int64_t bh, int64_t i, int64_t j, int64_t n) const {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    if (visible != nullptr)
      each(visible + at(bh, i, j), n, [row](int64_t x, bool seen) { row[x] = seen ? row[x] : kHidden; });
    else if (numbers != nullptr)
      each(numbers + at(bh, i, j), n, [row](int64_t x, S number) { row[x] += static_cast<T>(number); });
  }

 private:
  int64_t at(int64_t bh, int64_t i, int64_t j) const {
    return bh / heads * strides[0] + bh % heads * strides[1] + i * strides[2] + j * strides[3];
  }
  template <class M, class Put>
  void each(const M* from, int64_t n, Put put) const {
    if (strides[3] == 1)
      for (int64_t x = 0; x < n; ++x) put(x, from[x]);
    else
      for (int64_t x = 0; x < n; ++x) put(x, from[x * strides[3]]);
  }
  template <class M, class Seen>
  bool hides(const M* data, int64_t bh, const Block& b, Seen seen) const {
    const int64_t rows = strides[2] == 0 ? 1 : b.rows, columns = strides[3] == 0 ? 1 : b.columns;
    for (int64_t r = 0; r < rows; ++r) {
      const M* from = data + at(bh, b.i + r, b.j);
      for (int64_t x = 0; x < columns; ++x)
        if (seen(from[x * strides[3]])) return false;
    }
    return true;
  }
  const bool* visible = nullptr;
  const S* numbers = nullptr;
  int64_t heads = 1, strides[4] = {};
};

// What dropout multiplies the softmax by.
template <class T>
struct Dropout {
  Dropout(const AttentionRule& rule, int64_t queries, int64_t keys)
      : draw(rule.draw),
        kept(1 - rule.dropout),
        factor(static_cast<T>(1 / (1 - rule.dropout))),
        queries(queries),
        keys(keys),
        active(rule.dropout > 0) {}
  // to[x] = from[x] times 0 or the factor, for n keys of query i from key j on.
  void apply(T* to, const T* from, int64_t bh, int64_t i, int64_t j, int64_t n) const {
    const int64_t first = (bh * queries + i) * keys + j, end = first + n;
    PhiloxLanes words;
    for (int64_t block = first / 4; 4 * block < end; block += kPhiloxLanes) {
      philox_lanes(words, draw, static_cast<uint64_t>(block));
      T factors[4 * kPhiloxLanes];
      for (int l = 0; l < kPhiloxLanes; ++l)
        for (int w = 0; w < 4; ++w) factors[4 * l + w] = static_cast<T>(kept(words.word[w][l])) * factor;
      const int64_t begin = std::max(first, 4 * block), until = std::min(end, 4 * (block + kPhiloxLanes));
      for (int64_t e = begin; e < until; ++e) to[e - first] = from[e - first] * factors[e - 4 * block];
    }
  }
  Generator::Draw draw;
  ops::Hit kept;
  T factor;
  int64_t queries, keys;
  bool active;
};

// What forward and backward read: S are T, or bfloat16 that is multiplied in pairs (microkernel.h), and T float.
template <class T, class S>
struct Inputs {
  Shape<T> shape;
  Heads<S> q, k, v;
  Mask<T, S> mask;
  Dropout<T> dropout;
  Inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& added, const AttentionRule& rule)
      : shape(query, key, value, rule),
        q(query),
        k(key),
        v(value),
        mask(added),
        dropout(rule, shape.queries, shape.keys) {}
  bool hidden(int64_t bh, const Block& b) const {
    return (shape.causal && b.j > b.i + b.rows - 1 + shape.before) || mask.hides(bh, b);
  }
};

// ---- products of a block: matrices of S as they are stored, and of T that were computed

// c [m][n] = alpha a bᵀ with n rows of b, of `depth` elements each.
template <class T, class S>
void multiply_rows(T* c, int64_t m, int64_t n, int64_t depth, const S* a, int64_t lda, const S* b, int64_t ldb,
                   T alpha) {
  constexpr int64_t kStep = sizeof(T) / sizeof(S);
  gemm<T>({.m = m,
           .n = n,
           .k = depth / kStep,
           .a = reinterpret_cast<const T*>(a),
           .lda = lda / kStep,
           .b = reinterpret_cast<const T*>(b),
           .ldb = ldb / kStep,
           .trans_b = true,
           .c = c,
           .ldc = n,
           .alpha = alpha,
           .pairs = kStep == 2});
}

// Pairs of rows of bfloat16, [ceil(rows / 2)][columns].
void pair_rows(const uint16_t* from, int64_t ld, int64_t rows, int64_t columns, float* to) {
  for (int64_t r = 0; r < rows; r += 2)
    pair_up(from + r * ld, r + 1 < rows ? from + (r + 1) * ld : nullptr, columns, to + r / 2 * columns);
}

// c [m][n], with rows of ldc elements, = beta c + alpha op(a) b. a [rows][columns] is op(a) or its transpose, and is
// rounded if S is bfloat16. `pairs` has pair_room() elements then.
template <class T, class S>
void multiply(T* c, int64_t ldc, const T* a, int64_t rows, int64_t columns, bool transposed, const S* b, int64_t ldb,
              int64_t n, T alpha, T beta, [[maybe_unused]] T* pairs) {
  GemmArgs<T> g{.m = transposed ? columns : rows,
                .n = n,
                .k = transposed ? rows : columns,
                .trans_a = transposed,
                .c = c,
                .ldc = ldc,
                .alpha = alpha,
                .beta = beta};
  if constexpr (std::is_same_v<S, T>) {
    g.a = a;
    g.lda = columns;
    g.b = b;
    g.ldb = ldb;
  } else {
    const int64_t width = columns + columns % 2;  // of a rounded row: an even one has pairs of columns
    T *paired_b = pairs, *paired_a = paired_b + (g.k + 1) / 2 * n, *rounded = paired_a + (rows + 1) / 2 * width;
    auto* bits = reinterpret_cast<uint16_t*>(rounded);
    for (int64_t r = 0; r < rows; ++r) {
      narrow(kBFloat16, bits + r * width, a + r * columns, columns);
      if (width > columns) bits[r * width + columns] = 0;
    }
    pair_rows(reinterpret_cast<const uint16_t*>(b), ldb, g.k, n, paired_b);
    if (transposed) pair_rows(bits, width, rows, columns, paired_a);
    g.a = transposed ? paired_a : rounded;
    g.lda = transposed ? columns : width / 2;
    g.b = paired_b;
    g.ldb = n;
    g.k = (g.k + 1) / 2;
    g.pairs = true;
  }
  gemm<T>(g);
}

// s = scale q kᵀ + mask for one block, [rows][columns].
template <class T, class S>
void scores(T* s, const Block& b, int64_t bh, const Inputs<T, S>& in) {
  const Shape<T>& shape = in.shape;
  multiply_rows(s, b.rows, b.columns, shape.width, in.q.of(bh, b.i), in.q.leading(shape.width),
                in.k.of(bh / shape.shared, b.j), in.k.leading(shape.width), shape.scale);
  for (int64_t r = 0; r < b.rows; ++r) {
    T* row = s + r * b.columns;
    in.mask.add(row, bh, b.i + r, b.j, b.columns);
    if (shape.causal)
      for (int64_t x = std::max<int64_t>(0, b.i + r + shape.before - b.j + 1); x < b.columns; ++x)
        row[x] = -std::numeric_limits<T>::infinity();
  }
}

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

  // What one task computes with: p and ds [rows][columns] of a block.
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
    return tandem::detail::call_in_float<void, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                         const Tensor&, const Tensor&, const AttentionRule&>(
        attention, {.outputs = 2}, out, rows, q, k, v, mask, rule);
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
    return tandem::detail::call_in_float<void, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                         const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                         const Tensor&, const AttentionRule&>(
        attention_backward, {.outputs = 3}, grad_q, grad_k, grad_v, grad_out, q, k, v, out, rows, mask, rule);
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
