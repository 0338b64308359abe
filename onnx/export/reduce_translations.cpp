// Translations of reductions, scans and sorting.
#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/core/backend/half_calls.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

struct Fold {
  Recorder& r;
  const Tensor &out, &in;
  Ints axes;

  static Fold of(Recorder& r, const KernelCall& call, std::size_t input, std::size_t mask) {
    Fold fold{r, tensor(call, 0), tensor(call, input), {}};
    const auto bits = argument<uint32_t>(call, mask);
    for (int64_t d = 0; d < fold.in.dim(); ++d)
      if (bits >> d & 1) fold.axes.push_back(d);
    return fold;
  }
  Id read(ScalarType dtype) const { return r.cast(r.read(in), dtype); }
  Id add(const char* op, Id x) const {
    if (axes.empty()) return x;
    return r.add(op, {x, list()}, {{"keepdims", int64_t{1}}}, r[x].dtype, sizes_of(out));
  }
  Id list() const { return r.constant(axes, {static_cast<int64_t>(axes.size())}); }
  void write(Id value) const { r.write(out, r.cast(value, out.scalar_type())); }
};

template <class F>
constexpr Translation fold(F) {
  return [](Recorder& r, const KernelCall& call) { F{}(Fold::of(r, call, 1, 2)); };
}
#define FOLD(kernel, ...)                            \
  {                                                  \
    kernel, fold([](const Fold& f) { __VA_ARGS__; }) \
  }

// In the dtype of the result, or of numbers that ONNX can compare.
ScalarType folded_type(const Fold& f) { return f.in.dtype() == kBool ? kInt : f.in.scalar_type(); }

void count_nonzero(Recorder& r, const KernelCall& call) {
  if (call.count == 1)
    fail("onnx::save: nonzero() and masks as indices have results whose shapes depend on values: a file cannot say it");
  const Fold f = Fold::of(r, call, 1, 2);
  f.write(f.add("ReduceSum", r.cast(f.read(kBool), kLong)));
}

void norm(Recorder& r, const KernelCall& call) {
  const Fold f = Fold::of(r, call, 1, 2);
  const double p = real(call, 3);
  const Id x = f.read(computed_type(f.in.scalar_type()));
  const auto magnitude = [&] { return r.add("Abs", {x}); };
  const auto number = [&](double value) { return r.number(value, r[x].dtype); };
  if (f.axes.empty() && p != 0) return f.write(magnitude());
  if (p == 1) return f.write(f.add("ReduceL1", x));
  if (p == 2) return f.write(f.add("ReduceL2", x));
  if (p == 0) return f.write(f.add("ReduceSum", r.cast(r.cast(x, kBool), r[x].dtype)));
  if (std::isinf(p)) return f.write(f.add(p > 0 ? "ReduceMax" : "ReduceMin", magnitude()));
  const Id sum = f.add("ReduceSum", r.add("Pow", {magnitude(), number(p)}));
  f.write(r.add("Pow", {sum, number(1 / p)}));
}

void variance(Recorder& r, const KernelCall& call) {
  const Fold f = Fold::of(r, call, 1, 3);
  const Tensor& out = f.out;
  const Id divisor = r.number(real(call, 4), computed_type(out.scalar_type()));
  r.write(out, r.call(flag(call, 5) ? "deviation" : "variance",
                      {r.read(f.in), r.read(tensor(call, 2)), divisor, f.list()}, {}, out));
}

void logsumexp(Recorder& r, const KernelCall& call) {
  const Fold f = Fold::of(r, call, 1, 3);
  f.write(f.add("ReduceLogSumExp", r.read(f.in)));
}

template <bool largest>
void extreme(Recorder& r, const KernelCall& call) {
  const Tensor &values = tensor(call, 0), &indices = tensor(call, 1), &in = tensor(call, 2);
  const int64_t dim = integer(call, 3);
  const Id x = r.cast(r.read(in), in.dtype() == kBool ? kInt : in.scalar_type());
  const Fold f{r, values, in, {dim}};
  f.write(f.add(largest ? "ReduceMax" : "ReduceMin", x));
  r.write(indices, r.add(largest ? "ArgMax" : "ArgMin", {x}, {{"axis", dim}, {"keepdims", int64_t{1}}}, kLong,
                         sizes_of(indices)));
}

