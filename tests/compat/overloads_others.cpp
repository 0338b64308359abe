// Factories, pointwise operations, functional forms and products.
#include "overloads.h"

// Calls are packed densely, several per line.
// clang-format off

#define FACTORY(f) \
  LINE(torch::f({0}, o)) LINE(torch::f({}, o)) LINE(torch::f({2}, o)) LINE(torch::f({2, 1}, o)) \
  LINE(torch::f(2, o)) LINE(torch::f(0, o)) LINE(torch::f(v, o)) LINE(torch::f(w, o)) LINE(torch::f(r, o)) \
  LINE(torch::f(true, o)) LINE(torch::f(v)) LINE(torch::f(r)) LINE(torch::f(t.sizes()))
#define NUMBERS(f) \
  LINE(t.f(2)) LINE(t.f(2.5)) LINE(t.f(true)) LINE(t.f(t)) LINE(t.f({2})) LINE(t.f({})) LINE(torch::f(t, 2)) \
  LINE(torch::f(t, t)) LINE(torch::f(2, t)) LINE(torch::f(t, {2})) LINE(n.f(2)) LINE(n.f(2.5)) LINE(n.f(true))

namespace overloads {

void add_factories(Lines& lines) {
  FACTORY(zeros) FACTORY(ones) LINE(torch::empty({0}, o)) LINE(torch::empty({}, o).dim()) LINE(torch::empty(v))
  LINE(torch::empty({2, 3}, o).sizes()) LINE(torch::rand({2}, o).sizes()) LINE(torch::randn({2, 3}, o).sizes())
  LINE(torch::randn(v).sizes()) LINE(torch::rand({}, o).dim()) LINE(torch::randint(5, {3}, o).sizes())
  LINE(torch::randint(0, 5, {3}, o).sizes()) LINE(torch::randint(5, w).sizes()) LINE(torch::randint(1, 2, {3}, o))
  LINE(torch::randperm(1, o)) LINE(torch::full({2}, 3, o)) LINE(torch::full({}, 3, o)) LINE(torch::full({0}, 3, o))
  LINE(torch::full(2, 3, o)) LINE(torch::full({2}, true, o)) LINE(torch::full(v, 3)) LINE(torch::full(w, true))
  LINE(torch::full({2}, 3.5, o.dtype(torch::kLong))) LINE(torch::full(w, 2.5)) LINE(torch::arange(3, o))
  LINE(torch::arange(1, 3, o)) LINE(torch::arange(0, 1, 0.5, o)) LINE(torch::arange(0, 3, 2, o))
  LINE(torch::arange(2.5, o)) LINE(torch::linspace(0, 1, 3, o)) LINE(torch::linspace(0, 1, {3}, o))
  LINE(torch::logspace(0, 1, 2, 10, o)) LINE(torch::eye(2, o)) LINE(torch::eye(2, 3, o))
  LINE(torch::tensor({1, 2}, o)) LINE(torch::tensor({1.5}, o)) LINE(torch::tensor(1, o))
  LINE(torch::tensor({{1, 2}, {3, 4}}, o)) LINE(torch::tensor({}, o)) LINE(torch::tensor(v)) LINE(torch::tensor(r))
  LINE(torch::tensor({{1}}, o)) LINE(torch::tensor(true, o))
  LINE(torch::tensor({true, false}, o.dtype(torch::kBool))) LINE(torch::tensor({0}, o.dtype(torch::kLong)))
  LINE(torch::tensor(std::vector<float>{1, 2}, o)) LINE(torch::zeros_like(t)) LINE(torch::full_like(t, 2).sum())
  LINE(torch::full_like(t, true).sum()) LINE(torch::ones_like(t, torch::kLong).sum())
  LINE(torch::rand_like(t).sizes()) LINE(torch::normal(0, 0, {2}))
  LINE(torch::normal(0.0, 0.0, {2}, torch::nullopt, o)) LINE(torch::zeros({2}, torch::kLong).to(o))
  LINE(torch::one_hot(n)) LINE(torch::one_hot(n, 3)) LINE(torch::one_hot(n, {3}))
  LINE(torch::tril_indices(2, 2, 0, o.dtype(torch::kLong)))
}
void add_pointwise(Lines& lines) {
  NUMBERS(add) NUMBERS(sub) NUMBERS(mul) NUMBERS(pow) NUMBERS(eq) NUMBERS(remainder) NUMBERS(maximum)
  NUMBERS(bitwise_and) LINE(n.div(2)) LINE(n.div(true)) LINE(t.div(2, "floor")) LINE(n.div(2, "trunc"))
  LINE(n.div(n + 1, torch::nullopt)) LINE(torch::div(t, 2, "floor")) LINE(t.div({2}))
  LINE(torch::floor_divide(n, 2)) LINE(t.add(t, 2)) LINE(t.add(2, 3)) LINE(t.add(t, {2}))
  LINE(torch::add(t, t, 0.5)) LINE(n.add(n, 2)) LINE(torch::bitwise_and(3, n)) LINE(torch::bitwise_or(2, n))
  LINE(t.clamp(2)) LINE(t.clamp(2, 5)) LINE(t.clamp({2})) LINE(t.clamp({}, 5)) LINE(t.clamp({}, {5}))
  LINE(t.clamp(torch::nullopt, 5)) LINE(t.clamp(2, torch::nullopt)) LINE(t.clamp(t, t)) LINE(t.clamp(t))
  LINE(t.clamp({}, t)) LINE(t.clamp(t, {})) LINE(t.clamp(true)) LINE(t.clamp(0.5, 2)) LINE(t.clamp_min(2))
  LINE(t.clamp_max(t[0])) LINE(t.clip(2, 5)) LINE(torch::clamp(t, 2)) LINE(torch::clamp(t, {}, 5))
  LINE(torch::clamp(t, {2}, {5})) LINE(t.clamp_(2, 5)) LINE(t.clamp_({}, 5)) LINE(t.clamp())
  LINE(torch::where(t > 5, t, 0)) LINE(torch::where(t > 5, 1, 0)) LINE(torch::where(t > 5, 1.5, 0))
  LINE(torch::where(t > 5, t, t + 1)) LINE(torch::where(m)) LINE(torch::where(t > 5, 0, t))
  LINE(torch::where(t > 5, true, false)) LINE(torch::where(m, 1, 2)) LINE(t.where(t > 5, 0))
  LINE(t.where(t > 5, t)) LINE(t.where(t > 5, {0})) LINE(torch::pow(2, n)) LINE(torch::pow(2.0, t))
  LINE(torch::pow(n, -1)) LINE(n.pow(2)) LINE(n.pow(true)) LINE(n.pow(n)) LINE(t.pow({2})) LINE(t.float_power(2))
  LINE(n.float_power(2)) LINE(t.lerp(t, 0.5)) LINE(t.lerp(t, {0.5})) LINE(t.lerp(t, t)) LINE(t.addcmul(t, t))
  LINE(t.addcmul(t, t, 2)) LINE(t.fill_(2)) LINE(t.fill_(true)) LINE(t.fill_(t[0][1])) LINE(t.fill_({2}))
  LINE(t.nan_to_num(0)) LINE(t.nan_to_num({}, 0)) LINE(t.logit(0.1)) LINE(t.round()) LINE(t.round(1))
  LINE(torch::round(t, 1)) LINE(t.copysign(-1)) LINE(t.xlogy(2)) LINE(t.masked_fill(t > 5, 0))
  LINE(t.masked_fill(t > 5, true)) LINE(t.masked_fill(t > 5, {0})) LINE(t + 1) LINE(1 + t) LINE(n + 1.5)
  LINE(n + true) LINE(m + 1) LINE(t == 1) LINE(2 * n) LINE(1 - t) LINE(1 / (t + 1)) LINE(n / 2) LINE(n % 2)
  LINE(m & true) LINE(n & 1) LINE(n << 1) LINE(-n) LINE(!m) LINE(~m) LINE(t > 5) LINE(5 > t) LINE(t += 1)
  LINE(t *= true) LINE(t -= t)
}
void add_products(Lines& lines) {
  LINE(t.matmul(t.t())) LINE(torch::mm(t, t.t())) LINE(torch::addmm(t[0][0], t, t.t()))
  LINE(torch::addmm(t[0][0], t, t.t(), 0, 2)) LINE(torch::dot(t[0], t[1])) LINE(torch::outer(n, n))
  LINE(torch::cross(torch::ones_like(u), u)) LINE(torch::cdist(t, t)) LINE(torch::cdist(t, t, 1))
  LINE(torch::kron(n, n)) LINE(t.mv(t[0])) LINE(torch::dropout(t, 0, true)) LINE(torch::dropout(t, 0.5, false))
  LINE(torch::relu(t)) LINE(torch::leaky_relu(t, 0.1)) LINE(torch::leaky_relu(t, true))
  LINE(torch::softmax(t, {0})) LINE(torch::log_softmax(t, 1)) LINE(torch::log_softmax(t, {1}))
  LINE(torch::cumsum(t, {0})) LINE(torch::layer_norm(t, {5})) LINE(torch::layer_norm(t, 5))
  LINE(torch::layer_norm(t, v)) LINE(torch::max_pool2d(image, 2)) LINE(torch::max_pool2d(image, {2}))
  LINE(torch::max_pool2d(image, {2, 1})) LINE(torch::max_pool2d(image, {2, 2}, {1, 1}))
  LINE(torch::max_pool2d(image, 2, 1)) LINE(torch::max_pool2d(image, {2}, {1}, {1}))
  LINE(torch::max_pool2d(image, 2, 2, 0, 1, true)) LINE(torch::max_pool2d(image, 2, {}))
  LINE(torch::avg_pool2d(image, 2)) LINE(torch::avg_pool2d(image, {2, 1}))
  LINE(torch::avg_pool2d(image, 2, 1, 0, false, true)) LINE(torch::avg_pool2d(image, 2, 1, 1, true, false))
  LINE(torch::adaptive_avg_pool2d(image, 1)) LINE(torch::adaptive_avg_pool2d(image, {1}))
  LINE(torch::adaptive_avg_pool2d(image, {1, 2})) LINE(torch::adaptive_avg_pool2d(image, w))
  LINE(torch::max_pool1d(image[0], 2)) LINE(torch::max_pool1d(image[0], {2}, {1}))
  LINE(torch::avg_pool1d(image[0], 2)) LINE(torch::conv2d(image, image))
  LINE(torch::conv2d(image, image.slice(2, 0, 2).slice(3, 0, 2), {}, 2))
  LINE(torch::conv2d(image, image.slice(2, 0, 2), {}, {2}))
  LINE(torch::conv2d(image, image.slice(2, 0, 2), {}, {2, 1})) LINE(torch::conv2d(image, image, {}, 1, 1))
  LINE(torch::conv2d(image, image, {}, 1, {1, 0})) LINE(torch::conv2d(image, image.slice(2, 0, 1), {}, 1, "same"))
  LINE(torch::conv2d(image, image, {}, 1, {1}, {1}, 1))
  LINE(torch::conv2d(image, image.slice(1, 0, 1).expand({2, 1, 4, 4}), {}, 1, 0, 1, 2))
  LINE(torch::conv1d(image[0], image[0].unsqueeze(0).expand({1, 2, 4, 4})[0].slice(1, 0, 4), {}, 1))
  LINE(torch::conv_transpose2d(image, image, {}, 2)) LINE(torch::conv_transpose2d(image, image, {}, {2, 1}, {1}))
  LINE(torch::pixel_shuffle(image.view({1, 4, 4, 2}), 2)) LINE(torch::constant_pad_nd(t, {1}))
  LINE(torch::constant_pad_nd(t, {1, 1})) LINE(torch::constant_pad_nd(t, {1, 0}, 2))
  LINE(torch::constant_pad_nd(t, {}, 2)) LINE(torch::pad(t, {1, 1})) LINE(torch::pad(t, {1, 0}, "constant", 3))
  LINE(torch::im2col(image, {2, 2}, {1, 1}, {0, 0}, {2, 2})) LINE(torch::im2col(image, 2, 1, 0, 2))
  LINE(torch::channel_shuffle(image, 2)) LINE(torch::embedding(t, n)) LINE(torch::group_norm(image, 2))
  LINE(torch::cross_entropy_loss(t, n.repeat({2}))) LINE(torch::nll_loss(t, n.repeat({2})))
  LINE(torch::nll_loss(t, n.repeat({2}), {}, torch::Reduction::Sum)) LINE(torch::mse_loss(t, t + 1))
  LINE(torch::l1_loss(t, t + 2, torch::Reduction::None)) LINE(torch::binary_cross_entropy_with_logits(t, t))
  LINE(torch::cosine_similarity(t, t)) LINE(torch::cosine_similarity(t, t, 0))
  LINE(torch::pairwise_distance(t, t + 1)) LINE(torch::pairwise_distance(t, t + 1, 1))
}
void add_others(Lines& lines) {
  add_factories(lines);
  add_pointwise(lines);
  add_products(lines);
}

}  // namespace overloads
