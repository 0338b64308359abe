// Attention on CUDA by blocks of queries and keys, as on the CPU (core/cpu/attention.cpp): memory for the scores of a block
// only. Backward computes them again, once for the gradient of the queries and once for the gradients of keys and values, so that
// each is summed in a fixed order. Blocks depend on the size of a head alone, so a row's bits depend on nothing else in its
// batch.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/attention_scores.h"
#include "tandem/cuda/strict/attention.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

// How a head of at most kWidth features is cut. A kernel keeps tiles of `rows` rows, and two pairs of tiles of kColumns
// rows, in shared memory, of which every GPU from sm_80 on has 99 KiB. A warp has 16 `tiles` rows, as many as leave its
// sums in registers: each number that it loads of the other tiles is multiplied by as many.
template <class S, int kWidth_>
struct Cut {
  static constexpr bool kHalf = sizeof(S) == 2;
  static constexpr int kWidth = kWidth_, kBytes = kWidth * static_cast<int>(sizeof(S));
  static constexpr int kWarps = kBytes > 512 ? 2 : 4, kThreads = 32 * kWarps;
  static constexpr int kForwardTiles = kHalf && kWidth <= 128 ? 2 : 1, kBackwardTiles = kHalf && kWidth <= 64 ? 2 : 1;
  static constexpr int kForwardColumns = kBytes <= 128 ? 64 : kBytes <= 512 ? 32 : 16;
  static constexpr int kQueryColumns = kBytes <= 256 ? 32 : kBytes <= 512 ? 16 : 8;
  static constexpr int kKeyColumns = kHalf && kWidth == 64 ? 16 : kQueryColumns;
  // Whether one kernel sums the gradients of both keys and values.
  static constexpr bool kBoth = kWidth <= 128;
  static constexpr int rows(int tiles) { return 16 * tiles * kWarps; }
  static constexpr std::size_t shared_bytes(int row_tiles, int tiles, int columns) {
    return static_cast<std::size_t>(row_tiles * rows(tiles) + 4 * columns) * (kBytes + 16);
  }
  static constexpr std::size_t kForwardBytes = shared_bytes(1, kForwardTiles, kForwardColumns),
                               kQueryBytes = shared_bytes(2, kBackwardTiles, kQueryColumns),
                               kKeyBytes = shared_bytes(2, kBackwardTiles, kKeyColumns);
  static_assert(std::max({kForwardBytes, kQueryBytes, kKeyBytes}) <= 99 * 1024);
};

// A tile that begins at this row of the shared memory.
template <class S, int kWidth>
__device__ Tile<S, kWidth> shared_tile(int row) {
  return {dynamic_shared<S>() + row * Tile<S, kWidth>::kPitch};
}

// Calls body(place, stage) for every visible place below `end`, while the tiles of the next one are copied.
template <class Visible, class Load, class Body>
__device__ void each_visible(int end, Visible visible, Load load, Body body) {
  const auto next_from = [&](int place) {
    while (place < end && !visible(place)) ++place;
    return place;
  };
  int stage = 0, place = next_from(0);
  if (place < end) load(place, stage);
  while (place < end) {
    const int next = next_from(place + 1);
    finish_copies();
    __syncthreads();  // this stage has arrived, and nobody reads the other one any more
    if (next < end) load(next, 1 - stage);
    body(place, stage);
    place = next;
    stage = 1 - stage;
  }
  finish_copies();
}

__device__ int warp() { return static_cast<int>(threadIdx.x) / 32; }

// Writes sums times `factor` to the rows from `row` on, of which there are `rows` in all.
template <class S, int M, int N>
__device__ void store_rows(Sums<M, N>& sums, const Heads<S>& to, int head, int row, int rows, int width, float factor) {
  each_row<M>([&](int m, int h) {
    const int r = row + lane_row(m, h);
    if (r >= rows) return;
    S* at = to.at(head, r);
    each<N>([&](int n) {
      for (int c = 0; c < 2; ++c) {
        const int column = 8 * n + lane_column() + c;
        if (column < width) at[column] = static_cast<S>(sums.pair(m, n, h)[c] * factor);
      }
    });
  });
}

struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// A row's largest score so far and this lane's part of the sum of 2^(score - largest).
struct Running {
  float largest = kHiddenScore, sum = 0;
};

// Turns the scores of row (m, h) into 2^(score - largest), and returns what scales earlier sums to the new largest.
template <int M, int N>
__device__ float online_softmax(Sums<M, N>& s, int m, int h, Running& running) {
  float most = running.largest;
  each<N>([&](int n) {
    for (int c = 0; c < 2; ++c) most = Largest()(s.pair(m, n, h)[c], most);
  });
  most = fold_warp(most, Largest(), 4);
  const float base = most == kHiddenScore ? 0.0f : most, correction = fast_exp2(running.largest - base);
  float sum = 0;
  each<N>([&](int n) {
    for (int c = 0; c < 2; ++c) {
      float& x = s.pair(m, n, h)[c];
      x = fast_exp2(x - base);
      sum += x;
    }
  });
  running = {most, running.sum * correction + sum};
  return correction;
}

// Multiplies the tile of a warp by what dropout multiplies the softmax by: draw_kept() has written it behind the rows of
// `drawn` from row `row` on, from word `first` on.
template <int M, int N, class S, int kWidth>
__device__ void drop(Sums<M, N>& s, const AttentionProblem<S>& p, const Tile<S, kWidth>& drawn, int row, int first) {
  each_pair<M, N>([&](int m, int n, int h) {
    const uint32_t bits = drawn.behind(row + lane_row(m, h))[first + n / 4] >> (8 * (n % 4) + lane_column());
    for (int c = 0; c < 2; ++c) s.pair(m, n, h)[c] *= (bits >> c & 1) != 0 ? p.factor : 0.0f;
  });
}

// The block of queries of a head that a block of threads has, and its tiles of keys and values. The longest blocks of a
// causal problem come first.
template <class S, int kWidth, int kRows, int kColumns, int kFirstRow>
struct QueryBlock {
  static constexpr int kThreads = Cut<S, kWidth>::kThreads;
  const AttentionProblem<S>& p;
  int bh, group, i;
  __device__ QueryBlock(const AttentionProblem<S>& problem, int query_blocks)
      : p(problem),
        bh(static_cast<int>(blockIdx.x) % p.heads),
        group(bh / p.shared),
        i((query_blocks - 1 - static_cast<int>(blockIdx.x) / p.heads) * kRows) {}
  // The queries, or the gradients of what they get. Behind the rows of the queries is what dropout keeps.
  __device__ void load(const Tile<S, kWidth>& to, const Heads<const S>& from, int width) const {
    to.template load<kRows, kThreads>(from.at(bh, i), from.row, p.queries - i, width, p.whole_packs);
  }
  __device__ Tile<S, kWidth> queries() const { return shared_tile<S, kWidth>(0); }
  __device__ Tile<S, kWidth> keys(int stage) const { return shared_tile<S, kWidth>(kFirstRow + stage * kColumns); }
  __device__ Tile<S, kWidth> values(int stage) const { return keys(2 + stage); }
  // body(j, stage) for the blocks of keys from j on.
  template <class Body>
  __device__ void each_keys(Body body) const {
    const auto visible = [&](int block) {
      return p.template any_visible<kThreads>(bh, i, kRows, block * kColumns, kColumns);
    };
    const auto load = [&](int block, int stage) {
      const int j = block * kColumns, count = p.keys - j;
      keys(stage).template load<kColumns, kThreads>(p.k.at(group, j), p.k.row, count, p.width, p.whole_packs);
      values(stage).template load<kColumns, kThreads>(p.v.at(group, j), p.v.row, count, p.value_width, p.whole_packs);
      draw_kept<kRows, kColumns, kThreads>(queries(), 2 * stage, p, bh, i, j);
    };
    each_visible((p.keys + kColumns - 1) / kColumns, visible, load,
                 [&](int block, int stage) { body(block * kColumns, stage); });
  }
};

// What turns scores into a softmax: a row's largest score and 1 / its sum, or zeros if it sees no key.
struct Row {
  float largest, factor;
};

