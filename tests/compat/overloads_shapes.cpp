// Sizes, views, concatenation and indexing.
#include "overloads.h"

// Calls are packed densely, several per line.
// clang-format off

#define SIZES(f) \
  LINE(t.f(20)) LINE(t.f(-1)) LINE(t.f({20})) LINE(t.f({-1})) LINE(t.f({5, 4})) LINE(t.f({})) LINE(t.f(v)) \
  LINE(t.f(w)) LINE(t.f(r)) LINE(t.f(0)) LINE(t.f({0})) LINE(t.f(true)) LINE(t.f({1, -1})) LINE(t.f(5, 4))
#define DIMS(f) \
  LINE(t.f()) LINE(t.f(0)) LINE(t.f(-1)) LINE(t.f({0})) LINE(t.f({1, 0})) LINE(t.f({})) LINE(t.f(v)) LINE(t.f(w)) \
  LINE(t.f(r)) LINE(t.f(true)) LINE(t.f(1, 0)) LINE(t.f({0, 1})) LINE(torch::f(t, {0})) LINE(torch::f(t, 0)) \
  LINE(torch::f(t, {1, 0})) LINE(torch::f(t, v)) LINE(torch::f(t, w))
#define PARTS(f) \
  LINE(t.f(2)) LINE(t.f(2, 1)) LINE(t.f({1, 3})) LINE(t.f({1, 3}, 0)) LINE(t.f({2})) LINE(t.f({2}, 1)) \
  LINE(t.f(v)) LINE(t.f(r)) LINE(t.f(true)) LINE(t.f({})) LINE(torch::f(t, 2)) LINE(torch::f(t, {1, 3})) \
  LINE(torch::f(t, 2, 1))

