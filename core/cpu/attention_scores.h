// The inputs of attention's kernels on the CPU, by blocks of queries and keys, and the products of a block.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/backend/attention.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/pack_half.h"
#include "tandem/core/cpu/philox_lanes.h"
#include "tandem/core/formulas/attention_blocks.h"
#include "tandem/core/formulas/random_ops.h"

namespace tandem::cpu {

inline constexpr int64_t kRows = kQueryBlock, kColumns = kKeyBlock;

inline int64_t blocks(int64_t n, int64_t width) { return (n + width - 1) / width; }

// A tensor [B, H, rows, columns] as matrices.
template <class T>
struct Heads {
  explicit Heads(const Tensor& t)
      : data(t.ptr<T>()), batch(t.stride(0)), head(t.stride(1)), ld(t.stride(2)), heads(t.size(1)) {}
  T* of(int64_t bh, int64_t row = 0) const { return data + bh / heads * batch + bh % heads * head + row * ld; }
  // For gemm: a single row may have any distance.
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

// The factors of dropout for the softmax.
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

// The inputs of forward and backward: S are T, or bfloat16 that is multiplied in pairs (microkernel.h), and T float.
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
inline void pair_rows(const uint16_t* from, int64_t ld, int64_t rows, int64_t columns, float* to) {
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

}  // namespace tandem::cpu
