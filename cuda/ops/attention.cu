// Attention on CUDA by blocks of queries and keys, as on the CPU (core/cpu/attention.cpp): memory for the scores of a block
// only. Backward computes them again, once for the gradient of the queries and once for those of keys and values, so that
// each is summed in a fixed order. Blocks depend on the size of a head alone, so a row's bits depend on nothing else in its
// batch.
#include <algorithm>

#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/attention_scores.h"
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
__device__ void store_rows(const Sums<M, N>& sums, const Heads<S>& to, int head, int row, int rows, int width,
                           float factor) {
  TANDEM_UNROLL
  for (int m = 0; m < M; ++m) TANDEM_UNROLL
  for (int x = 0; x < 4; ++x) {
    const int r = row + lane_row(m, x / 2), column = lane_column() + x % 2;
    if (r >= rows) continue;
    S* at = to.at(head, r);
    TANDEM_UNROLL
    for (int n = 0; n < N; ++n)
      if (8 * n + column < width) at[8 * n + column] = static_cast<S>(sums.at[m][n][x] * factor);
  }
}

struct Largest {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

// A row's largest score so far and this lane's part of the sum of exp(score - largest).
struct Running {
  float largest = kHiddenScore, sum = 0;
};

// Turns the scores of row (m, h) into exp(score - largest), and returns what scales earlier sums to the new largest.
template <int M, int N>
__device__ float online_softmax(Sums<M, N>& s, int m, int h, Running& running) {
  float most = running.largest;
  TANDEM_UNROLL
  for (int n = 0; n < N; ++n)
    for (int c = 0; c < 2; ++c) most = Largest()(s.at[m][n][2 * h + c], most);
  most = fold_warp(most, Largest(), 4);
  const float base = most == kHiddenScore ? 0.0f : most, correction = fast_exp(running.largest - base);
  float sum = 0;
  TANDEM_UNROLL
  for (int n = 0; n < N; ++n)
    for (int c = 0; c < 2; ++c) {
      float& x = s.at[m][n][2 * h + c];
      x = fast_exp(x - base);
      sum += x;
    }
  running = {most, running.sum * correction + sum};
  return correction;
}

template <class S, int kWidth>
__global__ void __launch_bounds__(Cut<S, kWidth>::kThreads)
    attend(AttentionProblem<S> p, Heads<S> out, float* lse, int query_blocks) {
  using C = Cut<S, kWidth>;
  constexpr int M = C::kForwardTiles, kRows = C::rows(M), kColumns = C::kForwardColumns;
  // The longest blocks of a causal problem come first.
  const int bh = static_cast<int>(blockIdx.x) % p.heads, group = bh / p.shared;
  const int i = (query_blocks - 1 - static_cast<int>(blockIdx.x) / p.heads) * kRows;
  const auto queries = shared_tile<S, kWidth>(0);
  const auto keys = [](int stage) { return shared_tile<S, kWidth>(kRows + stage * kColumns); };
  const auto values = [](int stage) { return shared_tile<S, kWidth>(kRows + (2 + stage) * kColumns); };
  queries.template load<kRows, C::kThreads>(p.q.at(bh, i), p.q.row, p.queries - i, p.width, p.whole_packs);

  const int first = 16 * M * warp();
  const Generator::Draw draw = p.dropped ? p.draw.now() : Generator::Draw{};
  Sums<M, kWidth / 8> sums;
  sums.clear();
  Running running[M][2];
  each_visible((p.keys + kColumns - 1) / kColumns,
               [&](int block) { return p.template any_visible<C::kThreads>(bh, i, kRows, block * kColumns, kColumns); },
               [&](int block, int stage) {
                 const int j = block * kColumns;
                 keys(stage).template load<kColumns, C::kThreads>(p.k.at(group, j), p.k.row, p.keys - j, p.width,
                                                                  p.whole_packs);
                 values(stage).template load<kColumns, C::kThreads>(p.v.at(group, j), p.v.row, p.keys - j,
                                                                    p.value_width, p.whole_packs);
               },
               [&](int block, int stage) {
                 const int j = block * kColumns;
                 Sums<M, kColumns / 8> s;
                 multiply_rows(s, queries, first, keys(stage));
                 finish_scores<false>(s, p, bh, i + first, j);
                 TANDEM_UNROLL
                 for (int m = 0; m < M; ++m) TANDEM_UNROLL
                 for (int h = 0; h < 2; ++h) {
                   const float correction = online_softmax(s, m, h, running[m][h]);
                   TANDEM_UNROLL
                   for (int n = 0; n < kWidth / 8; ++n)
                     for (int c = 0; c < 2; ++c) sums.at[m][n][2 * h + c] *= correction;
                   if (!p.dropped) continue;
                   const int64_t element = p.element(bh, i + first + lane_row(m, h), j + lane_column());
                   TANDEM_UNROLL
                   for (int n = 0; n < kColumns / 8; ++n) {
                     const DropoutPair factors(p, draw, element + 8 * n);
                     for (int c = 0; c < 2; ++c) s.at[m][n][2 * h + c] *= factors.at[c];
                   }
                 }
                 add_product(sums, s, values(stage));
               });
  TANDEM_UNROLL
  for (int m = 0; m < M; ++m) TANDEM_UNROLL
  for (int h = 0; h < 2; ++h) {
    const float sum = fold_warp(running[m][h].sum, Plus(), 4), factor = 1.0f / sum;
    TANDEM_UNROLL
    for (int n = 0; n < kWidth / 8; ++n)
      for (int c = 0; c < 2; ++c) {
        float& x = sums.at[m][n][2 * h + c];
        x = sum == 0 ? 0.0f : x * factor;
      }
    const int row = i + first + lane_row(m, h);
    if (row < p.queries && lane_column() == 0)
      lse[int64_t{bh} * p.queries + row] = sum == 0 ? -kHiddenScore : running[m][h].largest + std::log(sum);
  }
  store_rows(sums, out, bh, i + first, p.queries, p.value_width, 1.0f);
}

// deltas[row] = Σ grad_out out: a warp a row.
template <class S>
__global__ void __launch_bounds__(256)
    attention_deltas(float* deltas, Heads<const S> grad_out, Heads<const S> out, int64_t rows, int queries, int width) {
  const int64_t row = int64_t{blockIdx.x} * 8 + threadIdx.x / 32;
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
  const float *lse, *deltas;
};

// grad_q = scale ds k with ds = w (f g vᵀ - delta), where w is the softmax and f what dropout multiplies it by.
template <class S, int kWidth>
__global__ void __launch_bounds__(Cut<S, kWidth>::kThreads) query_gradient(Backward<S> b, int query_blocks) {
  using C = Cut<S, kWidth>;
  constexpr int M = C::kBackwardTiles, kRows = C::rows(M), kColumns = C::kQueryColumns;
  const AttentionProblem<S>& p = b.p;
  const int bh = static_cast<int>(blockIdx.x) % p.heads, group = bh / p.shared;
  const int i = (query_blocks - 1 - static_cast<int>(blockIdx.x) / p.heads) * kRows;
  const auto queries = shared_tile<S, kWidth>(0), grads = shared_tile<S, kWidth>(kRows);
  const auto keys = [](int stage) { return shared_tile<S, kWidth>(2 * kRows + stage * kColumns); };
  const auto values = [](int stage) { return shared_tile<S, kWidth>(2 * kRows + (2 + stage) * kColumns); };
  queries.template load<kRows, C::kThreads>(p.q.at(bh, i), p.q.row, p.queries - i, p.width, p.whole_packs);
  grads.template load<kRows, C::kThreads>(b.grad_out.at(bh, i), b.grad_out.row, p.queries - i, p.value_width,
                                          p.whole_packs);

  const int first = 16 * M * warp();
  const Generator::Draw draw = p.dropped ? p.draw.now() : Generator::Draw{};
  float lse[M][2], delta[M][2];
  TANDEM_UNROLL
  for (int m = 0; m < M; ++m)
    for (int h = 0; h < 2; ++h) {
      const int row = i + first + lane_row(m, h);
      const int64_t at = int64_t{bh} * p.queries + row;
      lse[m][h] = row < p.queries ? b.lse[at] : -kHiddenScore;
      delta[m][h] = row < p.queries ? b.deltas[at] : 0.0f;
    }
  Sums<M, kWidth / 8> sums;
  sums.clear();
  each_visible((p.keys + kColumns - 1) / kColumns,
               [&](int block) { return p.template any_visible<C::kThreads>(bh, i, kRows, block * kColumns, kColumns); },
               [&](int block, int stage) {
                 const int j = block * kColumns;
                 keys(stage).template load<kColumns, C::kThreads>(p.k.at(group, j), p.k.row, p.keys - j, p.width,
                                                                  p.whole_packs);
                 values(stage).template load<kColumns, C::kThreads>(p.v.at(group, j), p.v.row, p.keys - j,
                                                                    p.value_width, p.whole_packs);
               },
               [&](int block, int stage) {
                 const int j = block * kColumns;
                 Sums<M, kColumns / 8> s, ds;
                 multiply_rows(s, queries, first, keys(stage));
                 finish_scores<false>(s, p, bh, i + first, j);
                 multiply_rows(ds, grads, first, values(stage));
                 TANDEM_UNROLL
                 for (int m = 0; m < M; ++m) TANDEM_UNROLL
                 for (int h = 0; h < 2; ++h) {
                   const int64_t element = p.element(bh, i + first + lane_row(m, h), j + lane_column());
                   TANDEM_UNROLL
                   for (int n = 0; n < kColumns / 8; ++n) {
                     const DropoutPair factors(p, draw, element + 8 * n);
                     for (int c = 0; c < 2; ++c) {
                       float& x = ds.at[m][n][2 * h + c];
                       x = fast_exp(s.at[m][n][2 * h + c] - lse[m][h]) * (x * factors.at[c] - delta[m][h]);
                     }
                   }
                 }
                 add_product(sums, ds, keys(stage));
               });
  store_rows(sums, b.grad_q, bh, i + first, p.queries, p.width, p.scale);
}

// grad_v = (w f)ᵀ g and grad_k = scale dsᵀ q, summed over the queries of the heads that share these keys.
template <class S, int kWidth, bool of_keys, bool of_values>
__global__ void __launch_bounds__(Cut<S, kWidth>::kThreads) key_gradients(Backward<S> b, int groups) {
  using C = Cut<S, kWidth>;
  constexpr int M = C::kBackwardTiles, kRows = C::rows(M), kColumns = C::kKeyColumns;
  const AttentionProblem<S>& p = b.p;
  const int group = static_cast<int>(blockIdx.x) % groups, j = static_cast<int>(blockIdx.x) / groups * kRows;
  const auto keys = shared_tile<S, kWidth>(0), values = shared_tile<S, kWidth>(kRows);
  const auto queries = [](int stage) { return shared_tile<S, kWidth>(2 * kRows + stage * kColumns); };
  const auto grads = [](int stage) { return shared_tile<S, kWidth>(2 * kRows + (2 + stage) * kColumns); };
  keys.template load<kRows, C::kThreads>(p.k.at(group, j), p.k.row, p.keys - j, p.width, p.whole_packs);
  values.template load<kRows, C::kThreads>(p.v.at(group, j), p.v.row, p.keys - j, p.value_width, p.whole_packs);

  const int first = 16 * M * warp();
  const Generator::Draw draw = p.dropped ? p.draw.now() : Generator::Draw{};
  Sums<M, kWidth / 8> key_sums, value_sums;
  key_sums.clear();
  value_sums.clear();
  // A place is a block of queries of one of the heads.
  const int blocks = (p.queries + kColumns - 1) / kColumns;
  const auto head_of = [&](int place) { return group * p.shared + place / blocks; };
  each_visible(
      p.shared * blocks,
      [&](int place) {
        return p.template any_visible<C::kThreads>(head_of(place), place % blocks * kColumns, kColumns, j, kRows);
      },
      [&](int place, int stage) {
        const int bh = head_of(place), i = place % blocks * kColumns;
        queries(stage).template load<kColumns, C::kThreads>(p.q.at(bh, i), p.q.row, p.queries - i, p.width,
                                                            p.whole_packs);
        grads(stage).template load<kColumns, C::kThreads>(b.grad_out.at(bh, i), b.grad_out.row, p.queries - i,
                                                          p.value_width, p.whole_packs);
      },
      [&](int place, int stage) {
        const int bh = head_of(place), i = place % blocks * kColumns;
        Sums<M, kColumns / 8> s, ds;
        multiply_rows(s, keys, first, queries(stage));
        finish_scores<true>(s, p, bh, j + first, i);
        if constexpr (of_keys) multiply_rows(ds, values, first, grads(stage));
        TANDEM_UNROLL
        for (int n = 0; n < kColumns / 8; ++n) TANDEM_UNROLL
        for (int c = 0; c < 2; ++c) {
          const int query = i + 8 * n + lane_column() + c;
          const int64_t at = int64_t{bh} * p.queries + query;
          const float lse = query < p.queries ? b.lse[at] : -kHiddenScore;
          const float delta = of_keys && query < p.queries ? b.deltas[at] : 0.0f;
          TANDEM_UNROLL
          for (int m = 0; m < M; ++m) TANDEM_UNROLL
          for (int h = 0; h < 2; ++h) {
            const int x = 2 * h + c;
            float& weight = s.at[m][n][x];
            weight = fast_exp(weight - lse);
            const float factor = p.factor_of(draw, p.element(bh, query, j + first + lane_row(m, h)));
            if constexpr (of_keys) ds.at[m][n][x] = weight * (ds.at[m][n][x] * factor - delta);
            weight *= factor;
          }
        }
        if constexpr (of_values) add_product(value_sums, s, grads(stage));
        if constexpr (of_keys) add_product(key_sums, ds, queries(stage));
      });
  if constexpr (of_values) store_rows(value_sums, b.grad_v, group, j + first, p.keys, p.value_width, 1.0f);
  if constexpr (of_keys) store_rows(key_sums, b.grad_k, group, j + first, p.keys, p.width, p.scale);
}

// ---- host

template <class S>
Heads<S> heads_of(const Tensor& t) {
  return {t.ptr<std::remove_const_t<S>>(), t.stride(0), t.stride(1), t.stride(2), static_cast<int>(t.size(1))};
}

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
bool fits(ScalarType type, int64_t features) { return type != kDouble && features <= kMostFeatures; }

void forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor& mask, const AttentionRule& rule) {
  dispatch(q.dtype(), Stored{}, "attention", [&]<class S>(Type<S>) {
    by_width(q, v, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      using C = Cut<S, kWidth>;
      constexpr int M = C::kForwardTiles;
      Context& c = context(out.device());
      const int64_t blocks = ceil_div(q.size(2), C::rows(M));
      launch("attention", c, {q.size(0) * q.size(1) * blocks, C::kThreads, C::shared_bytes(1, M, C::kForwardColumns)},
             attend<S, kWidth>, problem_of<S>(c, q, k, v, mask, rule), heads_of<S>(out), lse.ptr<float>(),
             static_cast<int>(blocks));
    });
  });
}

void backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out, const Tensor& q,
              const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse, const Tensor& mask,
              const AttentionRule& rule) {
  constexpr const char* kName = "attention_backward";
  dispatch(q.dtype(), Stored{}, kName, [&]<class S>(Type<S>) {
    Context& c = context(out.device());
    const int64_t heads = q.size(0) * q.size(1), groups = k.size(0) * k.size(1), queries = q.size(2);
    const Tensor deltas = empty_raw({heads, queries}, kFloat, lse.device());
    launch(kName, c, {ceil_div(heads * queries, 8), 256}, attention_deltas<S>, deltas.ptr<float>(),
           heads_of<const S>(grad_out), heads_of<const S>(out), heads * queries, static_cast<int>(queries),
           static_cast<int>(v.size(3)));
    Backward<S> b{problem_of<S>(c, q, k, v, mask, rule),
                  heads_of<const S>(grad_out),
                  heads_of<S>(grad_q),
                  heads_of<S>(grad_k),
                  heads_of<S>(grad_v),
                  lse.ptr<float>(),
                  deltas.ptr<float>()};
    b.p.whole_packs = b.p.whole_packs && whole_packs(grad_out);
    by_width(q, v, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      using C = Cut<S, kWidth>;
      constexpr int M = C::kBackwardTiles;
      const int64_t query_blocks = ceil_div(queries, C::rows(M)), key_blocks = ceil_div(k.size(2), C::rows(M));
      launch(kName, c, {heads * query_blocks, C::kThreads, C::shared_bytes(2, M, C::kQueryColumns)},
             query_gradient<S, kWidth>, b, static_cast<int>(query_blocks));
      const Grid grid{groups * key_blocks, C::kThreads, C::shared_bytes(2, M, C::kKeyColumns)};
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