template <class S, int kWidth>
__global__ void __launch_bounds__(Cut<S, kWidth>::kThreads)
    attend(AttentionProblem<S> p, Heads<S> out, Row* rows, int query_blocks) {
  using C = Cut<S, kWidth>;
  constexpr int M = C::kForwardTiles, kRows = C::rows(M), kColumns = C::kForwardColumns;
  using Scores = Sums<M, kColumns / 8>;
  const QueryBlock<S, kWidth, kRows, kColumns, kRows> block(p, query_blocks);
  const auto queries = block.queries();
  block.load(queries, p.q, p.width);
  const int first = 16 * M * warp(), row = block.i + first;
  Sums<M, kWidth / 8> sums;
  sums.clear();
  Running running[M][2];
  block.each_keys([&](int j, int stage) {
    if (row >= p.queries || !p.before_diagonal(row, 16 * M, j)) return;  // nothing for this warp
    Scores s;
    multiply_rows(s, queries, first, block.keys(stage));
    finish_scores<false>(s, p, block.bh, row, j);
    each_row<M>([&](int m, int h) {
      const float correction = online_softmax(s, m, h, running[m][h]);
      each<kWidth / 8>([&](int n) {
        for (int c = 0; c < 2; ++c) sums.pair(m, n, h)[c] *= correction;
      });
    });
    if (p.dropped) drop(s, p, block.queries(), first, 2 * stage);
    add_product(sums, s, block.values(stage));
  });
  each_row<M>([&](int m, int h) {
    const float sum = fold_warp(running[m][h].sum, Plus(), 4);
    const Row statistics = sum == 0 ? Row{0, 0} : Row{running[m][h].largest, 1.0f / sum};
    each<kWidth / 8>([&](int n) {
      for (int c = 0; c < 2; ++c) {
        float& x = sums.pair(m, n, h)[c];
        x = sum == 0 ? 0.0f : x * statistics.factor;
      }
    });
    const int r = row + lane_row(m, h);
    if (r < p.queries && lane_column() == 0) rows[p.row(block.bh, r)] = statistics;
  });
  store_rows(sums, out, block.bh, row, p.queries, p.value_width, 1.0f);
}

// deltas[row] = Σ grad_out out: a warp a row.
template <class S>
__global__ void __launch_bounds__(256)
    attention_deltas(float* deltas, Heads<const S> grad_out, Heads<const S> out, int64_t rows, int queries, int width) {
  const int64_t row = int64_t{blockIdx.x} * 8 + warp();
  if (row >= rows) return;
  const int bh = static_cast<int>(row / queries), i = static_cast<int>(row % queries);
  const S *g = grad_out.at(bh, i), *o = out.at(bh, i);
  float sum = 0;
  for (int x = static_cast<int>(threadIdx.x) % 32; x < width; x += 32)
    sum = fmaf(static_cast<float>(g[x]), static_cast<float>(o[x]), sum);
  sum = fold_warp(sum, Plus());
  if (threadIdx.x % 32 == 0) deltas[row] = sum;
}

template <class S>
struct Backward {
  AttentionProblem<S> p;
  Heads<const S> grad_out;
  Heads<S> grad_q, grad_k, grad_v;
  const Row* rows;
  const float* deltas;

  // Of query i of the head that starts there; zeros for what is none.
  __device__ Row row(int64_t head, int i) const { return i < p.queries ? rows[head + i] : Row{0, 0}; }
  __device__ float delta(int64_t head, int i) const { return i < p.queries ? deltas[head + i] : 0.0f; }
};

