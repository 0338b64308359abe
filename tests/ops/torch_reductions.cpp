// Reductions, scans, sorting.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

using Pair = std::tuple<T, T>;

void add_extremes(Table& table) {
  table.give<T(CT)>("max", max);
  table.give<T(CT)>("min", min);
  table.give<Pair(CT, I, bool)>("max", max);
  table.give<Pair(CT, I, bool)>("min", min);
  table.give<T(CT, Ints, bool)>("amax", amax);
  table.give<T(CT, Ints, bool)>("amin", amin);
  table.give<Pair(CT, optional<I>, bool)>("aminmax", aminmax);
  table.give<T(CT, optional<I>, bool)>("argmax", argmax);
  table.give<T(CT, optional<I>, bool)>("argmin", argmin);
  table.give<Pair(CT, optional<bool>, I, bool)>("sort", sort);
  table.give<T(CT, I, bool)>("argsort", argsort);
  table.give<Pair(CT, I, I, bool, bool)>("topk", topk);
  table.give<Pair(CT, I, I, bool)>("kthvalue", kthvalue);
  table.give<T(CT)>("median", median);
  table.give<Pair(CT, I, bool)>("median", median);
  table.give<T(CT, CT, I)>("bincount", bincount);
}

void add_moments(Table& table) {
  using Dims = optional<IntArrayRef>;
  table.give<T(CT, bool)>("var", var);
  table.give<T(CT, Ints, bool, bool)>("var", var);
  table.give<T(CT, Dims, const optional<Scalar>&, bool)>("var", var);
  table.give<T(CT, bool)>("std", std);
  table.give<T(CT, Ints, bool, bool)>("std", std);
  table.give<T(CT, Dims, const optional<Scalar>&, bool)>("std", std);
  table.give<Pair(CT, bool)>("var_mean", var_mean);
  table.give<Pair(CT, Ints, bool, bool)>("var_mean", var_mean);
  table.give<Pair(CT, bool)>("std_mean", std_mean);
  table.give<Pair(CT, Ints, bool, bool)>("std_mean", std_mean);
  table.give<Pair(CT, Dims, const optional<Scalar>&, bool)>("var_mean", var_mean);
  table.give<Pair(CT, Dims, const optional<Scalar>&, bool)>("std_mean", std_mean);
  table.give<T(CT, CS)>("norm", norm);
  table.give<T(CT, const optional<Scalar>&, Ints, bool, MaybeType)>("norm", norm);
  table.give<T(CT, Ints, bool)>("logsumexp", logsumexp);
}

}  // namespace

void add_reductions(Table& table) {
  add_extremes(table);
  add_moments(table);
  table.give<T(CT, MaybeType)>("sum", sum);
  table.give<T(CT, Ints, bool, MaybeType)>("sum", sum);
  table.add("nansum", std::type_identity<T(CT, MaybeType)>(),
            [](CT x, MaybeType dtype) { return nansum(x, Ints(), false, dtype); });
  table.give<T(CT, Ints, bool, MaybeType)>("nansum", nansum);
  table.give<T(CT, MaybeType)>("mean", mean);
  table.give<T(CT, Ints, bool, MaybeType)>("mean", mean);
  table.give<T(CT, MaybeType)>("prod", prod);
  table.give<T(CT, I, bool, MaybeType)>("prod", prod);
  table.give<T(CT)>("all", all);
  table.give<T(CT, I, bool)>("all", all);
  table.give<T(CT, Ints, bool)>("all", all);
  table.give<T(CT)>("any", any);
  table.give<T(CT, I, bool)>("any", any);
  table.give<T(CT, Ints, bool)>("any", any);
  table.give<T(CT, Ints)>("count_nonzero", count_nonzero);
  table.give<T(CT, I, MaybeType)>("cumsum", cumsum);
  table.give<T(CT, I, MaybeType)>("cumprod", cumprod);
  table.give<T(CT, I, MaybeType)>("softmax", softmax);
  table.give<T(CT, I, MaybeType)>("log_softmax", log_softmax);
}

}  // namespace tandem::testing
