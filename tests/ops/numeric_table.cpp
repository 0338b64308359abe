// Describes numbers and their parts, running and segmented folds, histograms, windows,
// and products of several matrices.
#include "tandem/autograd/torch_names.h"
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Two = std::tuple<T, T>;

// The free function f_(x, …) as the in-place form.
#define WRITE_FREE(f, ...)                                                                                          \
  .in_place = [](Table& table, const std::string& name) {                                                           \
    give<__VA_ARGS__>(table, name, [](T x, auto&&... a) -> T { return f##_(x, std::forward<decltype(a)>(a)...); }); \
  }

std::vector<Operation> numbers() {
  return {
      {OPERATION(gcd, T(CT, CT)), WRITE_FREE(gcd, T(T, CT)),
       .examples = {{"gcd", "x0, x1", {{integers({3, 4}, -30, 30), integers({4}, -30, 30)}}, false}}},
      {OPERATION(lcm, T(CT, CT)), WRITE_FREE(lcm, T(T, CT)),
       .examples = {{"lcm", "x0, x1", {{integers({3, 4}, -30, 30), integers({4}, -30, 30)}}, false}}},
      {OPERATION(nextafter, T(CT, CT)), WRITE_FREE(nextafter, T(T, CT)),
       .examples = {{"nextafter", "x0, x1", {{constant({3, 4}), constant({4})}}, false}}},
      {OPERATION(frexp, Two(CT)), .examples = {{"frexp",
                                                "x0",
                                                {{
                                                     real({3, 4}),
                                                 },
                                                 {real({2, 3}, 20, 70)}},
                                                true,
                                                0},
                                               {"frexp exponent", "x0", {{constant({3, 4})}}, false, 1}}},
      {OPERATION(ldexp, T(CT, CT)), WRITE_FREE(ldexp, T(T, CT)),
       .examples = {{"ldexp", "x0, x1", {{real({3, 4}), integers({4}, -5, 5)}}}}},
  };
}

std::vector<Operation> running() {
  return {
      {OPERATION(cummax, Two(CT, I)), .examples = {{"cummax",
                                                    "x0, 1",
                                                    {{
                                                         distinct({2, 5}),
                                                     },
                                                     {distinct({3, 4, 2})}},
                                                    true,
                                                    0}}},
      {OPERATION(cummin, Two(CT, I)), .examples = {{"cummin", "x0, 0", {{distinct({5, 3})}}, true, 0}}},
      {OPERATION(logcumsumexp, T(CT, I)),
       .examples = {{"logcumsumexp", "x0, 1", {{real({2, 5})}, {real({2, 3, 4}, -30, 30)}}}}},
      {OPERATION(trapezoid, T(CT, CS, I), T(CT, CT, I)),
       .torch = "lambda y, x, n: torch.trapezoid(y, x, dim=n) if isinstance(x, torch.Tensor) else "
                "torch.trapezoid(y, dx=x, dim=n)",
       .examples = {{"trapezoid", "x0, 0.5, 1", {{real({2, 5})}}},
                    {"trapezoid points", "x0, x1, 1", {{real({2, 5}), real({5})}, {real({2, 5}), real({2, 5})}}}}},
      {OPERATION(trapz, T(CT, double, I), T(CT, CT, I)),
       .torch = "lambda y, x, n: torch.trapz(y, x, dim=n) if isinstance(x, torch.Tensor) else torch.trapz(y, "
                "dx=x, "
                "dim=n)",
       .examples = {{"trapz", "x0, 0.5, 1", {{real({2, 5})}}}}},
      {OPERATION(cumulative_trapezoid, T(CT, CS, I), T(CT, CT, I)),
       .torch = "lambda y, x, n: torch.cumulative_trapezoid(y, x, dim=n) if isinstance(x, torch.Tensor) else "
                "torch.cumulative_trapezoid(y, dx=x, dim=n)",
       .examples = {{"cumulative_trapezoid", "x0, 0.5, 1", {{real({2, 5})}}},
                    {"cumulative_trapezoid points", "x0, x1, 0", {{real({5, 2}), real({5})}}}}},
      {.name = "gradient",
       .overloads =
           [](Table& table, const std::string& name) {
             give<Tensors(CT, CS, optional<I>, I)>(table, name, [](CT x, CS spacing, optional<I> dim, I order) {
               return gradient(x, optional<Scalar>(spacing), dim, order);
             });
             give<Tensors(CT, TensorList, Ints, I)>(table, name, [](CT x, TensorList spacing, Ints dim, I order) {
               return gradient(x, spacing, dim, order);
             });
           },
       .torch = "lambda x, s, n, e: torch.gradient(x, spacing=s, dim=n, edge_order=e)",
       .examples = {{"gradient", "x0, 0.5, 1, 1", {{real({2, 5})}}},
                    {"gradient edge 2", "x0, 2, 0, 2", {{real({5, 2})}}},
                    {"gradient points", "x0, [x1, x2], [0, 1], 1", {{real({4, 3}), distinct({4}), distinct({3})}}},
                    {"gradient points 2", "x0, [x1], [1], 2", {{real({2, 5}), distinct({5})}}}}},
  };
}

std::vector<Operation> folds() {
  return {
      {OPERATION(scatter_reduce, T(CT, I, CT, CT, const char*, bool)),
       WRITE_FREE(scatter_reduce, T(T, I, CT, CT, const char*, bool)),
       .torch = "lambda x, n, i, s, r, k: torch.scatter_reduce(x, n, i, s, r, include_self=k)",
       .examples = {{"scatter_reduce sum",
                     "x0, 1, x1, x2, 'sum', False",
                     {{real({3, 4}), integers({3, 6}, 0, 4), real({3, 6})}}},
                    {"scatter_reduce prod",
                     "x0, 1, x1, x2, 'prod', True",
                     {{real({3, 4}), integers({3, 6}, 0, 4), real({3, 6})}}},
                    {"scatter_reduce mean",
                     "x0, 0, x1, x2, 'mean', True",
                     {{real({3, 4}), integers({5, 4}, 0, 3), real({5, 4})}}},
                    {"scatter_reduce amax",
                     "x0, 1, x1, x2, 'amax', False",
                     {{distinct({3, 4}), integers({3, 6}, 0, 4), distinct({3, 6})}}},
                    {"scatter_reduce amin",
                     "x0, 1, x1, x2, 'amin', True",
                     {{real({3, 4}, -1, 1), integers({3, 6}, 0, 4), distinct({3, 6})}}}}},
      {OPERATION(index_reduce, T(CT, I, CT, CT, const char*, bool)),
       WRITE_FREE(index_reduce, T(T, I, CT, CT, const char*, bool)),
       .torch = "lambda x, n, i, s, r, k: torch.index_reduce(x, n, i, s, r, include_self=k)",
       .examples = {{"index_reduce",
                     "x0, 0, x1, x2, 'mean', True",
                     {{real({4, 3}), integers({5}, 0, 4), real({5, 3})}}}}},
      {OPERATION(segment_reduce, T(CT, const char*, CT, CT, CT, I)),
       .torch = "lambda x, r, l, i, o, a: torch.segment_reduce(x, r, lengths=l, offsets=o, axis=a)",
       .tests = {op("segment_reduce", "torch.segment_reduce(x0, 'sum', lengths=torch.tensor([2, 0, 3]), axis=0)",
                    [](const Tensors& x) {
                      return segment_reduce(x[0], "sum", tensor({2, 0, 3}).to(x[0].device()));
                    },
                    {{real({5, 2})}})}},
      {OPERATION(put, T(CT, CT, CT, bool)), WRITE_FREE(put, T(T, CT, CT, bool)),
       .examples = {{"put accumulate", "x0, x1, x2, True", {{real({3, 4}), integers({5}, -12, 12), real({5})}}}}},
      {.name = "histogram",
       .overloads =
           [](Table& table, const std::string& name) {
             give<Two(CT, I, CT, bool)>(table, name, [](CT x, I bins, CT weight, bool density) {
               return histogram(x, bins, nullopt, weight, density);
             });
             give<Two(CT, CT, CT, bool)>(table, name, [](CT x, CT bins, CT weight, bool density) {
               return histogram(x, bins, weight, density);
             });
           },
       .torch = "lambda x, b, w, d: torch.histogram(x, b, weight=w, density=d)",
       .examples = {{"histogram", "x0, 4, None, False", {{constant({3, 4})}}, false},
                    {"histogram density", "x0, 3, x1, True", {{constant({12}), constant({12}, 0.5, 2)}}, false}}},
      {.name = "histogramdd",
       .overloads =
           [](Table& table, const std::string& name) {
             give<T(CT, Ints, CT, bool)>(table, name, [](CT x, Ints bins, CT weight, bool density) {
               return std::get<0>(histogramdd(x, bins, nullopt, weight, density));
             });
           },
       .torch = "lambda x, b, w, d: torch.histogramdd(x, b, weight=w, density=d)[0]",
       .examples = {{"histogramdd", "x0, [2, 3], None, True", {{constant({9, 2})}}, false}}},
      {OPERATION(nanquantile, T(CT, double, optional<I>, bool, const char*), T(CT, CT, optional<I>, bool, const char*)),
       .torch = "lambda x, q, n, k, i: torch.nanquantile(x, q, n, k, interpolation=i)",
       .examples = {{"nanquantile", "x0, 0.3, 1, False, 'midpoint'", {{distinct({2, 5})}}}}},
      {.name = "nanmedian",
       .overloads =
           [](Table& table, const std::string& name) {
             give<T(CT)>(table, name, [](CT x) { return nanmedian(x); });
             give<T(CT, I, bool)>(table, name,
                                  [](CT x, I dim, bool keep) { return std::get<0>(nanmedian(x, dim, keep)); });
           },
       .torch = "lambda x, *a: torch.nanmedian(x, *a)[0] if a else torch.nanmedian(x)",
       .examples = {{"nanmedian", "x0", {{distinct({2, 5})}}}, {"nanmedian dim", "x0, 1, True", {{distinct({2, 5})}}}}},
  };
}

std::vector<Operation> products() {
  return {
      {OPERATION(addbmm, T(CT, CT, CT, CS, CS)), WRITE_FREE(addbmm, T(T, CT, CT, CS, CS)),
       .torch = "lambda x, a, b, beta, alpha: torch.addbmm(x, a, b, beta=beta, alpha=alpha)",
       .examples = {{"addbmm", "x0, x1, x2, 0.5, 2", {{real({3, 5}), real({2, 3, 4}), real({2, 4, 5})}}}}},
      {OPERATION(chain_matmul, T(TensorList)), .torch = "lambda x: torch.chain_matmul(*x)",
       .examples = {{"chain_matmul", "[x0, x1, x2]", {{real({2, 5}), real({5, 3}), real({3, 4})}}}}},
      {OPERATION(renorm, T(CT, CS, I, CS)), WRITE_FREE(renorm, T(T, CS, I, CS)),
       .examples = {{"renorm", "x0, 2, 0, 1.5", {{real({3, 4})}}}}},
  };
}

std::vector<Operation> windows() {
  return {
      {OPERATION(bartlett_window, T(I, bool, Options)), .torch = with_dtype("bartlett_window")},
      {OPERATION(blackman_window, T(I, bool, Options)), .torch = with_dtype("blackman_window")},
      {OPERATION(hamming_window, T(I, bool, double, double, Options)), .torch = with_dtype("hamming_window")},
      {OPERATION(hann_window, T(I, bool, Options)), .torch = with_dtype("hann_window")},
      {OPERATION(kaiser_window, T(I, bool, double, Options)), .torch = with_dtype("kaiser_window")},
  };
}

std::vector<Operation> whole_tensors() {
  return {
      {.name = "alias", .overloads = GIVE(tandem::alias, T(CT)), .torch = "torch.ops.aten.alias"},
      {OPERATION(detach, T(CT)), .examples = {{"detach", "x0", {{constant({3, 4})}}, false}}},
      {OPERATION(copy, T(CT, CT))},
      {OPERATION(resize, T(CT, Ints)), .torch = "torch.ops.aten.resize",
       .examples = {{"resize", "x0, [2, 3]", {{constant({3, 4})}}, false}}},
      {OPERATION(resize_as, T(CT, CT)), .torch = "torch.ops.aten.resize_as",
       .examples = {{"resize_as", "x0, x1", {{constant({3, 4}), constant({5})}}, false}}},
      {OPERATION(set, T(CT, CT)), WRITE_FREE(set, T(T, CT)), .torch = "torch.ops.aten.set",
       .examples = {{"set", "x0, x1", {{constant({3, 4}), constant({5})}}, false}}},
      {OPERATION(as_strided_, T(T, Ints, Ints, optional<I>)), .torch = "lambda x, *a: x.clone().as_strided_(*a)"},
      {OPERATION(is_nonzero, bool(CT)), .torch = "lambda x: torch.tensor(torch.is_nonzero(x))"},
      {OPERATION(is_same_size, bool(CT, CT)), .torch = "lambda x, y: torch.tensor(torch.is_same_size(x, y))"},
      {OPERATION(can_cast, bool(ScalarType, ScalarType)), .torch = "lambda a, b: torch.tensor(torch.can_cast(a, b))"},
      {OPERATION(nonzero_numpy, Tensors(CT)), .torch = "lambda x: torch.nonzero(x, as_tuple=True)",
       .examples = {{"nonzero_numpy", "x0", {{booleans({3, 4})}}, false}}},
      {OPERATION(nonzero_static, T(CT, I, I)), .torch = "lambda x, n, v: torch.nonzero_static(x, size=n, fill_value=v)",
       .examples = {{"nonzero_static", "x0, 9, -1", {{booleans({3, 4})}}, false},
                    {"nonzero_static few", "x0, 2, -1", {{booleans({3, 4})}}, false}}},
      {OPERATION(range, T(CS, CS, CS, Options)),
       .torch = "lambda s, e, k, t: torch.ops.aten.range.step(s, e, k, dtype=t)"},
      {OPERATION(flatten_dense_tensors, T(TensorList)), .torch = "torch._C._nn.flatten_dense_tensors",
       .examples = {{"flatten_dense_tensors", "[x0, x1]", {{real({2, 3}), real({4})}}}}},
      {OPERATION(unflatten_dense_tensors, Tensors(CT, TensorList)), .torch = "torch._C._nn.unflatten_dense_tensors",
       .examples = {{"unflatten_dense_tensors", "x0, [x1, x2]", {{real({10}), constant({2, 3}), constant({4})}}}}},
      {OPERATION(unique_dim_consecutive, std::tuple<T, T, T>(CT, I, bool, bool)),
       .torch = "lambda x, n, i, c: torch.unique_consecutive(x, True, True, n)"},
  };
}

}  // namespace

std::vector<Operation> numeric_operations() {
  return joined({numbers, running, folds, products, windows, whole_tensors});
}

}  // namespace tandem::testing
