// The loops of all reductions that fold values into an accumulator (core/formulas/reduce_ops.h).
//
// Accuracy: blocks are folded over many lanes and then combined pairwise (Cascade). The order depends only on the reduced
// dimensions and, in the outer layout, on the size of the last kept one.
#pragma once
#include <algorithm>
#include <bit>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/cpu/moments.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/reduce_plan.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/formulas/reduce_ops.h"
#include "tandem/core/memory_format.h"

namespace tandem::cpu {

using folds::finish_value;
using folds::map_value;

/// Combines the results of equal blocks pairwise, like the carries of a binary counter.
template <class R>
class Cascade {
 public:
  using Acc = typename R::Acc;
  explicit Cascade(const R& r) : r_(r) {}
  void push(Acc value) {
    int level = 0;
    for (uint64_t c = count_++; c & 1u; c >>= 1) value = r_.combine(levels_[level++], value);
    levels_[level] = value;
  }
  Acc finish(Acc rest) const {
    for (int level = 0; level < 64; ++level) {
      if ((count_ >> level) == 0) break;
      if (count_ >> level & 1u) rest = r_.combine(levels_[level], rest);
    }
    return rest;
  }

 private:
  const R& r_;
  uint64_t count_ = 0;
  Acc levels_[48];
};

// ---- inner layout: one output, runs of reduced elements

template <class R>
struct InnerFold {
  using In = typename R::In;
  using Acc = typename R::Acc;
  using Out = typename R::Out;
  static constexpr int kWide = std::max<int>(16, 256 / static_cast<int>(sizeof(Acc)));
  static constexpr bool kMoments = std::is_same_v<Acc, folds::Moments<In>>;
  static constexpr int64_t kBlock = kMoments ? 2048 : 32 * kWide;

  [[gnu::noinline]] static Acc fold(const R& r, Acc* lanes) {
    for (int width = kWide / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lanes[k] = r.combine(lanes[k], lanes[k + width]);
    return lanes[0];
  }

  // lanes[i % kWide] takes x[i].
  [[gnu::noinline]] static void accumulate(const R& r, Acc* __restrict to, const In* x, int64_t stride, int64_t n,
                                           Out p) {
    Acc lanes[kWide];
    for (int k = 0; k < kWide; ++k) lanes[k] = to[k];
    int64_t i = 0;
    if (stride == 1) {
      for (; i + kWide <= n; i += kWide)
        for (int k = 0; k < kWide; ++k) lanes[k] = r.combine(lanes[k], map_value(r, x[i + k], p));
    } else {
      for (; i + kWide <= n; i += kWide)
        for (int k = 0; k < kWide; ++k) lanes[k] = r.combine(lanes[k], map_value(r, x[(i + k) * stride], p));
    }
    for (int k = 0; k < kWide; ++k) to[k] = lanes[k];
    for (int k = 0; i < n; ++i, ++k) to[k] = r.combine(to[k], map_value(r, x[i * stride], p));
  }

  // Few elements: folds them sequentially.
  static Acc few(const R& r, const In* x, int64_t stride, int64_t n, Out p) {
    if constexpr (std::is_same_v<R,
                                 folds::Mean<In>>) {  // in double, because x - mean magnifies rounding errors
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i * stride]);
      return static_cast<Acc>(sum);
    }
    Acc acc = r.identity();
    for (int64_t i = 0; i < n; ++i) acc = r.combine(acc, map_value(r, x[i * stride], p));
    return acc;
  }

  // Moments of contiguous runs, where vectors of structs would be slow.
  static Acc contiguous(const R& r, const ReducePlan& plan, const In* x, int64_t begin, int64_t end, Out p) {
    Cascade<R> cascade(r);
    Acc acc = r.identity();
    int64_t left = kBlock;
    for_reduced_runs(plan, begin, end, [&](int64_t offset, int64_t n) {
      while (n > 0) {
        const int64_t count = std::min(n, left);
        acc = r.combine(acc, run_moments(x + offset, count, p));
        offset += count;
        n -= count;
        if ((left -= count) > 0) continue;
        cascade.push(acc);
        acc = r.identity();
        left = kBlock;
      }
    });
    return cascade.finish(acc);
  }

  [[gnu::noinline]] static Acc range(const R& r, const ReducePlan& plan, const In* x, int64_t begin, int64_t end,
                                     Out p) {
    if (plan.sizes.size() == 1 && plan.reduced < 32)
      return few(r, x + begin * plan.strides[0], plan.strides[0], end - begin, p);
    if constexpr (kMoments)
      if (plan.strides.back() == 1) return contiguous(r, plan, x, begin, end, p);
    alignas(64) Acc lanes[kWide];
    for (Acc& lane : lanes) lane = r.identity();
    Cascade<R> cascade(r);
    int64_t left = kBlock;
    const int64_t stride = plan.strides.back();
    for_reduced_runs(plan, begin, end, [&](int64_t offset, int64_t n) {
      const In* run = x + offset;
      while (n > 0) {
        const int64_t count = std::min(n, left);
        accumulate(r, lanes, run, stride, count, p);
        run += count * stride;
        n -= count;
        if ((left -= count) > 0) continue;
        cascade.push(fold(r, lanes));
        for (Acc& lane : lanes) lane = r.identity();
        left = kBlock;
      }
    });
    return cascade.finish(fold(r, lanes));
  }
};

