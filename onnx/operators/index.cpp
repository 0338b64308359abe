// Operators that read, write, choose or count elements by their positions.
#include <algorithm>
#include <limits>
#include <map>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

Tensor positions(Call& c, std::size_t input) {
  const Tensor& t = c[input];
  check(t.scalar_type() == kLong || t.scalar_type() == kInt, "indices must be int64 or int32, got ", t);
  return t.to(kLong);
}
// Operations along one dimension know no negative positions.
Tensor wrapped(const Tensor& index, int64_t size) { return where(index < 0, index + size, index); }
// Sorting has no kernels for the half types.
using autograd::widened;

Tensor counted(int64_t n, const Tensor& like) { return arange(n, TensorOptions(kLong).device(like.device())); }
// 0 … n - 1 along dimension `at` of `rank`.
Tensor counted(int64_t n, int64_t at, int64_t rank, const Tensor& like) {
  return counted(n, like).view(line(static_cast<std::size_t>(rank), static_cast<std::size_t>(at), n));
}

Tensor gather_slices(Call& c) {
  const int64_t axis = wrap_axis(c.integer("axis", 0), c[0].dim());
  // One position, as exporters cut queries, keys and values apart: a view.
  if (c.is_constant(1) && c[1].dim() == 0) return select(c[0], axis, positions(c, 1).item<int64_t>());
  std::vector<Tensor> at(static_cast<std::size_t>(axis) + 1);
  at.back() = positions(c, 1);
  return index(c[0], at);
}

Tensor gather_elements(Call& c) {
  const int64_t axis = wrap_axis(c.integer("axis", 0), c[0].dim());
  return gather(c[0], axis, wrapped(positions(c, 1), c[0].size(axis)));
}

// One index per dimension: the batch dimensions, and those that the last dimension of `at` lists.
std::vector<Tensor> coordinates(const Tensor& data, const Tensor& at, int64_t batch) {
  check(at.dim() >= 1 && batch >= 0 && batch < at.dim() && batch <= data.dim(), "batch_dims ", batch,
        " is out of range\n  data    ", data, "\n  indices ", at);
  const int64_t count = at.size(-1);
  check(count >= 1 && count <= data.dim() - batch, "the last dimension of the indices must have a size from 1 to ",
        data.dim() - batch, ", got ", at);
  std::vector<Tensor> out;
  for (int64_t d = 0; d < batch; ++d) {
    check(at.size(d) == data.size(d), "sizes of batch dimension ", d, " differ\n  data    ", data, "\n  indices ", at);
    out.push_back(counted(data.size(d), d, at.dim() - 1, data));
  }
  for (int64_t i = 0; i < count; ++i) out.push_back(at.select(-1, i));
  return out;
}

// ---- scatter

// The fold for ONNX's name of a reduction, or "" for none.
std::string_view fold_of(Call& c) {
  const std::string name = c.text("reduction", "none");
  if (name == "none") return "";
  if (name == "add") return "sum";
  if (name == "mul") return "prod";
  if (name == "max") return "amax";
  check(name == "min", "reduction must be none, add, mul, max or min, got '", name, "'");
  return "amin";
}

Tensor scatter_elements(Call& c) {
  const Tensor &data = c[0], &updates = c[2];
  const int64_t axis = wrap_axis(c.integer("axis", 0), data.dim());
  const Tensor at = wrapped(positions(c, 1), data.size(axis));
  check(at.sizes() == updates.sizes(), "indices and updates must have the same shape, got ", at, " and ", updates);
  const std::string_view fold = fold_of(c);
  if (fold.empty()) return scatter(data, axis, at, updates);
  if (fold == "sum") return scatter_add(data, axis, at, updates);
  return scatter_reduce(widened(data), axis, at, widened(updates), fold).to(data.scalar_type());
}

