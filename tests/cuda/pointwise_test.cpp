// Every elementwise kernel in every dtype on a device against the CPU, with rows that use vectors and with
// all the geometries that do not.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/ternary.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/compare_ops.h"
#include "tandem/core/formulas/ternary_ops.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/sanitized.h"

using namespace tandem;

namespace {

const Device gpu("cuda:0");

template <class... Ts>
std::vector<ScalarType> types(TypeList<Ts...>) {
  return {scalar_type_of<Ts>...};
}
template <class... Ops, class F>
void each(TypeList<Ops...>, F&& f) {
  (f(Type<Ops>{}), ...);
}

/// How an operand of some shape is placed in a larger base, which is the same on both devices.
struct Layout {
  const char* name;
  std::function<std::vector<int64_t>(const std::vector<int64_t>&)> base;
  std::function<Tensor(const Tensor&, const std::vector<int64_t>&)> view;
};
std::vector<int64_t> reversed(std::vector<int64_t> sizes) {
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}
std::vector<int64_t> last_times_two(std::vector<int64_t> sizes) {
  if (!sizes.empty()) sizes.back() *= 2;
  return sizes;
}
std::vector<int64_t> last_only(const std::vector<int64_t>& sizes) {
  if (sizes.empty()) return {};
  return {sizes.back()};
}
std::vector<int64_t> column(std::vector<int64_t> sizes) {
  if (!sizes.empty()) sizes.back() = 1;
  return sizes;
}
const std::vector<Layout>& layouts() {
  using Sizes = std::vector<int64_t>;
  static const std::vector<Layout> all{
      {"contiguous", [](const Sizes& s) { return s; }, [](const Tensor& t, const Sizes&) { return t; }},
      {"transposed", reversed,
       [](const Tensor& t, const Sizes& s) {
         Sizes order;
         for (std::size_t d = s.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
         return t.permute(order);
       }},
      {"every other element", last_times_two,
       [](const Tensor& t, const Sizes& s) { return s.empty() ? t : t.slice(-1, 0, 2 * s.back(), 2); }},
      {"not aligned",
       [](const Sizes& s) { return Sizes{std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()) + 1}; },
       [](const Tensor& t, const Sizes& s) { return t.slice(0, 1).view(s); }},
      {"one row", last_only, [](const Tensor& t, const Sizes&) { return t; }},
      {"one column", column, [](const Tensor& t, const Sizes&) { return t; }},
      {"one element", [](const Sizes&) { return Sizes{}; }, [](const Tensor& t, const Sizes&) { return t; }},
  };
  return all;
}
// Whole vectors in every row, no whole vectors, more than one block, three dimensions, one element, none.
const std::vector<std::vector<int64_t>> shapes{{6, 64}, {5, 7}, {4099}, {3, 5, 48}, {2, 3000}, {}, {1}, {0}, {3, 0}};

/// The same numbers in base and view, for every dtype: small integers including zeros for integers; for
/// floating point values in (-2, 2), or special values that are hard for functions.
enum class Values { kAny, kNotZero, kPlain };
Tensor values(ScalarType type, const std::vector<int64_t>& sizes, Values kind, uint64_t seed) {
  Generator generator = make_generator(seed);
  Tensor t = tandem::empty(sizes, kDouble);
  if (is_floating_point(type)) {
    t.uniform_(-2, 2, generator);
    const double stumbles[] = {0.0,  -0.0, 1.0,   -1.0, INFINITY, -INFINITY, NAN,  1e-40, 3e5,
                               -7e8, 88.0, -87.5, 0.5,  -0.5,     2.5,       1e30, -1e-7, 20.0};
    if (kind == Values::kAny)
      for (int64_t i = 0; i < t.numel(); i += 3) t.data_ptr<double>()[i] = stumbles[(i / 3) % std::ssize(stumbles)];
  } else {
    t.random_(type == kByte || type == kBool ? 0 : -9, 10, generator);
    if (kind == Values::kNotZero) t.masked_fill_(t.eq(0), 3);
    if (kind == Values::kAny)
      for (int64_t i = 0; i < t.numel(); i += 5)
        t.data_ptr<double>()[i] = i % 2 == 0 ? 127 : type == kByte ? 200 : -128;
  }
  return t.to(type);
}

struct Pair {
  Tensor cpu, cuda;
};
Pair operand(ScalarType type, const std::vector<int64_t>& sizes, const Layout& layout, Values kind, uint64_t seed) {
  const Tensor base = values(type, layout.base(sizes), kind, seed), there = base.to(gpu);
  return {layout.view(base, sizes), layout.view(there, sizes)};
}

void agree(const Tensor& cuda, const Tensor& cpu) {
  if (is_complex(cpu.dtype())) return agree(view_as_real(cuda), view_as_real(cpu));
  const Tensor got = cuda.cpu();
  if (is_floating_point(cpu.dtype())) {
    // The formulas are the same on both.
    const auto computed = [](const Tensor& t) { return t.dtype() == kDouble ? t : t.to(kFloat); };
    CHECK(tandem::allclose(computed(got), computed(cpu), 0, 0, true));
  } else {
    CHECK(testing::identical(got, cpu));
  }
}

bool can_be_written(const Layout& layout) { return &layout - layouts().data() < 4; }

using Run = std::function<void(const Tensor& out, const std::vector<Tensor>& in)>;
/// Tries all layouts of each operand in turn with the others row-major, and `out` in the layouts that it
/// supports. With a sanitizer, every seventh of these combinations, others for each function.
void over_layouts(ScalarType out_type, ScalarType in_type, std::size_t count, Values kind, const Run& cpu,
                  const Run& cuda) {
  CAPTURE(std::string(name(in_type)));
  for (const auto& sizes : shapes)
    for (const Layout& layout : layouts())
      for (std::size_t which = 0; which <= count; ++which) {
        if (which == count && !can_be_written(layout)) continue;
        if (static int combination = 0; test::kSanitized && combination++ % 7 != 0) continue;
        CAPTURE(std::string(layout.name));
        CAPTURE(which);
        std::vector<Tensor> here, there;
        for (std::size_t k = 0; k < count; ++k) {
          const Pair p = operand(in_type, sizes, k == which ? layout : layouts()[0], kind, 100 * k + sizes.size());
          here.push_back(p.cpu), there.push_back(p.cuda);
        }
        const Layout& out = which == count ? layout : layouts()[0];
        const Tensor base = tandem::full(out.base(sizes), 1, out_type), cuda_base = base.to(gpu);
        cpu(out.view(base, sizes), here);
        cuda(out.view(cuda_base, sizes), there);
        agree(cuda_base, base);  // the gaps are unchanged
      }
}

const Backend& cpu_table() { return backend(kCPU); }
const Backend& cuda_table() { return backend(kCUDA); }
const Scalar parameters[2] = {Scalar(1.5), Scalar(2.0)};
const Scalar whole_parameters[2] = {Scalar(1), Scalar(2)};

template <class List>
void unary_family() {
  each(List{}, []<class Op>(Type<Op>) {
    CAPTURE(std::string(Op::name));
    for (const ScalarType type : types(typename Op::Types{})) {
      const Scalar* p = is_floating_point(type) ? parameters : whole_parameters;
      const auto run = [p](const Backend& table) {
        return [&table, p](const Tensor& out, const std::vector<Tensor>& in) {
          table.unary.value.get<Op>()(out, in[0], p);
        };
      };
      over_layouts(type, type, 1, Values::kAny, run(cpu_table()), run(cuda_table()));
    }
  });
}
template <class List>
void gradient_family() {
  each(List{}, []<class Op>(Type<Op>) {
    CAPTURE(std::string(Op::name));
    for (const ScalarType type : {kFloat, kDouble}) {
      const auto run = [](const Backend& table) {
        return [&table](const Tensor& out, const std::vector<Tensor>& in) {
          table.unary.gradient.get<Op>()(out, in[0], in[1], parameters);
        };
      };
      over_layouts(type, type, 2, Values::kPlain, run(cpu_table()), run(cuda_table()));
    }
  });
}
template <class List>
void binary_family() {
  each(List{}, []<class Op>(Type<Op>) {
    CAPTURE(std::string(Op::name));
    constexpr bool divides = requires { Op::divides; };
    for (const ScalarType type : types(typename Op::Types{})) {
      const Scalar number(3);
      enum class Numbers { kNone, kLeft, kRight };
      for (const Numbers numbers : {Numbers::kNone, Numbers::kLeft, Numbers::kRight}) {
        const auto run = [&](const Backend& table) {
          return [&table, numbers, number](const Tensor& out, const std::vector<Tensor>& in) {
            const Operand a = numbers == Numbers::kLeft ? Operand(number) : Operand(in[0]);
            const Operand b = numbers == Numbers::kRight  ? Operand(number)
                              : numbers == Numbers::kLeft ? Operand(in[0])
                                                          : Operand(in[1]);
            table.binary.value.get<Op>()(out, a, b, 2);
          };
        };
        over_layouts(type, type, numbers == Numbers::kNone ? 2 : 1,
                     divides && !is_floating_point(type) ? Values::kNotZero : Values::kAny, run(cpu_table()),
                     run(cuda_table()));
      }
    }
  });
}

}  // namespace