// ---- outer layout: a tile of outputs, rows of reduced elements

/// The distance of neighbours as a constant.
struct One {
  friend int64_t operator*(int64_t j, One) { return j; }
};

template <class R>
struct OuterFold {
  using In = typename R::In;
  using Acc = typename R::Acc;
  using Out = typename R::Out;
  static constexpr int64_t kTile = 4096 / static_cast<int64_t>(sizeof(Acc));

  // Folds x[i * row + j * column] for i < rows into acc[j].
  template <class Column>
  [[gnu::noinline]] static void fold_rows(const R& r, Acc* __restrict acc, const In* x, int64_t row, int64_t rows,
                                          int64_t width, Column column, const Out* p) {
    int64_t i = 0;
    const auto at = [&](const In* from, int64_t j) {
      return map_value(r, from[j * column], R::kParameter ? p[j] : Out());
    };
    for (; i + 4 <= rows; i += 4, x += 4 * row) {
      const In *x1 = x + row, *x2 = x1 + row, *x3 = x2 + row;
      for (int64_t j = 0; j < width; ++j)
        acc[j] = r.combine(acc[j], r.combine(r.combine(at(x, j), at(x1, j)), r.combine(at(x2, j), at(x3, j))));
    }
    for (; i < rows; ++i, x += row)
      for (int64_t j = 0; j < width; ++j) acc[j] = r.combine(acc[j], at(x, j));
  }

  // Narrow contiguous rows are processed several at once, as one wide row.
  [[gnu::noinline]] static void narrow(const R& r, Acc* acc, const In* x, int64_t rows, int64_t width, const Out* p) {
    const int64_t group = 128 / width, wide = group * width, groups = rows / group;
    Acc lanes[128];
    [[maybe_unused]] Out parameters[R::kParameter ? 128 : 1];
    for (int64_t j = 0; j < wide; ++j) {
      lanes[j] = r.identity();
      if constexpr (R::kParameter) parameters[j] = p[j % width];
    }
    fold_rows(r, lanes, x, wide, groups, wide, One{}, parameters);
    for (int64_t g = 0; g < group; ++g)
      for (int64_t j = 0; j < width; ++j) acc[j] = r.combine(acc[j], lanes[g * width + j]);
    fold_rows(r, acc, x + groups * wide, width, rows - groups * group, width, One{}, p);
  }

  static void rows(const R& r, Acc* acc, const In* x, int64_t row, int64_t count, int64_t width, int64_t column,
                   const Out* p) {
    if (column != 1) return fold_rows(r, acc, x, row, count, width, column, p);
    if (row == width && width <= 32 && count * width >= 256) return narrow(r, acc, x, count, width, p);
    fold_rows(r, acc, x, row, count, width, One{}, p);
  }

  // Folds the rows [begin, end) of one tile into acc.
  [[gnu::noinline]] static void range(const R& r, const ReducePlan& plan, Acc* acc, const In* x, int64_t begin,
                                      int64_t end, int64_t width, const Out* p) {
    const int levels_count = std::bit_width(static_cast<uint64_t>((end - begin) / plan.block)) + 1;
    Acc* levels = scratch<Acc>(Scratch::kReduceLevels, levels_count * width);
    uint64_t blocks = 0;
    int64_t left = plan.block;
    std::fill_n(acc, width, r.identity());
    for_reduced_runs(plan, begin, end, [&](int64_t offset, int64_t n) {
      const In* run = x + offset;
      const int64_t row = plan.strides.back();
      while (n > 0) {
        const int64_t count = std::min(n, left);
        rows(r, acc, run, row, count, width, plan.width_in, p);
        run += count * row;
        n -= count;
        if ((left -= count) > 0) continue;
        left = plan.block;
        push(r, levels, blocks++, acc, width);
      }
    });
    for (int level = 0; blocks >> level != 0; ++level)
      if (blocks >> level & 1u) combine(r, acc, levels + level * width, width);
  }