// grad_q = scale ds k with ds = w (f g vᵀ - delta), where w is the softmax and f what dropout multiplies it by.
template <class S, int kWidth>
__global__ void __launch_bounds__(Cut<S, kWidth>::kThreads) query_gradient(Backward<S> b, int query_blocks) {
  using C = Cut<S, kWidth>;
  constexpr int M = C::kBackwardTiles, kRows = C::rows(M), kColumns = C::kQueryColumns;
  using Scores = Sums<M, kColumns / 8>;
  const AttentionProblem<S>& p = b.p;
  const QueryBlock<S, kWidth, kRows, kColumns, 2 * kRows> block(p, query_blocks);
  const auto queries = block.queries(), grads = shared_tile<S, kWidth>(kRows);
  block.load(queries, p.q, p.width);
  block.load(grads, b.grad_out, p.value_width);
  const int first = 16 * M * warp(), row = block.i + first;
  Row of_row[M][2];
  float delta[M][2];
  each_row<M>([&](int m, int h) {
    of_row[m][h] = b.row(p.row(block.bh, 0), row + lane_row(m, h));
    delta[m][h] = b.delta(p.row(block.bh, 0), row + lane_row(m, h)) * of_row[m][h].factor;
  });
  Sums<M, kWidth / 8> sums;
  sums.clear();
  block.each_keys([&](int j, int stage) {
    if (row >= p.queries || !p.before_diagonal(row, 16 * M, j)) return;
    Scores s, ds;
    multiply_rows(s, queries, first, block.keys(stage));
    finish_scores<false>(s, p, block.bh, row, j);
    multiply_rows(ds, grads, first, block.values(stage));
    if (p.dropped) drop(ds, p, block.queries(), first, 2 * stage);
    each_pair<M, kColumns / 8>([&](int m, int n, int h) {
      for (int c = 0; c < 2; ++c) {
        float& x = ds.pair(m, n, h)[c];
        x = fast_exp2(s.pair(m, n, h)[c] - of_row[m][h].largest) * fmaf(x, of_row[m][h].factor, -delta[m][h]);
      }
    });
    add_product(sums, ds, block.keys(stage));
  });
  store_rows(sums, b.grad_q, block.bh, row, p.queries, p.width, p.scale);
}

// grad_v = (w f)ᵀ g and grad_k = scale dsᵀ q, summed over the queries of the heads that share these keys.
template <class S, int kWidth, bool of_keys, bool of_values>
__global__ void __launch_bounds__(Cut<S, kWidth>::kThreads) key_gradients(Backward<S> b, int groups) {
  using C = Cut<S, kWidth>;
  constexpr int M = C::kBackwardTiles, kRows = C::rows(M), kColumns = C::kKeyColumns;
  using Scores = Sums<M, kColumns / 8>;
  const AttentionProblem<S>& p = b.p;
  const int group = static_cast<int>(blockIdx.x) % groups, j = static_cast<int>(blockIdx.x) / groups * kRows;
  const auto keys = shared_tile<S, kWidth>(0), values = shared_tile<S, kWidth>(kRows);
  keys.template load<kRows, C::kThreads>(p.k.at(group, j), p.k.row, p.keys - j, p.width, p.whole_packs);
  values.template load<kRows, C::kThreads>(p.v.at(group, j), p.v.row, p.keys - j, p.value_width, p.whole_packs);
  const auto queries = [](int stage) { return shared_tile<S, kWidth>(2 * kRows + stage * kColumns); };
  const auto grads = [](int stage) { return shared_tile<S, kWidth>(2 * kRows + (2 + stage) * kColumns); };
  // A place is a block of queries of one of the heads.
  const int blocks = (p.queries + kColumns - 1) / kColumns;
  const auto head_of = [&](int place) { return group * p.shared + place / blocks; };
  const auto visible = [&](int place) {
    return p.template any_visible<C::kThreads>(head_of(place), place % blocks * kColumns, kColumns, j, kRows);
  };
  const auto load = [&](int place, int stage) {
    const int bh = head_of(place), i = place % blocks * kColumns, count = p.queries - i;
    queries(stage).template load<kColumns, C::kThreads>(p.q.at(bh, i), p.q.row, count, p.width, p.whole_packs);
    grads(stage).template load<kColumns, C::kThreads>(b.grad_out.at(bh, i), b.grad_out.row, count, p.value_width,
                                                      p.whole_packs);
    draw_kept<kColumns, kRows, C::kThreads>(queries(stage), 0, p, bh, i, j);
  };

  const int first = 16 * M * warp(), row = j + first;
  Sums<M, kWidth / 8> key_sums, value_sums;
  key_sums.clear();
  value_sums.clear();
  each_visible(p.shared * blocks, visible, load, [&](int place, int stage) {
    const int bh = head_of(place), i = place % blocks * kColumns;
    if (row >= p.keys || !p.before_diagonal(i, kColumns, row)) return;
    const int64_t head = p.row(bh, 0);
    Scores s, ds;
    multiply_rows(s, keys, first, queries(stage));
    finish_scores<true>(s, p, bh, row, i);
    if constexpr (of_keys) multiply_rows(ds, values, first, grads(stage));
    each<kColumns / 4>([&](int column) {
      const int n = column / 2, c = column % 2, query = i + 8 * n + lane_column() + c;
      const Row of_row = b.row(head, query);
      const float delta = of_keys ? b.delta(head, query) : 0.0f;
      each_row<M>([&](int m, int h) {
        float &weight = s.pair(m, n, h)[c], kept = 1;
        weight = fast_exp2(weight - of_row.largest) * of_row.factor;
        if (p.dropped) {
          const int key = first + lane_row(m, h);
          kept = (queries(stage).behind(query - i)[key / 32] >> key % 32 & 1) != 0 ? p.factor : 0.0f;
        }
        if constexpr (of_keys) {
          float& gradient = ds.pair(m, n, h)[c];
          gradient = weight * fmaf(gradient, kept, -delta);
        }
        weight *= kept;
      });
    });
    if constexpr (of_values) add_product(value_sums, s, grads(stage));
    if constexpr (of_keys) add_product(key_sums, ds, queries(stage));
  });
  if constexpr (of_values) store_rows(value_sums, b.grad_v, group, row, p.keys, p.value_width, 1.0f);
  if constexpr (of_keys) store_rows(key_sums, b.grad_k, group, row, p.keys, p.width, p.scale);
}