Tensor scatter_nd(Call& c) {
  const Tensor &data = c[0], &updates = c[2], index = positions(c, 1);
  const std::vector<Tensor> at = coordinates(data, index, 0);
  Dims expected(index.sizes()), front, slices;
  expected.pop_back();
  for (int64_t d = 0; d < data.dim(); ++d) {
    const bool indexed = d < static_cast<int64_t>(at.size());
    (indexed ? front : slices).push_back(data.size(d));
    if (!indexed) expected.push_back(data.size(d));
  }
  check(updates.sizes() == IntArrayRef(expected) && updates.scalar_type() == data.scalar_type(), "updates must be ",
        expected, " ", data.dtype(), ", got ", updates);
  const std::string_view fold = fold_of(c);
  if (fold.empty() || fold == "sum") return index_put(data, at, updates, fold == "sum");
  // The folds take one index, of a slice among all. Reading it checks the coordinates.
  const int64_t count = checked_numel(front);
  const Tensor slice = tandem::index(counted(count, data).view(front), at).reshape({-1});
  slices.insert(0, count);
  const Tensor whole = widened(data).reshape(slices);
  slices[0] = slice.numel();
  return index_reduce(whole, 0, slice, widened(updates).reshape(slices), fold)
      .reshape(data.sizes())
      .to(data.scalar_type());
}

// Writes `update` [batch, …, length, …] into a cache at another position for each row of the batch.
Tensor tensor_scatter(Call& c) {
  const Tensor &cache = c[0], &update = c[1];
  const int64_t axis = wrap_axis(c.integer("axis", -2), cache.dim());
  const std::string mode = c.text("mode", "linear");
  check(mode == "linear" || mode == "circular", "mode must be linear or circular, got '", mode, "'");
  check(axis != 0, "axis 0 is the batch");
  check(update.dim() == cache.dim() && update.size(axis) <= cache.size(axis), "the update does not fit\n  cache  ",
        cache, "\n  update ", update);
  const int64_t length = update.size(axis);
  Dims expected(cache.sizes());
  expected[static_cast<std::size_t>(axis)] = length;
  check(update.sizes() == IntArrayRef(expected) && update.scalar_type() == cache.scalar_type(), "the update must be ",
        expected, " ", cache.dtype(), ", got ", update);
  if (!c.has(2)) return slice_scatter(cache, update, axis, 0, length);
  const Tensor start = positions(c, 2);
  check(start.dim() == 1 && start.size(0) == cache.size(0), "write_indices must be [", cache.size(0), "], got ", start);
  Tensor at = start.unsqueeze(1) + counted(length, cache);
  if (mode == "circular" && cache.size(axis) > 0) at = at.remainder(cache.size(axis));
  std::vector<Tensor> where(static_cast<std::size_t>(axis) + 1);
  where.front() = counted(cache.size(0), 0, 2, cache);
  where.back() = at;
  return index_put(cache, where, update.movedim(axis, 1));
}

// ---- choices

Tensor compress(Call& c) {
  const bool flat = !c.has("axis");
  const Tensor x = flat ? c[0].reshape({-1}) : c[0], condition = c[1];
  check(condition.dim() == 1, "the condition must have one dimension, got ", condition);
  const int64_t axis = flat ? 0 : wrap_axis(c.integer("axis"), x.dim());
  return index_select(x, axis, nonzero(condition).reshape({-1}));
}

Results top_k(Call& c) {
  const Tensor& x = c[0];
  const int64_t axis = wrap_axis(c.integer("axis", -1), x.dim());
  const int64_t k = c.has(1) ? c.integer(1) : c.integer("k");
  const auto [values, indices] = topk(widened(x), k, axis, c.flag("largest", true), c.flag("sorted", true));
  return std::tuple(values.to(x.scalar_type()), indices);
}

Results unique_values(Call& c) {
  const bool flat = !c.has("axis");
  const Tensor x = flat ? c[0].reshape({-1}) : c[0];
  const int64_t axis = flat ? 0 : wrap_axis(c.integer("axis"), x.dim());
  auto [values, inverse, counts] =
      flat ? _unique2(widened(x), true, true, true) : unique_dim(widened(x), axis, true, true, true);
  values = values.to(x.scalar_type());
  inverse = inverse.reshape({-1});
  const bool sorted = c.flag("sorted", true);
  if (sorted && !c.wants(1)) return std::tuple(values, Tensor(inverse), inverse, counts);
  // Where each value is for the first time.
  const int64_t n = x.size(axis);
  const Tensor none = full({counts.numel()}, n, counts.options());
  Tensor first = scatter_reduce(none, 0, inverse, counted(n, x), "amin");
  if (!sorted) {
    const Tensor order = argsort(first);
    values = values.index_select(axis, order);
    inverse = argsort(order).index_select(0, inverse);
    counts = counts.index_select(0, order);
    first = first.index_select(0, order);
  }
  return std::tuple(values, first, inverse, counts);
}