  static void combine(const R& r, Acc* __restrict to, const Acc* __restrict from, int64_t width) {
    for (int64_t j = 0; j < width; ++j) to[j] = r.combine(from[j], to[j]);
  }
  // Cascade for a whole tile.
  static void push(const R& r, Acc* levels, uint64_t count, Acc* acc, int64_t width) {
    int level = 0;
    for (; count & 1u; count >>= 1) combine(r, acc, levels + level++ * width, width);
    std::copy_n(acc, width, levels + level * width);
    std::fill_n(acc, width, r.identity());
  }
};

// ---- both layouts

template <class R>
class Reduction {
 public:
  using In = typename R::In;
  using Acc = typename R::Acc;
  using Out = typename R::Out;

  Reduction(const R& r, const Tensor& out, const Tensor& in, uint32_t mask, const Tensor* parameter)
      : r_(r),
        plan_(make_reduce_plan(out, in, mask, OuterFold<R>::kTile, InnerFold<R>::kBlock)),
        out_(out.ptr<Out>()),
        in_(in.ptr<In>()),
        parameter_(parameter != nullptr ? parameter->ptr<Out>() : nullptr) {}

  void run() {
    if (plan_.outputs == 0) return;
    if (plan_.parts > 1) partial_ = memory_.resize(plan_.parts * plan_.outputs);
    const int64_t work = plan_.part_size * plan_.tile;
    parallel_for(plan_.units * plan_.parts, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
                 [&](int64_t begin, int64_t end) {
                   if (plan_.outer)
                     outer_tasks(begin, end);
                   else
                     inner_tasks(begin, end);
                 });
    if (plan_.parts > 1) join();
  }

 private:
  // Tasks are ordered by part, then by unit.
  void inner_tasks(int64_t begin, int64_t end) {
    KeptWalk at(plan_, begin % plan_.units);
    for (int64_t t = begin; t < end; ++t, at.next()) {
      const int64_t from = (t / plan_.units) * plan_.part_size;
      const Out p = R::kParameter ? parameter_[at.out] : Out();
      const Acc acc = InnerFold<R>::range(r_, plan_, in_ + at.in, from, part_end(from), p);
      if (partial_ != nullptr)
        partial_[t] = acc;
      else
        out_[at.out] = finish_value(r_, acc, p);
    }
  }

  void outer_tasks(int64_t begin, int64_t end) {
    Acc acc[OuterFold<R>::kTile];
    Out parameters[R::kParameter ? OuterFold<R>::kTile : 1];
    for (int64_t t = begin; t < end; ++t) {
      const int64_t from = (t / plan_.units) * plan_.part_size, unit = t % plan_.units;
      const KeptWalk at(plan_, unit / plan_.tiles);
      const int64_t column = unit % plan_.tiles * plan_.tile, width = std::min(plan_.tile, plan_.width - column);
      const int64_t to = at.out + column * plan_.width_out;
      if constexpr (R::kParameter)
        for (int64_t j = 0; j < width; ++j) parameters[j] = parameter_[to + j * plan_.width_out];
      OuterFold<R>::range(r_, plan_, acc, in_ + at.in + column * plan_.width_in, from, part_end(from), width,
                          parameters);
      if (partial_ != nullptr)
        std::copy_n(acc, width, partial_ + t / plan_.units * plan_.outputs + unit / plan_.tiles * plan_.width + column);
      else
        for (int64_t j = 0; j < width; ++j)
          out_[to + j * plan_.width_out] = finish_value(r_, acc[j], R::kParameter ? parameters[j] : Out());
    }
  }

  int64_t part_end(int64_t from) const { return std::min(from + plan_.part_size, plan_.reduced); }

  void join() {
    KeptWalk at(plan_, 0);
    for (int64_t o = 0; o < plan_.outputs; o += plan_.width, at.next())
      for (int64_t j = 0; j < plan_.width; ++j) {
        Cascade<R> cascade(r_);
        const Acc* part = partial_ + o + j;
        for (int64_t left = plan_.parts; left > 1; --left, part += plan_.outputs) cascade.push(*part);
        const int64_t to = at.out + j * plan_.width_out;
        out_[to] = finish_value(r_, cascade.finish(*part), R::kParameter ? parameter_[to] : Out());
      }
  }

  const R& r_;
  const ReducePlan plan_;
  Out* const out_;
  const In* const in_;
  const Out* const parameter_;
  Workspace<Acc> memory_;
  Acc* partial_ = nullptr;
};

/// For ReduceMaker and ExtremeMaker (core/formulas/reduce_kernels.h).
struct ReduceLoops {
  template <class R>
  static void reduce(const char*, const R& r, const Tensor& out, const Tensor& in, uint32_t mask,
                     const Tensor* parameter = nullptr) {
    // Sums have the order of the strides: that of rows, for the same bits.
    const bool turned = is_channels_last(in.suggest_memory_format()) && !in.is_contiguous();
    Reduction<R>(r, out, turned ? row_major_copy(in) : in, mask, parameter).run();
  }
};

}  // namespace tandem::cpu