// ---- host

template <class S>
Heads<S> heads_of(const Tensor& t) {
  return {t.ptr<std::remove_const_t<S>>(), t.stride(0), t.stride(1), t.stride(2), static_cast<int>(t.size(1))};
}

Row* statistics_of(const Tensor& rows) { return reinterpret_cast<Row*>(rows.ptr<float>()); }

// Whether rows start at multiples of 16 bytes and end at them.
bool whole_packs(const Tensor& t) {
  const auto fit = [&](int64_t elements) { return elements * t.element_size() % 16 == 0; };
  bool whole = reinterpret_cast<std::uintptr_t>(t.data_ptr()) % 16 == 0 && fit(t.size(3));
  for (int64_t d = 0; d < 3; ++d) whole = whole && (t.size(d) == 1 || fit(t.stride(d)));
  return whole;
}

template <class S>
AttentionProblem<S> problem_of(Context& c, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                               const AttentionRule& rule) {
  ScoreMask<S> added{};
  if (mask.defined()) {
    const bool visible = mask.dtype() == kBool;
    added = {visible ? mask.ptr<bool>() : nullptr,
             visible ? nullptr : mask.ptr<S>(),
             mask.stride(0),
             mask.stride(1),
             mask.stride(2),
             mask.stride(3),
             static_cast<int>(mask.size(1))};
  }
  return {.q = heads_of<const S>(q),
          .k = heads_of<const S>(k),
          .v = heads_of<const S>(v),
          .mask = added,
          .heads = static_cast<int>(q.size(0) * q.size(1)),
          .shared = static_cast<int>(q.size(1) / k.size(1)),
          .queries = static_cast<int>(q.size(2)),
          .keys = static_cast<int>(k.size(2)),
          .width = static_cast<int>(q.size(3)),
          .value_width = static_cast<int>(v.size(3)),
          .scale = static_cast<float>(rule.scale),
          .scale_log2e = static_cast<float>(rule.scale * std::numbers::log2e),
          .causal = rule.causal,
          .dropped = rule.dropout > 0,
          .whole_packs = whole_packs(q) && whole_packs(k) && whole_packs(v),
          .before = rule.before,
          .draw = rule.dropout > 0 ? replayed_draw(c, rule.draw) : ReplayedDraw{},
          .kept = ops::Hit(1 - rule.dropout),
          .factor = static_cast<float>(1 / (1 - rule.dropout))};
}