void cumsum(Recorder& r, const KernelCall& call) {
  r.write(tensor(call, 0), r.add("CumSum", {r.read(tensor(call, 1)), r.number(integer(call, 2), kLong)},
                                 {{"reverse", int64_t{flag(call, 3)}}}));
}
void cumprod(Recorder& r, const KernelCall& call) {
  const Id x = r.read(tensor(call, 1));
  if (!isFloatingType(r[x].dtype)) return r.lack("cumprod of integers");
  r.write(tensor(call, 0), r.call("cumprod", {x, r.number(integer(call, 2), kLong)},
                                  {{"reverse", int64_t{flag(call, 3)}}}, r[x].dtype, r[x].sizes));
}
void logcumsumexp(Recorder& r, const KernelCall& call) {
  const Id x = r.read(tensor(call, 1));
  if (flag(call, 3)) return r.lack("logcumsumexp in reverse");
  r.write(tensor(call, 0), r.call("logcumsumexp", {x, r.number(integer(call, 2), kLong)}, {}, r[x].dtype, r[x].sizes));
}

// The first `count` elements in an order.
std::vector<Id> top(Recorder& r, const Tensor& in, int64_t dim, int64_t count, bool largest) {
  const Id x = r.cast(r.read(in), in.dtype() == kBool ? kInt : in.scalar_type());
  Ints sizes = sizes_of(in);
  sizes[static_cast<std::size_t>(dim)] = count;
  return r.add_many("TopK", {x, r.ints({count})},
                    {{"axis", dim}, {"largest", int64_t{largest}}, {"sorted", int64_t{1}}},
                    {{r[x].dtype, sizes}, {kLong, sizes}});
}
void write_both(Recorder& r, const KernelCall& call, Id values, Id indices) {
  r.write(tensor(call, 0), r.cast(values, tensor(call, 0).scalar_type()));
  r.write(tensor(call, 1), indices);
}
void sort(Recorder& r, const KernelCall& call) {
  const Tensor& in = tensor(call, 2);
  const std::vector<Id> made = top(r, in, integer(call, 3), in.size(integer(call, 3)), flag(call, 4));
  write_both(r, call, made[0], made[1]);
}
void topk(Recorder& r, const KernelCall& call) {
  const std::vector<Id> made = top(r, tensor(call, 2), integer(call, 3), integer(call, 4), flag(call, 5));
  write_both(r, call, made[0], made[1]);
}
void kth(Recorder& r, const KernelCall& call) {
  const int64_t dim = integer(call, 3), k = integer(call, 4);
  const std::vector<Id> made = top(r, tensor(call, 2), dim, k + 1, false);
  const auto last = [&](Id id) {
    return r.add("Slice", {id, r.ints({k}), r.ints({k + 1}), r.ints({dim})}, {}, r[id].dtype,
                 sizes_of(tensor(call, 1)));
  };
  write_both(r, call, last(made[0]), last(made[1]));
}

}  // namespace

Translations reduce_translations() {
  return {
      FOLD("sum", f.write(f.add("ReduceSum", f.read(f.out.scalar_type())))),
      FOLD("prod", f.write(f.add("ReduceProd", f.read(f.out.scalar_type())))),
      FOLD("mean", f.write(f.add("ReduceMean", f.read(f.out.scalar_type())))),
      FOLD("amax", f.write(f.add("ReduceMax", f.read(folded_type(f))))),
      FOLD("amin", f.write(f.add("ReduceMin", f.read(folded_type(f))))),
      FOLD("any", f.write(f.add("ReduceMax", f.r.cast(f.read(kBool), kInt)))),
      FOLD("all", f.write(f.add("ReduceMin", f.r.cast(f.read(kBool), kInt)))),
      {"count_nonzero", count_nonzero},
      {"norm", norm},
      {"var", variance},
      {"logsumexp", logsumexp},
      {"max", extreme<true>},
      {"min", extreme<false>},
      {"cumsum", cumsum},
      {"cumprod", cumprod},
      {"logcumsumexp", logcumsumexp},
      {"sort", sort},
      {"topk", topk},
      {"kthvalue", kth},
  };
}
#undef FOLD

}  // namespace tandem::onnx::exporter