TEST_CASE("functions of one argument") {
  if (!has_devices(1)) return;
  unary_family<ops::UnaryOps>();
}

TEST_CASE("gradients of functions of one argument") {
  if (!has_devices(1)) return;
  gradient_family<ops::GradientOps>();
}

TEST_CASE("functions of two arguments, with numbers on either side") {
  if (!has_devices(1)) return;
  binary_family<ops::BinaryOps>();
}

TEST_CASE("comparisons") {
  if (!has_devices(1)) return;
  each(ops::CompareOps{}, []<class Op>(Type<Op>) {
    CAPTURE(std::string(Op::name));
    for (const ScalarType type : types(ComputedTypes{})) {
      const auto run = [](const Backend& table) {
        return [&table](const Tensor& out, const std::vector<Tensor>& in) {
          table.comparison.value.get<Op>()(out, in[0], in[1]);
        };
      };
      over_layouts(kBool, type, 2, Values::kAny, run(cpu_table()), run(cuda_table()));
      const auto number = [](const Backend& table) {
        return [&table](const Tensor& out, const std::vector<Tensor>& in) {
          table.comparison.value.get<Op>()(out, in[0], Scalar(1));
        };
      };
      over_layouts(kBool, type, 1, Values::kAny, number(cpu_table()), number(cuda_table()));
    }
  });
}

