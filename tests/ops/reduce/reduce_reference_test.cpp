// Reductions against naive references on random shapes, layouts and dimensions.
#include <cmath>
#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/as_strided.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"
#include "tandem/tests/sanitized.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

// A separate small generator: the cases must not change when the library's generator does.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 2654435761u + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53 * 4 - 2; }

 private:
  uint64_t state_;
};

// A tensor of random shape and layout: dimensions in any memory order, with gaps, sometimes expanded (stride
// 0).
Tensor random_tensor(Draw& draw, ScalarType type) {
  const auto ndim = static_cast<std::size_t>(draw.below(5));
  const int64_t long_dim = draw.below(8) == 0 ? draw.below(5) : -1;
  Dims sizes, strides(ndim, 0);
  for (std::size_t d = 0; d < ndim; ++d)
    sizes.push_back(static_cast<int64_t>(d) == long_dim ? 40 + draw.below(3000) : 1 + draw.below(8));
  Dims order;
  for (std::size_t d = 0; d < ndim; ++d)
    order.insert(static_cast<std::size_t>(draw.below(static_cast<int64_t>(d) + 1)), static_cast<int64_t>(d));
  int64_t step = 1 + draw.below(4) / 3;
  for (std::size_t i = ndim; i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    strides[d] = draw.below(12) == 0 ? 0 : step;
    step *= sizes[d] * (1 + draw.below(5) / 4);
  }
  const int64_t count = step + 1;
  Tensor flat = empty({count}, kDouble);
  for (int64_t i = 0; i < count; ++i)
    flat.data_ptr<double>()[i] =
        type == kDouble ? draw.real() : static_cast<double>(draw.below(7) - (type == kByte ? 0 : 3));
  return flat.to(type).as_strided(sizes, strides, 0);
}

// The reduced elements of each output, in double, row-major.
std::vector<std::vector<double>> groups(const Tensor& x, uint32_t mask) {
  const Tensor c = x.to(kDouble).contiguous();
  std::vector<std::vector<double>> out(
      static_cast<std::size_t>(checked_numel(autograd::reduced_sizes(x.sizes(), mask, true))));
  for (int64_t i = 0; i < c.numel(); ++i) {
    int64_t rest = i, place = 0, step = 1;
    for (std::size_t d = x.sizes().size(); d-- > 0;) {
      const int64_t at = rest % x.sizes()[d];
      rest /= x.sizes()[d];
      if (mask >> d & 1u) continue;
      place += at * step;
      step *= x.sizes()[d];
    }
    out[static_cast<std::size_t>(place)].push_back(c.data_ptr<double>()[i]);
  }
  return out;
}

struct Reference {
  const char* name;
  Tensor (*compute)(const Tensor&, IntArrayRef, bool);
  double (*fold)(const std::vector<double>&);
};

double sum_of(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += x;
  return s;
}
double power_of(const std::vector<double>& v, double p) {
  double s = 0;
  for (double x : v) s += std::pow(std::abs(x), p);
  return std::pow(s, 1 / p);
}
double variance_of(const std::vector<double>& v) {
  const double mean = sum_of(v) / static_cast<double>(v.size());
  double s = 0;
  for (double x : v) s += (x - mean) * (x - mean);
  return s / static_cast<double>(v.size());
}
double largest_of(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }
double smallest_of(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double nonzero_of(const std::vector<double>& v) {
  return static_cast<double>(std::count_if(v.begin(), v.end(), [](double x) { return x != 0; }));
}

void check_reference(const Reference& r, ScalarType type, uint64_t seed) {
  Draw draw(seed);
  const Tensor x = random_tensor(draw, type);
  const auto ndim = static_cast<std::size_t>(x.dim());
  Dims dims;
  for (std::size_t d = 0; d < ndim; ++d)
    if (draw.below(2) == 0)
      dims.push_back(draw.below(2) == 0 ? static_cast<int64_t>(d) : static_cast<int64_t>(d) - x.dim());
  const bool keepdim = draw.below(2) == 0;
  const uint32_t mask = dim_mask(dims, x.dim());
  const Tensor out = r.compute(x, dims, keepdim);
  INFO(r.name, " seed ", seed, " ", x.describe());
  REQUIRE(out.sizes() == autograd::reduced_sizes(x.sizes(), mask, keepdim));
  const Tensor got = out.to(kDouble).contiguous();
  const auto wanted = groups(x, mask);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double expected = r.fold(wanted[i]), value = got.data_ptr<double>()[i];
    if (std::abs(value - expected) > (type == kFloat ? 2e-5 : 1e-11) * (1 + std::abs(expected))) {
      CHECK(value == expected);
      break;
    }
  }
}

// all and any take an empty list literally; the others reduce all dimensions.
std::vector<int64_t> named(const Tensor& x, IntArrayRef dims) {
  std::vector<int64_t> out = dims.vec();
  for (int64_t d = 0; dims.empty() && d < x.dim(); ++d) out.push_back(d);
  return out;
}

