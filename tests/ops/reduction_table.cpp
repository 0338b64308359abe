// Describes the reductions, scans and sorts.
#include <limits>

#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

// A test of the harness: an expression in x, and its Python equivalent in x0.
#define TEST(name, torch, cases, ...) \
  op(                                 \
      name, torch,                    \
      [](const Tensors& in) {         \
        const Tensor& x = in[0];      \
        return __VA_ARGS__;           \
      },                              \
      cases)
#define CONSTANT(...) without_gradient(TEST(__VA_ARGS__))

namespace tandem::testing {
namespace {

using Pair = std::tuple<T, T>;
using Dims = optional<IntArrayRef>;
using Cases = std::vector<std::vector<InputSpec>>;

constexpr double kInf = std::numeric_limits<double>::infinity();
const Cases kReals = {{real({3, 4, 5})}, {real({1, 6, 2})}}, kApart = {{distinct({3, 4, 5})}, {distinct({1, 6, 2})}},
            kMatrix = {{real({3, 4})}}, kLarger = {{real({3, 4})}, {real({2, 3, 2})}},
            kMatrices = {{real({3, 4})}, {real({2, 3, 2})}, {real({5, 1})}, {real({1, 1, 3})}},
            kDistinct = {{distinct({3, 4})}, {distinct({2, 3, 2})}, {distinct({5, 1})}},
            kSorted = {{distinct({3, 4})}, {distinct({2, 3, 2})}, {distinct({1, 5})}},
            kNotEmpty = {{real({3, 4})}, {real({})}},
            kAnyRank = {{real({3, 4})}, {real({2, 3})}, {real({})}, {real({0})}},
            kLines = {{real({3, 4})}, {real({2, 3, 2})}, {real({5, 1})}, {real({1, 0})}},
            kRows = {{real({3, 4})}, {real({2, 3, 2})}, {real({1, 5})}, {real({0, 4})}},
            kTruth = {{booleans({3, 4})}, {booleans({1, 4})}, {integers({2, 3}, 0, 2)}},
            kIntegers = {{integers({3, 4}, 1, 5)}, {integers({6}, 1, 5, kByte)}};

std::vector<Operation> sums() {
  return {
      {OPERATION(sum, T(CT, MaybeType), T(CT, Ints, bool, MaybeType)), .torch = with_dtype("sum"),
       .tests = {TEST("sum", "x0.sum()", kReals, x.sum()), TEST("sum 1", "x0.sum(1)", kReals, x.sum(1)),
                 TEST("sum 0 2 keep", "x0.sum((0, 2), True)", kReals, x.sum({0, 2}, true)),
                 TEST("sum -1", "x0.sum(-1)", kReals, x.sum(-1)), TEST("sum function", "x0.sum()", kAnyRank, sum(x)),
                 TEST("sum function 1", "x0.sum(1)", kMatrices, sum(x, 1)),
                 TEST("sum function 0 -1 keep", "x0.sum([0, -1], True)", kMatrices, sum(x, {0, -1}, true)),
                 CONSTANT("sum of bool", "x0.sum(1)", kTruth, x.sum(1)),
                 op("sum of nothing", "x0.sum(1)", [](const Tensors& x) { return x[0].sum(1); }, {{real({3, 0})}})},
       .drawn = "sums"},
      {.name = "nansum",
       .overloads =
           [](Table& table, const std::string& name) {
             give<T(CT, MaybeType)>(table, name, [](CT x, MaybeType dtype) { return nansum(x, Ints(), false, dtype); });
             GIVE(nansum, T(CT, Ints, bool, MaybeType))(table, name);
           },
       .torch = with_dtype("nansum"),
       .tests = {TEST("nansum", "x0.nansum()", kMatrix, nansum(x))},
       .drawn = "sums"},
      {OPERATION(mean, T(CT, MaybeType), T(CT, Ints, bool, MaybeType)), .torch = with_dtype("mean"),
       .tests = {TEST("mean", "x0.mean()", kReals, x.mean()),
                 TEST("mean 0 1", "x0.mean((0, 1))", kReals, x.mean({0, 1})),
                 TEST("mean function", "x0.mean()", kNotEmpty, mean(x)),
                 TEST("mean function 0", "x0.mean(0)", kMatrices, mean(x, 0)),
                 CONSTANT("mean as float64", "x0.mean(dtype=torch.float64)", kIntegers, x.mean(kDouble))},
       .drawn = "sums"},
      {OPERATION(prod, T(CT, MaybeType), T(CT, I, bool, MaybeType)), .torch = with_dtype("prod"),
       .tests = {TEST("prod", "x0.prod()", kApart, x.prod()), TEST("prod 1", "x0.prod(1)", kApart, x.prod(1)),
                 TEST("prod function", "x0.prod()", kAnyRank, prod(x)),
                 TEST("prod function 1", "x0.prod(1)", kMatrices, prod(x, 1)),
                 CONSTANT("prod of integers", "x0.prod()", kIntegers, x.prod())},
       .drawn = "sums"},
      {OPERATION(max, T(CT), Pair(CT, I, bool)),
       .tests = {TEST("max", "x0.max()", kApart, x.max()),
                 TEST("max values", "x0.max(1)[0]", kApart, std::get<0>(x.max(1))),
                 CONSTANT("max indices", "x0.max(1)[1]", kApart, std::get<1>(x.max(1))),
                 CONSTANT("max of integers", "x0.max()", kIntegers, x.max()),
                 TEST("max function", "x0.max()", kDistinct, max(x)),
                 TEST("max function 1", "x0.max(1)[0]", kDistinct, std::get<0>(max(x, 1)))},
       .drawn = "extremes"},
      {OPERATION(min, T(CT), Pair(CT, I, bool)),
       .tests = {TEST("min", "x0.min()", kApart, x.min()),
                 TEST("min values", "x0.min(-1, True)[0]", kApart, std::get<0>(x.min(-1, true))),
                 TEST("min function", "x0.min()", kDistinct, min(x)),
                 TEST("min function 0", "x0.min(0, True)[0]", kDistinct, std::get<0>(min(x, 0, true)))},
       .drawn = "extremes"},
      {OPERATION(amax, T(CT, Ints, bool)),
       .tests = {TEST("amax", "x0.amax((0, 2))", kApart, x.amax({0, 2})),
                 TEST("amax function", "x0.amax([0, 1])", kDistinct, amax(x, {0, 1}))},
       .drawn = "bounds"},
      {OPERATION(amin, T(CT, Ints, bool)),
       .tests = {TEST("amin", "x0.amin((1,), True)", kApart, x.amin({1}, true)),
                 TEST("amin function", "x0.amin(1, True)", kDistinct, amin(x, 1, true))},
       .drawn = "bounds"},
      {OPERATION(aminmax, Pair(CT, optional<I>, bool)),
       .torch = "lambda x, n, keep: torch.aminmax(x, dim=n, keepdim=keep)", .drawn = "aminmax"},
      {OPERATION(argmax, T(CT, optional<I>, bool)),
       .tests = {CONSTANT("argmax", "x0.argmax()", kApart, x.argmax()),
                 CONSTANT("argmax 1", "x0.argmax(1)", kApart, x.argmax(1))},
       .drawn = "positions"},
      {OPERATION(argmin, T(CT, optional<I>, bool)),
       .tests = {CONSTANT("argmin -1", "x0.argmin(-1, True)", kApart, x.argmin(-1, true))}, .drawn = "positions"},
  };
}

std::vector<Operation> moments() {
  return {
      {OPERATION(var, T(CT, bool), T(CT, Ints, bool, bool), T(CT, Dims, const optional<Scalar>&, bool)),
       .tests = {TEST("var", "x0.var()", kReals, x.var()),
                 TEST("var 1 2", "x0.var((1, 2), unbiased=False, keepdim=True)", kReals, x.var({1, 2}, false, true)),
                 TEST("var function", "x0.var()", kMatrix, var(x)),
                 TEST("var function 1", "x0.var([1], False)", kLarger, var(x, {1}, false))},
       .drawn = "moments"},
      {OPERATION(std, T(CT, bool), T(CT, Ints, bool, bool), T(CT, Dims, const optional<Scalar>&, bool)),
       .tests = {TEST("std 1", "x0.std(1)", kReals, x.std(IntArrayRef{1})),
                 TEST("std function 0 1", "x0.std([0, 1], True, True)", kLarger, tandem::std(x, {0, 1}, true, true))},
       .drawn = "moments"},
      {OPERATION(var_mean, Pair(CT, bool), Pair(CT, Ints, bool, bool), Pair(CT, Dims, const optional<Scalar>&, bool)),
       .drawn = "moments"},
      {OPERATION(std_mean, Pair(CT, bool), Pair(CT, Ints, bool, bool), Pair(CT, Dims, const optional<Scalar>&, bool)),
       .drawn = "moments"},
      {OPERATION(norm, T(CT, CS), T(CT, const optional<Scalar>&, Ints, bool, MaybeType)),
       .tests = {TEST("norm", "x0.norm()", kApart, x.norm()),
                 TEST("norm 1 dim", "x0.norm(1, (1,))", kApart, x.norm(Scalar(1), {1})),
                 TEST("norm 3", "x0.norm(3, (0, 2))", kApart, x.norm(Scalar(3), {0, 2})),
                 TEST("norm inf", "x0.norm(float('inf'), (1,))", kApart, x.norm(Scalar(kInf), {1})),
                 TEST("norm function", "x0.norm()", kMatrix, norm(x)),
                 TEST("norm function 1", "x0.norm(1, [1])", kDistinct, norm(x, 1, {1})),
                 TEST("norm function 3", "x0.norm(3, [1])", kDistinct, norm(x, 3, {1})),
                 TEST("norm function 1.5", "x0.norm(1.5)", kDistinct, norm(x, 1.5)),
                 TEST("norm function inf", "x0.norm(float('inf'), [0])", kDistinct, norm(x, kInf, {0}))},
       .drawn = "norm"},
      {OPERATION(logsumexp, T(CT, Ints, bool)),
       .tests = {TEST("logsumexp", "torch.logsumexp(x0, (1, 2))", kReals, x.logsumexp({1, 2})),
                 TEST("logsumexp function", "x0.logsumexp([0, 1])", kMatrices, logsumexp(x, {0, 1}))},
       .drawn = "logsumexp"},
      {OPERATION(all, T(CT), T(CT, I, bool), T(CT, Ints, bool)),
       .tests = {CONSTANT("all", "x0.all()", kTruth, x.all()), CONSTANT("all 0", "x0.all(0)", kTruth, x.all(0))},
       .drawn = "truth"},
      {OPERATION(any, T(CT), T(CT, I, bool), T(CT, Ints, bool)),
       .tests = {CONSTANT("any 1", "x0.any(1)", kTruth, x.any(1))}, .drawn = "truth"},
      {OPERATION(count_nonzero, T(CT, Ints)),
       .tests = {CONSTANT("count_nonzero", "torch.count_nonzero(x0)", kTruth, x.count_nonzero())},
       .drawn = "count_nonzero"},
  };
}

std::vector<Operation> scans() {
  return {
      {OPERATION(cumsum, T(CT, I, MaybeType)), WRITE(cumsum, T(T, I, MaybeType)), .torch = with_dtype("cumsum"),
       .tests = {TEST("cumsum", "torch.cumsum(x0, 1)", kReals, x.cumsum(1)),
                 TEST("cumsum -1", "torch.cumsum(x0, -1)", kReals, x.cumsum(-1)),
                 CONSTANT("cumsum of integers", "x0.cumsum(0)", kIntegers, x.cumsum(0)),
                 TEST("cumsum function", "x0.cumsum(1)", kLines, cumsum(x, 1))},
       .drawn = "scans"},
      {OPERATION(cumprod, T(CT, I, MaybeType)), WRITE(cumprod, T(T, I, MaybeType)), .torch = with_dtype("cumprod"),
       .tests = {TEST("cumprod", "torch.cumprod(x0, 1)", kApart, x.cumprod(1)),
                 TEST("cumprod function", "x0.cumprod(-1)", kLines, cumprod(x, -1))},
       .drawn = "scans"},
      {OPERATION(softmax, T(CT, I, MaybeType)), .torch = with_dtype("softmax"),
       .tests = {TEST("softmax", "torch.softmax(x0, 1)", kReals, x.softmax(1)),
                 TEST("softmax -1", "torch.softmax(x0, -1)", kReals, x.softmax(-1)),
                 TEST("softmax function 0", "torch.softmax(x0, 0)", kRows, softmax(x, 0)),
                 TEST("softmax function 1", "torch.softmax(x0, 1)", kRows, softmax(x, 1)),
                 TEST("softmax function -1", "torch.softmax(x0, -1)", kRows, softmax(x, -1))},
       .drawn = "scans"},
      {OPERATION(log_softmax, T(CT, I, MaybeType)), .torch = with_dtype("log_softmax"),
       .tests = {TEST("log_softmax", "torch.log_softmax(x0, 1)", kReals, x.log_softmax(1)),
                 TEST("log_softmax -1", "torch.log_softmax(x0, -1)", kReals, x.log_softmax(-1)),
                 TEST("log_softmax function 0", "torch.log_softmax(x0, 0)", kRows, log_softmax(x, 0)),
                 TEST("log_softmax function 1", "torch.log_softmax(x0, 1)", kRows, log_softmax(x, 1)),
                 TEST("log_softmax function -1", "torch.log_softmax(x0, -1)", kRows, log_softmax(x, -1))},
       .drawn = "scans"},
  };
}

std::vector<Operation> sorts() {
  return {
      {OPERATION(sort, Pair(CT, optional<bool>, I, bool)),
       .tests = {TEST("sort values", "x0.sort(1)[0]", kApart, std::get<0>(x.sort(1))),
                 TEST("sort descending", "x0.sort(-1, True)[0]", kApart, std::get<0>(x.sort(-1, true))),
                 CONSTANT("sort indices", "x0.sort(-1, True)[1]", kApart, std::get<1>(x.sort(-1, true))),
                 TEST("sort function", "x0.sort(1)[0]", kSorted, std::get<0>(sort(x, 1))),
                 TEST("sort function descending", "x0.sort(0, True)[0]", kSorted, std::get<0>(sort(x, 0, true)))},
       .drawn = "sort"},
      {OPERATION(msort, T(CT)), .examples = {{"msort", "x0", kApart}}},
      {OPERATION(argsort, T(CT, I, bool)), .tests = {CONSTANT("argsort", "x0.argsort(1)", kApart, x.argsort(1))},
       .drawn = "argsort"},
      {OPERATION(topk, Pair(CT, I, I, bool, bool)),
       .tests = {TEST("topk values", "x0.topk(2, 1)[0]", kApart, std::get<0>(x.topk(2, 1))),
                 TEST("topk smallest", "x0.topk(2, -1, False)[0]", kApart, std::get<0>(x.topk(2, -1, false))),
                 CONSTANT("topk indices", "x0.topk(2, 1)[1]", kApart, std::get<1>(x.topk(2, 1))),
                 TEST("topk function", "x0.topk(2, 1)[0]", kSorted, std::get<0>(topk(x, 2, 1)))},
       .drawn = "topk"},
      {OPERATION(kthvalue, Pair(CT, I, I, bool)),
       .tests = {TEST("kthvalue", "x0.kthvalue(2, 1)[0]", kSorted, std::get<0>(kthvalue(x, 2, 1)))},
       .drawn = "kthvalue"},
      {OPERATION(median, T(CT), Pair(CT, I, bool)),
       .tests = {TEST("median", "x0.median()", kSorted, median(x)),
                 TEST("median 1", "x0.median(1, True)[0]", kSorted, std::get<0>(median(x, 1, true)))},
       .drawn = "median"},
      {OPERATION(bincount, T(CT, CT, I)), .drawn = "bincount"},
  };
}

}  // namespace

std::vector<Operation> reduction_operations() { return joined({sums, moments, scans, sorts}); }

}  // namespace tandem::testing