Tensor reverse_sequence(Call& c) {
  const Tensor& x = c[0];
  const int64_t time = c.integer("time_axis", 0), batch = c.integer("batch_axis", 1);
  check(x.dim() >= 2 && std::min(time, batch) == 0 && std::max(time, batch) == 1,
        "expected 2 dimensions or more, of which time and batch are the first two, got time_axis ", time,
        ", batch_axis ", batch, " and ", x);
  const Tensor lengths = positions(c, 1);
  check(lengths.dim() == 1 && lengths.size(0) == x.size(batch), "sequence_lens must be [", x.size(batch), "], got ",
        lengths);
  const Tensor length = lengths.unsqueeze(time), t = counted(x.size(time), time, 2, x);
  const Tensor from = where(t < length, length - 1 - t, t), row = counted(x.size(batch), batch, 2, x);
  return index(x, time == 0 ? std::vector<Tensor>{from, row} : std::vector<Tensor>{row, from});
}

// ---- new tensors

Tensor one_hot_between(Call& c) {
  const int64_t rank = c[0].dim() + 1, axis = wrap_axis(c.integer("axis", -1), rank);
  const double size = c.number(1);
  check(size >= 0 && size < 0x1p60, "the depth must not be negative, got ", size);
  const auto depth = static_cast<int64_t>(size);
  const Tensor& values = c[2];
  check(values.dim() == 1 && values.size(0) == 2, "the values must be [2], got ", values);
  const Tensor at = wrapped(c[0].to(kLong), depth).unsqueeze(axis);
  return where(at == counted(depth, axis, rank, at), values.select(0, 1), values.select(0, 0));
}

Tensor hardmax(Call& c) {
  const Tensor& x = c[0];
  const auto along = [](const Tensor& t, int64_t dim) {
    return t.numel() == 0 ? t : zeros_like(t).scatter(dim, argmax(t, dim, true), 1);
  };
  if (c.version() >= 13) return along(x, wrap_axis(c.integer("axis", -1), x.dim()));
  // The older ones have rows: all dimensions before axis, and all from there on.
  const int64_t given = c.integer("axis", 1), axis = given < 0 ? given + x.dim() : given;
  check(axis >= 0 && axis <= x.dim(), "axis ", given, " is out of range for ", x.dim(), " dimensions");
  const int64_t rows = checked_numel(x.sizes().slice(0, static_cast<std::size_t>(axis)));
  return x.numel() == 0 ? x : along(x.reshape({rows, -1}), 1).reshape(x.sizes());
}

Tensor eye_like(Call& c) {
  const Tensor& x = c[0];
  check(x.dim() == 2, "expected a matrix, got ", x);
  const int64_t k = std::clamp(c.integer("k", 0), -x.size(0), x.size(1));
  const Tensor out = ones(x.sizes(), TensorOptions(c.dtype("dtype", x.scalar_type())).device(x.device()));
  return out.triu_(k).tril_(k);
}

Tensor trilu(Call& c) {
  const Tensor& x = c[0];
  check(x.dim() >= 2, "expected a matrix or a batch of them, got ", x);
  const int64_t k = std::clamp(c.has(1) ? c.integer(1) : 0, -x.size(-2), x.size(-1));
  return c.flag("upper", true) ? triu(x, k) : tril(x, k);
}

// ---- n-grams