const Reference kAny[] = {
    {"sum", [](const Tensor& x, IntArrayRef d, bool k) { return sum(x, d, k); }, sum_of},
    {"amax", amax, largest_of},
    {"amin", amin, smallest_of},
    {"any", [](const Tensor& x, IntArrayRef d, bool k) { return any(x, named(x, d), k); },
     [](const std::vector<double>& v) { return nonzero_of(v) > 0 ? 1.0 : 0.0; }},
    {"all", [](const Tensor& x, IntArrayRef d, bool k) { return all(x, named(x, d), k); },
     [](const std::vector<double>& v) { return nonzero_of(v) == static_cast<double>(v.size()) ? 1.0 : 0.0; }},
};
const Reference kReal[] = {
    {"mean", [](const Tensor& x, IntArrayRef d, bool k) { return mean(x, d, k); },
     [](const std::vector<double>& v) { return sum_of(v) / static_cast<double>(v.size()); }},
    {"var", [](const Tensor& x, IntArrayRef d, bool k) { return var(x, d, false, k); }, variance_of},
    {"std", [](const Tensor& x, IntArrayRef d, bool k) { return tandem::std(x, d, false, k); },
     [](const std::vector<double>& v) { return std::sqrt(variance_of(v)); }},
    {"norm 0", [](const Tensor& x, IntArrayRef d, bool k) { return norm(x, 0, d, k); }, nonzero_of},
    {"norm 1", [](const Tensor& x, IntArrayRef d, bool k) { return norm(x, 1, d, k); },
     [](const std::vector<double>& v) { return power_of(v, 1); }},
    {"norm 2", [](const Tensor& x, IntArrayRef d, bool k) { return norm(x, 2, d, k); },
     [](const std::vector<double>& v) { return power_of(v, 2); }},
    {"norm 3", [](const Tensor& x, IntArrayRef d, bool k) { return norm(x, 3, d, k); },
     [](const std::vector<double>& v) { return power_of(v, 3); }},
    {"norm inf",
     [](const Tensor& x, IntArrayRef d, bool k) { return norm(x, std::numeric_limits<double>::infinity(), d, k); },
     [](const std::vector<double>& v) { return std::max(std::abs(largest_of(v)), std::abs(smallest_of(v))); }},
    {"logsumexp", logsumexp,
     [](const std::vector<double>& v) {
       double s = 0;
       for (double x : v) s += std::exp(x);
       return std::log(s);
     }},
};

constexpr uint64_t kSeeds = test::kSanitized ? 30 : 150;

}  // namespace

TEST_CASE("reductions match a naive fold on random shapes and layouts") {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const Reference& r : kAny)
      for (ScalarType type : {kFloat, kDouble, kLong, kByte, kBool})
        if (type != kByte || r.name[0] != 'a' || r.name[1] == 'm') check_reference(r, type, seed);
}

TEST_CASE("floating point reductions match a naive fold on random shapes and layouts") {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const Reference& r : kReal)
      for (ScalarType type : {kFloat, kDouble}) check_reference(r, type, seed);
}

TEST_CASE("max and min along a dimension return the first of equal elements") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Draw draw(seed);
    const Tensor x = random_tensor(draw, seed % 2 == 0 ? kInt : kShort);
    if (x.dim() == 0) continue;
    const int64_t dim = draw.below(x.dim());
    const auto [values, indices] = seed % 3 == 0 ? min(x, dim, true) : max(x, dim, true);
    const double sign = seed % 3 == 0 ? -1 : 1;
    const auto lines = groups(x, 1u << dim);
    const Tensor v = values.to(kDouble).contiguous(), at = indices.contiguous();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::size_t best = 0;
      for (std::size_t j = 1; j < lines[i].size(); ++j)
        if (sign * lines[i][j] > sign * lines[i][best]) best = j;
      REQUIRE(at.data_ptr<int64_t>()[i] == static_cast<int64_t>(best));
      REQUIRE(v.data_ptr<double>()[i] == lines[i][best]);
    }
  }
}

TEST_CASE("a long float32 sum stays accurate in every layout") {
  constexpr int64_t kRows = 100000, kColumns = 12;
  const Tensor x = full({kRows, kColumns}, 0.1, kFloat);
  const double exact = static_cast<double>(0.1f) * kRows;
  // Four units in the last place: a lane adds 32 numbers of a block one after the other, and where they are equal, their
  // roundings do not cancel.
  constexpr double kLimit = 4e-7;
  CHECK(std::abs(sum(x).item<double>() / (exact * kColumns) - 1) < kLimit);
  for (const Tensor& columns : {sum(x, 0), sum(x.transpose(0, 1).contiguous(), 1)})
    for (int64_t j = 0; j < kColumns; ++j)
      CHECK(std::abs(static_cast<double>(columns.data_ptr<float>()[j]) / exact - 1) < kLimit);
  CHECK(std::abs(mean(x).item<double>() - static_cast<double>(0.1f)) < 3e-8);
}
