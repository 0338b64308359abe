// Reductions over all dimensions, one dimension or several.
#include "overloads.h"

// Calls are packed densely, several per line.
// clang-format off

// f with each argument list, called as a member and as a free function.
#define EACH(f) \
  LINE(t.f()) LINE(t.f(0)) LINE(t.f(1)) LINE(t.f(-1)) LINE(t.f({0})) LINE(t.f({1})) LINE(t.f({})) \
  LINE(t.f({0, 1})) LINE(t.f(v)) LINE(t.f(w)) LINE(t.f(r)) LINE(t.f(true)) LINE(t.f(false)) LINE(t.f({true})) \
  LINE(t.f(0, true)) LINE(t.f({0}, true)) LINE(t.f({1}, false)) LINE(t.f({}, true)) LINE(t.f(v, true)) \
  LINE(t.f(r, true)) LINE(t.f(torch::nullopt)) LINE(t.f(torch::kDouble)) LINE(t.f(0, torch::kDouble)) \
  LINE(t.f({0}, 1)) LINE(torch::f(t)) LINE(torch::f(t, 0)) LINE(torch::f(t, {0})) LINE(torch::f(t, {})) \
  LINE(torch::f(t, {0, 1})) LINE(torch::f(t, v)) LINE(torch::f(t, r)) LINE(torch::f(t, true)) \
  LINE(torch::f(t, {1}, true))

#define SPREAD(f) \
  LINE(t.f(1, false)) LINE(t.f(0, 0)) LINE(t.f({0}, 0)) LINE(t.f({0}, 2)) LINE(t.f({0}, 1, true)) \
  LINE(t.f({0}, 0, true)) LINE(t.f({1}, true, true)) LINE(t.f({1}, false, true)) LINE(t.f(1, true, true)) \
  LINE(t.f(torch::nullopt, 0)) LINE(t.f(torch::nullopt, 0, true)) LINE(t.f(v, 0)) LINE(t.f(r, 0)) \
  LINE(t.f(v, false, true)) LINE(t.f({}, 0)) LINE(t.f({}, false)) LINE(t.f({0}, 1.5)) LINE(t.f(v, 1.5)) \
  LINE(t.f({0, 1}, true, true)) LINE(t.f({0, 1}, false)) LINE(torch::f(t, {0}, 0)) \
  LINE(torch::f(t, 1, false)) LINE(torch::f(t, {0}, false, true)) LINE(torch::f(t, {0}, 1, true)) \
  LINE(torch::f(t, torch::nullopt, 0))

namespace overloads {

void add_sums(Lines& lines) {
  EACH(sum) EACH(mean) EACH(nansum) EACH(prod) LINE(t.sum({0}, true, torch::kDouble))
  LINE(t.mean({0}, true, torch::kDouble)) LINE(t.prod(0, true, torch::kDouble))
}
void add_spreads(Lines& lines) {
  EACH(var) EACH(std) EACH(var_mean) EACH(std_mean) SPREAD(var) SPREAD(std) SPREAD(var_mean) SPREAD(std_mean)
}
void add_extremes(Lines& lines) {
  EACH(max) EACH(min) EACH(amax) EACH(amin) EACH(argmax) EACH(argmin) EACH(aminmax) EACH(median)
}
void add_truths(Lines& lines) {
  EACH(all) EACH(any) EACH(count_nonzero) EACH(logsumexp) EACH(nanmean)
}
void add_norms(Lines& lines) {
  EACH(norm) LINE(t.norm(1)) LINE(t.norm(2)) LINE(t.norm(2, 0)) LINE(t.norm(2, {0})) LINE(t.norm(2, 0, true))
  LINE(t.norm(2, {0}, true)) LINE(t.norm(2, v)) LINE(t.norm(2, r)) LINE(t.norm(2, {})) LINE(t.norm(2, {0, 1}))
  LINE(t.norm(2.5)) LINE(t.norm(torch::nullopt, 0)) LINE(t.norm(torch::nullopt, {0}, true))
  LINE(t.norm(2, torch::kDouble)) LINE(torch::norm(t, 2, {0})) LINE(torch::norm(t, 2, 0)) LINE(torch::norm(t, 1))
  LINE(torch::norm(t, 2, v, true))
}
void add_scans(Lines& lines) {
  EACH(cumsum) EACH(cumprod) EACH(softmax) EACH(log_softmax)
}
void add_orders(Lines& lines) {
  EACH(sort) EACH(argsort) EACH(mode) LINE(t.sort(0, true)) LINE(t.sort(true, 0, false)) LINE(t.sort(1, false))
  LINE(t.sort(true)) LINE(t.argsort(0, true)) LINE(t.argsort(true)) LINE(t.argsort(true, 0))
  LINE(t.argsort(true, 0, true)) LINE(torch::sort(t, 0, true)) LINE(t.topk(2)) LINE(t.topk(2, 0)) LINE(t.topk({2}))
  LINE(t.topk(2, 0, false)) LINE(t.topk(2, true)) LINE(t.kthvalue(2)) LINE(t.kthvalue(2, 0))
  LINE(t.kthvalue(2, 0, true)) LINE(t.quantile(0.5)) LINE(t.quantile(0.5, 0)) LINE(t.quantile(0.5, 0, true))
  LINE(t.quantile(1)) LINE(t.quantile(0)) LINE(t.max(t)) LINE(t.min(t)) LINE(torch::max(t, t))
  LINE(torch::topk(t, 2)) LINE(t.histc(4)) LINE(t.histc(4, 0, 8)) LINE(n.bincount()) LINE(n.bincount({}, 4))
  LINE(t.diff()) LINE(t.diff(1, 0)) LINE(t.diff(2)) LINE(t.allclose(t)) LINE(t.equal(t)) LINE(t.dist(t))
  LINE(t.dist(t, 1))
}
void add_reductions(Lines& lines) {
  add_sums(lines);
  add_spreads(lines);
  add_extremes(lines);
  add_truths(lines);
  add_norms(lines);
  add_scans(lines);
  add_orders(lines);
}

}  // namespace overloads