constexpr int64_t kMostFeatures = 256;

// Calls run(kWidth) as a constant, with the smallest width of tiles that has room for q and v.
template <class Run>
void by_width(const Tensor& q, const Tensor& v, Run run) {
  const int64_t features = std::max(q.size(3), v.size(3));
  if (features <= 32) return run(std::integral_constant<int, 32>());
  if (features <= 64) return run(std::integral_constant<int, 64>());
  if (features <= 128) return run(std::integral_constant<int, 128>());
  run(std::integral_constant<int, kMostFeatures>());
}

using Stored = TypeList<float, Half, BFloat16>;
bool fits(ScalarType type, int64_t features) { return is_strict() || (type != kDouble && features <= kMostFeatures); }

void forward(const Tensor& out, const Tensor& rows, const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor& mask, const AttentionRule& rule) {
  if (is_strict()) return strict::attention(out, rows, q, k, v, mask, rule);
  dispatch(q.dtype(), Stored{}, "attention", [&]<class S>(Type<S>) {
    by_width(q, v, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      using C = Cut<S, kWidth>;
      constexpr int M = C::kForwardTiles;
      Context& c = context(out.device());
      const int64_t blocks = ceil_div(q.size(2), C::rows(M));
      launch("attention", c, {q.size(0) * q.size(1) * blocks, C::kThreads, C::kForwardBytes}, attend<S, kWidth>,
             problem_of<S>(c, q, k, v, mask, rule), heads_of<S>(out), statistics_of(rows), static_cast<int>(blocks));
    });
  });
}

void backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out, const Tensor& q,
              const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& rows, const Tensor& mask,
              const AttentionRule& rule) {
  if (is_strict()) return strict::attention_backward(grad_q, grad_k, grad_v, grad_out, q, k, v, out, rows, mask, rule);
  constexpr const char* kName = "attention_backward";
  dispatch(q.dtype(), Stored{}, kName, [&]<class S>(Type<S>) {
    Context& c = context(out.device());
    const int64_t heads = q.size(0) * q.size(1), groups = k.size(0) * k.size(1), queries = q.size(2);
    const Tensor deltas = empty_raw({heads, queries}, kFloat, rows.device());
    launch(kName, c, {ceil_div(heads * queries, 8), 256}, attention_deltas<S>, deltas.ptr<float>(),
           heads_of<const S>(grad_out), heads_of<const S>(out), heads * queries, static_cast<int>(queries),
           static_cast<int>(v.size(3)));
    Backward<S> b{problem_of<S>(c, q, k, v, mask, rule),
                  heads_of<const S>(grad_out),
                  heads_of<S>(grad_q),
                  heads_of<S>(grad_k),
                  heads_of<S>(grad_v),
                  statistics_of(rows),
                  deltas.ptr<float>()};
    b.p.whole_packs = b.p.whole_packs && whole_packs(grad_out);
    by_width(q, v, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      using C = Cut<S, kWidth>;
      constexpr int M = C::kBackwardTiles;
      const int64_t query_blocks = ceil_div(queries, C::rows(M)), key_blocks = ceil_div(k.size(2), C::rows(M));
      launch(kName, c, {heads * query_blocks, C::kThreads, C::kQueryBytes}, query_gradient<S, kWidth>, b,
             static_cast<int>(query_blocks));
      const Grid grid{groups * key_blocks, C::kThreads, C::kKeyBytes};
      const int count = static_cast<int>(groups);
      if constexpr (C::kBoth) {
        launch(kName, c, grid, key_gradients<S, kWidth, true, true>, b, count);
      } else {
        launch(kName, c, grid, key_gradients<S, kWidth, true, false>, b, count);
        launch(kName, c, grid, key_gradients<S, kWidth, false, true>, b, count);
      }
    });
  });
}

}  // namespace

constinit const AttentionKernels attention_kernels{
    .forward = {forward, kTakesHalf}, .backward = {backward, kTakesHalf}, .fits = fits};

}  // namespace tandem::cuda_impl