// Counts the n-grams of a row that are in a pool: neighbours, or numbers at equal distances.
class Ngrams {
 public:
  explicit Ngrams(Call& c)
      : shortest_(c.integer("min_gram_length")),
        longest_(c.integer("max_gram_length")),
        skips_(c.integer("max_skip_count")),
        coordinates_(c.integers("ngram_indexes")),
        weights_(c.numbers("weights")) {
    check(c.texts("pool_strings").empty(), "texts are not supported");
    check(shortest_ >= 1 && shortest_ <= longest_ && skips_ >= 0, "lengths must be 1 or more, and skips 0 or more");
    const std::string mode = c.text("mode", "TF");
    check(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode must be TF, IDF or TFIDF, got '", mode, "'");
    once_ = mode == "IDF";
    if (mode == "TF" || weights_.empty()) weights_.assign(coordinates_.size(), 1);
    check(weights_.size() == coordinates_.size(), "expected ", coordinates_.size(), " weights, got ", weights_.size());
    read_pool(c.integers("pool_int64s"), c.integers("ngram_counts"));
    constexpr int64_t kMost = int64_t{1} << 26;  // no data say how large the result is
    for (const int64_t coordinate : coordinates_) {
      check(coordinate >= 0 && coordinate < kMost, "ngram_indexes must be from 0 to ", kMost - 1, ", got ", coordinate);
      size_ = std::max(size_, coordinate + 1);
    }
  }

  int64_t size() const { return size_; }
  void count(const int64_t* row, int64_t length, float* out) const {
    std::vector<int64_t> gram;
    for (int64_t n = shortest_; n <= longest_; ++n)
      for (int64_t step = 1; step - 1 <= (n == 1 ? 0 : skips_); ++step) {
        if (step > length || (n - 1) * step >= length) break;
        for (int64_t start = 0; start + (n - 1) * step < length; ++start) {
          gram.clear();
          for (int64_t i = 0; i < n; ++i) gram.push_back(row[start + i * step]);
          if (const auto found = places_.find(gram); found != places_.end()) add(found->second, out);
        }
      }
  }

 private:
  // The pool has the 1-grams, then the 2-grams, …; `starts` says where each of these begins.
  void read_pool(const std::vector<int64_t>& pool, const std::vector<int64_t>& starts) {
    const auto total = static_cast<int64_t>(pool.size());
    longest_ = std::min(longest_, static_cast<int64_t>(starts.size()));
    std::size_t count = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : total;
      const auto n = static_cast<int64_t>(i) + 1;
      check(begin >= 0 && begin <= end && end <= total && (end - begin) % n == 0, "ngram_counts do not fit the pool");
      for (int64_t at = begin; at < end; at += n, ++count)
        if (n >= shortest_ && n <= longest_) places_[{pool.begin() + at, pool.begin() + at + n}] = count;
    }
    check(count <= coordinates_.size(), "expected ", count, " ngram_indexes, got ", coordinates_.size());
  }
  void add(std::size_t gram, float* out) const {
    float& to = out[coordinates_[gram]];
    to = static_cast<float>(weights_[gram]) + (once_ ? 0 : to);
  }

  int64_t shortest_, longest_, skips_, size_ = 0;
  bool once_ = false;
  std::vector<int64_t> coordinates_;  // of each n-gram of the pool, in the result
  std::vector<double> weights_;
  std::map<std::vector<int64_t>, std::size_t> places_;
};

Tensor count_ngrams(Call& c) {
  const Tensor& x = c[0];
  check(x.dim() <= 2 && isIntegralType(x.scalar_type(), false), "expected integers [C] or [B, C], got ", x);
  const Ngrams ngrams(c);
  const int64_t rows = x.dim() == 2 ? x.size(0) : 1, length = x.dim() == 0 ? 1 : x.size(-1);
  const Tensor in = x.to(kCPU, kLong).contiguous(), out = zeros({rows, ngrams.size()}, kFloat);
  for (int64_t row = 0; row < rows; ++row)
    ngrams.count(in.data_ptr<int64_t>() + row * length, length, out.data_ptr<float>() + row * ngrams.size());
  return (x.dim() == 2 ? out : out.squeeze(0)).to(x.device());
}

}  // namespace

Operators index_operators() {
  return {
      {"Compress", compress},
      {"EyeLike", eye_like},
      {"Gather", gather_slices},
      {"GatherElements", gather_elements},
      {"GatherND", [](Call& c) { return index(c[0], coordinates(c[0], positions(c, 1), c.integer("batch_dims", 0))); }},
      {"Hardmax", hardmax},
      {"NonZero", [](Call& c) { return nonzero(c[0]).t(); }},
      {"OneHot", one_hot_between, 0b010, kGrows},
      {"ReverseSequence", reverse_sequence},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"TensorScatter", tensor_scatter},
      {"TfIdfVectorizer", count_ngrams, 0, kGrows},
      {"TopK", top_k, 0b10},
      {"Trilu", trilu, 0b10},
      {"Unique", unique_values},
  };
}

}  // namespace tandem::onnx