namespace overloads {

void add_sizes(Lines& lines) {
  SIZES(view) SIZES(reshape) SIZES(expand) SIZES(repeat) SIZES(tile) SIZES(broadcast_to) SIZES(sum_to_size)
  LINE(t.size(0)) LINE(t.size(-1)) LINE(t.size({0})) LINE(t.size(true)) LINE(t.size(2)) LINE(t.sizes())
  LINE(t.stride(0)) LINE(t.view(torch::kInt).size(0)) LINE(t.view({2, 2, 5})) LINE(t.reshape({2, -1}))
  LINE(torch::reshape(t, {20})) LINE(torch::reshape(t, -1)) LINE(torch::tile(t, {2})) LINE(torch::tile(t, 2))
  LINE(u.expand({2, 3, 4})) LINE(u.expand({2, -1, 4})) LINE(u.expand({4}, true))
  LINE(torch::broadcast_to(u, {2, 3, 1})) LINE(t.resize_({2, 3})) LINE(t.resize_(3)) LINE(t.unflatten(0, {2, 2}))
  LINE(t.unflatten(0, 4)) LINE(t.unflatten(1, {5})) LINE(t.flatten()) LINE(t.flatten(1)) LINE(t.flatten(0, 1))
  LINE(t.flatten({0})) LINE(t.as_strided({2}, {1})) LINE(t.as_strided({2}, {1}, 3))
  LINE(t.as_strided({2, 2}, {1, 1}, {3})) LINE(t.as_strided(2, 1)) LINE(t.as_strided(v, v)) LINE(t.new_zeros({2}))
  LINE(t.new_zeros(2)) LINE(t.new_ones({2, 3})) LINE(t.new_full({2}, 3)) LINE(t.new_full(2, 3))
  LINE(t.new_empty({0})) LINE(t.new_empty({}).dim()) LINE(t.new_zeros({})) LINE(t.new_zeros({2}, torch::kLong))
  LINE(t.view_as(t)) LINE(t.expand_as(t))
}
void add_dims(Lines& lines) {
  DIMS(squeeze) DIMS(unsqueeze) DIMS(flip) DIMS(permute) DIMS(transpose) DIMS(movedim) DIMS(unbind) DIMS(rot90)
  DIMS(roll) LINE(u.squeeze()) LINE(u.squeeze(0)) LINE(u.squeeze({0})) LINE(u.squeeze({0, 2})) LINE(u.squeeze({}))
  LINE(u.squeeze(v)) LINE(u.squeeze(r)) LINE(u.squeeze(true)) LINE(torch::squeeze(u, {0}))
  LINE(torch::squeeze(u, {0, 2})) LINE(torch::squeeze(u, 2)) LINE(u.squeeze_()) LINE(u.squeeze_(0))
  LINE(u.squeeze_({0, 2})) LINE(u.squeeze_({0})) LINE(t.t()) LINE(t.transpose(0, 1))
  LINE(t.movedim({0, 1}, {1, 0})) LINE(t.movedim({0}, {1})) LINE(t.moveaxis(0, 1)) LINE(t.roll(1))
  LINE(t.roll({1}, {0})) LINE(t.roll({1, 2}, {0, 1})) LINE(t.roll(1, 0)) LINE(t.rot90(1)) LINE(t.rot90(1, {1, 0}))
  LINE(t.fliplr()) LINE(t.mT()) LINE(t.diagonal()) LINE(t.diagonal(1)) LINE(t.diagonal({1})) LINE(t.tril())
  LINE(t.tril(1)) LINE(t.triu({1})) LINE(t.diag()) LINE(t.diag(1)) LINE(t.unfold(0, 2, 1)) LINE(t.trace())
}
void add_parts(Lines& lines) {
  PARTS(split) PARTS(chunk) PARTS(tensor_split) PARTS(split_with_sizes) PARTS(hsplit) PARTS(vsplit)
  LINE(t.select(0, 1)) LINE(t.select({0}, {1})) LINE(t.narrow(0, 1, 2)) LINE(t.narrow({0}, {1}, {2}))
  LINE(t.slice()) LINE(t.slice(0)) LINE(t.slice(0, 1)) LINE(t.slice(0, 1, 3)) LINE(t.slice(0, 1, 4, 2))
  LINE(t.slice(0, torch::nullopt, 2)) LINE(t[0]) LINE(t[-1]) LINE(t[n]) LINE(t[m]) LINE(t[true]) LINE(t[n[0]])
  LINE(t[{0}]) LINE(t.index({0})) LINE(t.index({})) LINE(t.index({n})) LINE(t.index({m})) LINE(t.index({0, 1}))
  LINE(t.index({n, n})) LINE(t.index({torch::indexing::Slice(), 0})) LINE(t.index({torch::indexing::Slice(0, 2)}))
  LINE(t.index({"...", 0})) LINE(t.index({torch::indexing::None, 0})) LINE(t.index({true})) LINE(t.index({false}))
  LINE(t.index({n[1]})) LINE(t.index({torch::indexing::Ellipsis})) LINE(t.index(0)) LINE(t.index(n))
  LINE(t.index({torch::nullopt, 0})) LINE(t.index({std::vector<torch::Tensor>{n}})) LINE(t.index({{}, 0}))
  LINE(t.index_put_({0}, 7)) LINE(t.index_put_({n}, 7)) LINE(t.index_put_({m}, t[0] + 1))
  LINE(t.index_put_({n}, t[0] + 1)) LINE(t.index_put_({n}, t[0] + 1, true))
  LINE(t.index_put_({n, n}, u.view({3})[1])) LINE(t.index_put_({0, 1}, true))
  LINE(t.index_put_({torch::indexing::Slice(), 0}, 0.5)) LINE(t.index_put({n}, t[0])) LINE(torch::index(t, {n}))
  LINE(torch::index(t, {n, n})) LINE(torch::index_put(t, {n}, t[0])) LINE(t.index_select(0, n))
  LINE(t.index_select({0}, n)) LINE(t.index_select(0, {0})) LINE(t.index_fill(0, n, 2))
  LINE(t.index_fill(0, n, true)) LINE(t.index_add(0, n, t.slice(0, 0, 2))) LINE(t.gather(0, n.view({1, 2})))
  LINE(t.masked_fill(m.view({4, 1}), 3)) LINE(t.masked_fill(m.view({4, 1}), t[0][1])) LINE(t.take(n))
  LINE(t.repeat_interleave(2)) LINE(t.repeat_interleave(2, 0)) LINE(t.repeat_interleave({2}))
  LINE(t.repeat_interleave(2, {0})) LINE(n.repeat_interleave(n)) LINE(torch::repeat_interleave(t, 2, 1))
}
void add_joints(Lines& lines) {
  LINE(torch::cat({t, t})) LINE(torch::cat({t, t}, 1)) LINE(torch::cat({t})) LINE(torch::cat(t))
  LINE(torch::stack({t, t})) LINE(torch::stack({t, t}, -1)) LINE(torch::stack({t})) LINE(torch::stack(t))
  LINE(torch::cat({t, t}, {1})) LINE(torch::hstack({t, t})) LINE(torch::vstack({t, t}))
  LINE(torch::meshgrid({n, n})) LINE(torch::meshgrid({n, n}, "xy")) LINE(torch::cartesian_prod({n, n}))
  LINE(torch::block_diag({t, n.view({1, 2})})) LINE(torch::broadcast_tensors({t, t[0]})) LINE(torch::atleast_2d(n))
  LINE(torch::einsum("ij->j", {t})) LINE(torch::einsum("ij,kj->ik", {t, t})) LINE(torch::combinations(n))
  LINE(torch::tensordot(t, t, {0}, {0}))
}
void add_shapes(Lines& lines) {
  add_sizes(lines);
  add_dims(lines);
  add_parts(lines);
  add_joints(lines);
}

}  // namespace overloads
