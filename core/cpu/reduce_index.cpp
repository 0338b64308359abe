// max and min along one dimension, with the first index of the extreme, on the CPU.
#include "tandem/core/backend/reduce.h"
#include "tandem/core/cpu/reduce_loop.h"

namespace tandem::cpu {
namespace {

using namespace folds;

template <class T>
struct Found {
  T value;
  int64_t index;
};

// Rows with one output each: the extreme value per block of 1024, then its position in the best block.
template <class T, class Order>
struct RowSearch {
  static constexpr int64_t kBlock = 1024;
  static constexpr int kWide = std::max<int>(16, 256 / static_cast<int>(sizeof(T)));

  static T extreme(const T* x, int64_t stride, int64_t n) {
    T best = Order::worst();
    int64_t i = 0;
    if (stride == 1 && n >= kWide) {
      T lanes[kWide];
      for (int k = 0; k < kWide; ++k) lanes[k] = x[k];
      for (i = kWide; i + kWide <= n; i += kWide)
        for (int k = 0; k < kWide; ++k) lanes[k] = Order::better(lanes[k], x[i + k]) ? x[i + k] : lanes[k];
      for (int width = kWide / 2; width > 0; width /= 2)
        for (int k = 0; k < width; ++k)
          lanes[k] = Order::better(lanes[k], lanes[k + width]) ? lanes[k + width] : lanes[k];
      best = lanes[0];
    }
    for (; i < n; ++i) best = Order::better(best, x[i * stride]) ? x[i * stride] : best;
    return best;
  }

  static Found<T> few(const T* x, int64_t stride, int64_t begin, int64_t end) {
    Found<T> best{x[begin * stride], begin};
    for (int64_t i = begin + 1; i < end; ++i)
      if (Order::better(best.value, x[i * stride])) best = {x[i * stride], i};
    return best;
  }

  static Found<T> run(const T* x, int64_t stride, int64_t begin, int64_t end) {
    if (end - begin < 32) return few(x, stride, begin, end);
    Found<T> best{};
    for (int64_t i = begin; i < end; i += kBlock) {
      const T value = extreme(x + i * stride, stride, std::min(kBlock, end - i));
      if (i == begin || Order::better(best.value, value)) best = {value, i};
    }
    const bool nan = best.value != best.value;
    while (nan ? x[best.index * stride] == x[best.index * stride] : x[best.index * stride] != best.value) ++best.index;
    return {x[best.index * stride], best.index};  // of zeros, the first one's sign
  }
};

// Columns: a tile of adjacent outputs. Indices are as wide as the values where possible.
template <class T, class Order>
struct ColumnSearch {
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr int64_t kTile = 512;

  template <class Column>
  static void run(T* __restrict value, Index* __restrict index, const T* x, int64_t row, int64_t begin, int64_t end,
                  int64_t width, Column column) {
    for (int64_t j = 0; j < width; ++j) {
      value[j] = x[begin * row + j * column];
      index[j] = static_cast<Index>(begin);
    }
    for (int64_t i = begin + 1; i < end; ++i) {
      const T* from = x + i * row;
      const Index at = static_cast<Index>(i);
      for (int64_t j = 0; j < width; ++j) {
        const bool better = Order::better(value[j], from[j * column]);
        value[j] = better ? from[j * column] : value[j];
        index[j] = better ? at : index[j];
      }
    }
  }
};

template <class T, class Order>
class Search {
 public:
  Search(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim)
      : plan_(make_reduce_plan(values, in, 1u << dim, ColumnSearch<T, Order>::kTile, 1)),
        values_(values.ptr<T>()),
        indices_(indices.ptr<int64_t>()),
        in_(in.ptr<T>()) {}

  void run() {
    if (plan_.outputs == 0 || plan_.reduced == 0) return;
    if (plan_.parts > 1) partial_ = memory_.resize(plan_.parts * plan_.outputs);
    const int64_t work = plan_.part_size * plan_.tile;
    parallel_for_each(plan_.units * plan_.parts, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
                      [&](int64_t t) { plan_.outer ? column_task(t) : row_task(t); });
    if (plan_.parts > 1) join();
  }

 private:
  int64_t part_end(int64_t from) const { return std::min(from + plan_.part_size, plan_.reduced); }
  void put(int64_t to, Found<T> found) {
    values_[to] = found.value;
    indices_[to] = found.index;
  }

  void row_task(int64_t t) {
    const int64_t from = t / plan_.units * plan_.part_size;
    const KeptWalk at(plan_, t % plan_.units);
    const auto found = RowSearch<T, Order>::run(in_ + at.in, plan_.strides[0], from, part_end(from));
    if (partial_ != nullptr)
      partial_[t] = found;
    else
      put(at.out, found);
  }

  void column_task(int64_t t) {
    using Columns = ColumnSearch<T, Order>;
    T value[Columns::kTile];
    typename Columns::Index index[Columns::kTile];
    const int64_t part = t / plan_.units, from = part * plan_.part_size, unit = t % plan_.units;
    const KeptWalk at(plan_, unit / plan_.tiles);
    const int64_t column = unit % plan_.tiles * plan_.tile, width = std::min(plan_.tile, plan_.width - column);
    const T* x = in_ + at.in + column * plan_.width_in;
    if (plan_.width_in == 1)
      Columns::run(value, index, x, plan_.strides[0], from, part_end(from), width, One{});
    else
      Columns::run(value, index, x, plan_.strides[0], from, part_end(from), width, plan_.width_in);
    const int64_t place = part * plan_.outputs + unit / plan_.tiles * plan_.width + column;
    for (int64_t j = 0; j < width; ++j) {
      const Found<T> found{value[j], index[j]};
      if (partial_ != nullptr)
        partial_[place + j] = found;
      else
        put(at.out + (column + j) * plan_.width_out, found);
    }
  }

  void join() {
    KeptWalk at(plan_, 0);
    for (int64_t o = 0; o < plan_.outputs; o += plan_.width, at.next())
      for (int64_t j = 0; j < plan_.width; ++j) {
        Found<T> best = partial_[o + j];
        for (int64_t part = 1; part < plan_.parts; ++part)
          if (const auto& next = partial_[part * plan_.outputs + o + j]; Order::better(best.value, next.value))
            best = next;
        put(at.out + j * plan_.width_out, best);
      }
  }

  const ReducePlan plan_;
  T* const values_;
  int64_t* const indices_;
  const T* const in_;
  Workspace<Found<T>> memory_;
  Found<T>* partial_ = nullptr;
};

template <template <class> class Order>
void search(const char* name, const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim) {
  if (in.dim() == 0) {
    copy_raw(values, in);
    fill_raw(indices, 0);
    return;
  }
  dispatch(in.dtype(), ComputedTypes{}, name,
           [&]<class T>(Type<T>) { Search<T, Order<T>>(values, indices, in, dim).run(); });
}

}  // namespace

void max_index(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim) {
  search<Largest>("max", values, indices, in, dim);
}
void min_index(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim) {
  search<Smallest>("min", values, indices, in, dim);
}

}  // namespace tandem::cpu