TEST_CASE("functions of three arguments") {
  if (!has_devices(1)) return;
  each(ops::TernaryOps{}, []<class Op>(Type<Op>) {
    CAPTURE(std::string(Op::name));
    for (const ScalarType type : types(typename Op::Types{})) {
      const auto run = [](const Backend& table) {
        return [&table](const Tensor& out, const std::vector<Tensor>& in) {
          table.ternary.value.get<Op>()(out, in[0], in[1], in[2], 2);
        };
      };
      over_layouts(type, type, 3, Values::kPlain, run(cpu_table()), run(cuda_table()));
    }
  });
}

TEST_CASE("where") {
  if (!has_devices(1)) return;
  for (const ScalarType type : types(AllTypes{})) {
    const auto run = [](const Backend& table, int numbers) {
      return [&table, numbers](const Tensor& out, const std::vector<Tensor>& in) {
        const Scalar one(1), two(2);
        const Tensor chosen = in[0].to(kBool);
        table.ternary.where(out, chosen, (numbers & 1) != 0 ? Operand(one) : Operand(in[1]),
                            (numbers & 2) != 0 ? Operand(two) : Operand(in[2]));
      };
    };
    for (const int numbers : {0, 1, 2, 3})
      over_layouts(type, type, 3, Values::kPlain, run(cpu_table(), numbers), run(cuda_table(), numbers));
  }
}

TEST_CASE("copies between any two dtypes, and fills") {
  if (!has_devices(1)) return;
  for (const ScalarType from : types(RealTypes{}))
    for (const ScalarType to : types(RealTypes{})) {
      CAPTURE(std::string(name(to)));
      const auto run = [](const Backend& table) {
        return [&table](const Tensor& out, const std::vector<Tensor>& in) { table.copy.copy(out, in[0]); };
      };
      over_layouts(to, from, 1, is_floating_point(to) ? Values::kAny : Values::kPlain, run(cpu_table()),
                   run(cuda_table()));
    }
  for (const ScalarType type : types(RealTypes{})) {
    const auto run = [](const Backend& table) {
      return [&table](const Tensor& out, const std::vector<Tensor>&) { table.copy.fill(out, 1); };
    };
    over_layouts(type, type, 1, Values::kPlain, run(cpu_table()), run(cuda_table()));
  }
}

TEST_CASE("copies across rows use tiles") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kByte, kHalf, kFloat, kDouble}) {
    CAPTURE(std::string(name(type)));
    const auto check = [type](const Tensor& x, const std::function<Tensor(const Tensor&)>& view) {
      const Tensor typed = x.to(type), there = typed.to(gpu);
      CHECK(testing::identical(view(there).contiguous().cpu(), view(typed).contiguous()));
    };
    const auto square = [](const Tensor& t) { return t.t(); };
    check(arange(100 * 70).view({100, 70}), square);
    check(arange(64 * 64).view({64, 64}), square);
    check(arange(8 * 1031).view({8, 1031}), square);
    check(arange(1031 * 8).view({1031, 8}), square);
    check(arange(3 * 40 * 50).view({3, 40, 50}), [](const Tensor& t) { return t.permute({2, 0, 1}); });
    check(arange(4 * 33 * 9 * 10).view({4, 33, 9, 10}), [](const Tensor& t) { return t.permute({0, 2, 3, 1}); });
    check(arange(100 * 70).view({100, 70}), [](const Tensor& t) { return t.slice(1, 3, 60).t(); });
    check(arange(100 * 70).view({100, 70}), [](const Tensor& t) { return t.flip({0}).t().flip({0, 1}); });
  }
}

TEST_CASE("integer division by zero: an error immediately for a number, at the next synchronisation for a tensor") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kByte, kInt, kLong}) {
    const Tensor x = tandem::full({100}, 7, type).to(gpu), zero = tandem::zeros({1}, type).to(gpu);
    CHECK_THROWS_WITH_AS(tandem::remainder(x, 0), doctest::Contains("integer division by zero"), Error);
    const Tensor y = tandem::remainder(x, zero);
    CHECK_THROWS_WITH_AS(static_cast<void>(y.cpu()), doctest::Contains("remainder: integer division by zero"), Error);
    CHECK(testing::identical(y.cpu(), tandem::zeros({100}, type)));  // reported once
    CHECK(tandem::remainder(tandem::empty({0}, type).to(gpu), 0).numel() == 0);
  }
}

TEST_CASE("in place: an operand is the output") {
  if (!has_devices(1)) return;
  const Tensor x = arange(1.0f, 5001.0f), y = x.to(gpu);
  CHECK(testing::identical((y + y).cpu(), x + x));
  Tensor z = y.clone();
  z.add_(z).mul_(z).sub_(1);
  CHECK(testing::identical(z.cpu(), (x + x) * (x + x) - 1));
}
