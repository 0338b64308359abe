// float16 and bfloat16: conversions, rounding, mixed dtypes, views and in-place operations; autocast. The operations
// are compared with float64 by the harness of their descriptions.
#include <bit>
#include <cmath>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/torch_names.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

const ScalarType kHalves[] = {kHalf, kBFloat16};

// Whether a equals b rounded to a's dtype, NaN included.
bool is_rounded(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(kDouble), y = b.to(a.dtype()).to(kDouble);
  return ((x == y) | ((x != x) & (y != y))).all().item<bool>();
}

}  // namespace

TEST_CASE("conversions of whole tensors round as single elements do") {
  Tensor bits = arange(0, 65536, kInt).to(kShort);
  for (const ScalarType type : kHalves) {
    const Tensor all = bits.view(type), wide = all.to(kFloat);
    bool same = true;
    for (int64_t i = 0; i < 65536; ++i) {
      const auto b = static_cast<uint16_t>(i);
      float expected = 0;
      if (type == kHalf)
        expected = std::bit_cast<Half>(b);
      else
        expected = std::bit_cast<BFloat16>(b);
      const float got = wide.data_ptr<float>()[i];
      same = same &&
             (got == expected ? std::signbit(got) == std::signbit(expected) : std::isnan(got) && std::isnan(expected));
    }
    CHECK(same);
    const Tensor numbers = wide == wide;
    CHECK((wide.to(type).view(kShort) == bits).masked_select(numbers).all().item<bool>());
    // Halfway between neighbours, a little less and a little more, for vectors and for the rest of a row.
    const Tensor next = roll(wide, IntArrayRef(-1), IntArrayRef(0)), half = (wide.to(kDouble) + next.to(kDouble)) / 2;
    for (const double nudge : {0.0, -1e-6, 1e-6}) {
      const Tensor given = (half * (1 + nudge)).to(kFloat).narrow(0, 0, 65533);
      const Tensor got = given.to(type);
      for (int64_t i = 0; i < given.numel(); ++i) {
        const float x = given.data_ptr<float>()[i];
        const uint16_t wanted = type == kHalf ? Half(x).bits : BFloat16(x).bits;
        const auto have = static_cast<uint16_t>(got.view(kShort).data_ptr<int16_t>()[i]);
        same = same && (std::isnan(x) || wanted == have);
      }
    }
    CHECK(same);
  }
}

TEST_CASE("numbers are rounded except in products and quotients, as in PyTorch") {
  const Tensor x = linspace(-3, 3, 1001).to(kBFloat16), wide = x.to(kFloat);
  const double c = 0.1234567, r = full({}, c, kBFloat16).item<double>();
  CHECK(is_rounded(x + c, wide + r));
  CHECK(is_rounded(x - c, wide - r));
  CHECK(is_rounded(c - x, r - wide));
  CHECK(is_rounded(x * c, wide * c));
  CHECK(is_rounded(x / c, wide / c));
  CHECK(is_rounded(pow(abs(x), c), pow(abs(wide), r)));
  CHECK(is_rounded(fmod(x, c), fmod(wide, r)));
  CHECK((full({1}, c, kBFloat16) == c).item<bool>());
  CHECK(is_rounded(leaky_relu(x, c), leaky_relu(wide, c)));
}

TEST_CASE("dtypes of mixed operations") {
  const Tensor h = ones({2}, kHalf), b = ones({2}, kBFloat16), f = ones({2});
  CHECK(((h + 1).dtype() == kHalf));
  CHECK(((b * 2.5).dtype() == kBFloat16));
  CHECK(((h + b).dtype() == kFloat));
  CHECK(((h + f).dtype() == kFloat));
  CHECK(((b + ones({}, kDouble)).dtype() == kBFloat16));
  CHECK(((b + ones({2}, kLong)).dtype() == kBFloat16));
  CHECK((sum(h).dtype() == kHalf));
  CHECK((sum(h, kFloat).dtype() == kFloat));
  CHECK((softmax(b, 0, kFloat).dtype() == kFloat));
  CHECK((mse_loss(b, f).dtype() == kFloat));
  CHECK_THROWS_WITH_AS(mm(ones({2, 2}, kHalf), ones({2, 2})), doctest::Contains("dtypes differ"), Error);
  CHECK_THROWS_AS(bitwise_and(h, h), Error);
}

TEST_CASE("sums are accumulated in float32 and rounded once") {
  for (const ScalarType type : kHalves) {
    CHECK(sum(ones({10000}, type)).item<double>() == full({}, 10000, type).item<double>());
    const Tensor a = full({64, 4096}, 0.01, type), b = full({4096, 64}, 1, type);
    CHECK(is_rounded(mm(a, b), mm(a.to(kFloat), b.to(kFloat))));
    CHECK(is_rounded(embedding(a, zeros({1}, kLong)), a.narrow(0, 0, 1)));
    Tensor target = zeros({2}, type);
    target.index_add_(0, zeros({3000}, kLong), ones({3000}, type));
    CHECK(target[0].item<double>() == full({}, 3000, type).item<double>());
  }
}

TEST_CASE("views and in-place operations") {
  for (const ScalarType type : kHalves) {
    const Tensor base = linspace(-2, 2, 60).to(type).view({6, 10});
    for (const Tensor& x : {base.t(), base.narrow(1, 1, 7), base[0].expand({6, 10}), base.as_strided({5, 3}, {1, 2})}) {
      const Tensor wide = x.to(kFloat);
      CHECK(is_rounded(exp(x), exp(wide)));
      CHECK(is_rounded(x + x.flip({0}), wide + wide.flip({0})));
      CHECK(is_rounded(softmax(x, 0), softmax(wide, 0)));
      CHECK(is_rounded(x.sum(0), wide.sum(0)));
      CHECK(is_rounded(mm(x, x.t()), mm(wide, wide.t())));
      CHECK(is_rounded(addcmul(x, x, x), addcmul(wide, wide, wide)));
    }
    Tensor in_place = base.clone(), part = in_place.narrow(1, 2, 5), wide = part.to(kFloat);
    part.mul_(part).add_(1).sqrt_();
    wide = wide.mul(wide).to(type).to(kFloat).add(1).to(type).to(kFloat).sqrt();
    CHECK(is_rounded(part, wide));
    CHECK((in_place.narrow(1, 0, 2) == base.narrow(1, 0, 2)).all().item<bool>());
    CHECK((in_place.narrow(1, 7, 3) == base.narrow(1, 7, 3)).all().item<bool>());
    wide = part.to(kFloat);
    part.addcmul_(part, part.to(kFloat));
    CHECK(is_rounded(part, addcmul(wide, wide, wide)));
  }
}

TEST_CASE("normalisations take float32 parameters with a half input, and give them float32 gradients") {
  const Tensor x = randn({4, 6, 5}).to(kBFloat16).requires_grad_();
  const auto check_one = [&](const char* what, const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                             int64_t n) {
    CAPTURE(what);
    const Tensor w = rand({n}).requires_grad_(), wide = x.detach().to(kFloat).requires_grad_();
    const Tensor out = f(x, w), reference = f(wide, w);
    CHECK((out.dtype() == kBFloat16));
    CHECK(((out.to(kFloat) - reference).abs().max().item<double>() < 0.02));
    const Tensor g = randn(out.sizes()).to(kBFloat16);
    const auto have = autograd::grad({out}, {x, w}, {g}),
               wanted = autograd::grad({reference}, {wide, w}, {g.to(kFloat)});
    CHECK((have[0].dtype() == kBFloat16));
    CHECK((have[1].dtype() == kFloat));
    CHECK(((have[0].to(kFloat) - wanted[0]).abs().max().item<double>() < 0.05));
    CHECK(((have[1] - wanted[1]).abs().max().item<double>() < 1e-4));
  };
  check_one(
      "batch_norm", [](const Tensor& t, const Tensor& w) { return batch_norm(t, w, {}, {}, {}, true, 0.1, 1e-5); }, 6);
  check_one(
      "layer_norm", [](const Tensor& t, const Tensor& w) { return layer_norm(t, {5}, w, {}, 1e-5); }, 5);
  check_one(
      "group_norm", [](const Tensor& t, const Tensor& w) { return group_norm(t, 2, w, {}, 1e-5); }, 6);
  check_one(
      "rms_norm", [](const Tensor& t, const Tensor& w) { return rms_norm(t, {5}, w, 1e-5); }, 5);
}

TEST_CASE("autocast computes the operations of its lists in their dtypes") {
  const Tensor a = randn({3, 4}), b = randn({4, 5}), image = randn({1, 2, 6, 6}), kernel = randn({3, 2, 3, 3});
  const Tensor wide = randn({3, 4}, kDouble), half = a.to(kBFloat16);
  CHECK_FALSE(autocast::is_autocast_enabled(kCPU));
  {
    const autocast::AutocastGuard mixed(kCPU);
    CHECK(autocast::is_autocast_enabled(kCPU));
    CHECK_FALSE(autocast::is_autocast_enabled(kCUDA));
    CHECK((mm(a, b).dtype() == kBFloat16));
    CHECK((matmul(half, b).dtype() == kBFloat16));
    CHECK((addmm(randn({5}), a, b).dtype() == kBFloat16));
    CHECK((bmm(a.unsqueeze(0), b.unsqueeze(0)).dtype() == kBFloat16));
    CHECK((linear(a, b.t()).dtype() == kBFloat16));
    CHECK((conv2d(image, kernel, {}, {1}, {0}, {1}, 1).dtype() == kBFloat16));
    CHECK((scaled_dot_product_attention(image, image, image).dtype() == kBFloat16));
    CHECK(is_rounded(mm(a, b), mm(half.to(kDouble), b.to(kBFloat16).to(kDouble))));
    CHECK((mm(wide, wide.t()).dtype() == kDouble));
    CHECK((mse_loss(half, half).dtype() == kFloat));
    CHECK((cross_entropy_loss(half, zeros({3}, kLong)).dtype() == kFloat));
    CHECK((cat({a, half}).dtype() == kFloat));
    CHECK((cat({half, half}).dtype() == kBFloat16));
    CHECK((stack({half, a}).dtype() == kFloat));
    CHECK((relu(half).dtype() == kBFloat16));
    CHECK((exp(a).dtype() == kFloat));
    CHECK((layer_norm(half, {4}, ones({4}), zeros({4}), 1e-5).dtype() == kBFloat16));
    {
      const autocast::AutocastGuard without(kCPU, nullopt, false);
      CHECK((mm(a, b).dtype() == kFloat));
    }
    {
      const autocast::AutocastGuard other(kCPU, kHalf);
      CHECK((mm(a, b).dtype() == kHalf));
    }
    CHECK((mm(a, b).dtype() == kBFloat16));
  }
  CHECK((mm(a, b).dtype() == kFloat));
  CHECK_THROWS_AS(autocast::set_autocast_dtype(kCPU, kLong), Error);
}

TEST_CASE("autocast has a state for each type of devices, which ends with its region") {
  struct State {
    bool on[2], cache;
    ScalarType dtypes[2];
  };
  const auto expect = [](const State& s) {
    CHECK(autocast::is_cpu_enabled() == s.on[0]);
    CHECK(autocast::is_autocast_enabled(kCPU) == s.on[0]);
    CHECK(autocast::is_enabled() == s.on[1]);
    CHECK(autocast::is_autocast_enabled(kCUDA) == s.on[1]);
    CHECK(autocast::is_autocast_cache_enabled() == s.cache);
    CHECK((autocast::get_autocast_dtype(kCPU) == s.dtypes[0]));
    CHECK((autocast::get_autocast_cpu_dtype() == s.dtypes[0]));
    CHECK((autocast::get_autocast_dtype(kCUDA) == s.dtypes[1]));
    CHECK((autocast::get_autocast_gpu_dtype() == s.dtypes[1]));
  };
  const State plain{{false, false}, true, {kBFloat16, kHalf}};
  expect(plain);
  {
    const autocast::AutocastGuard cuda(kCUDA);
    expect({{false, true}, true, {kBFloat16, kHalf}});
    {
      const autocast::AutocastGuard cpu(kCPU, kHalf, true, false);
      expect({{true, true}, false, {kHalf, kHalf}});
      CHECK(autocast::increment_nesting() == 3);
      CHECK(autocast::decrement_nesting() == 2);
      {
        const autocast::AutocastGuard off(kCUDA, kFloat, false);
        expect({{true, false}, true, {kHalf, kFloat}});
      }
      expect({{true, true}, false, {kHalf, kHalf}});
    }
    expect({{false, true}, true, {kBFloat16, kHalf}});
  }
  expect(plain);
  const auto throws = [] {
    const autocast::AutocastGuard guard(kCPU, kHalf);
    fail("inside");
  };
  CHECK_THROWS_AS(throws(), Error);
  expect(plain);
  autocast::set_enabled(true);
  autocast::set_autocast_gpu_dtype(kBFloat16);
  expect({{false, true}, true, {kBFloat16, kBFloat16}});
  autocast::set_cpu_enabled(true);
  autocast::set_autocast_cpu_dtype(kFloat);
  autocast::set_autocast_cache_enabled(false);
  expect({{true, true}, false, {kFloat, kBFloat16}});
  for (const ScalarType type : {kDouble, kLong, kComplexFloat})
    CHECK_THROWS_WITH_AS(autocast::set_autocast_dtype(kCPU, type),
                         doctest::Contains("expected float16, bfloat16 or float32, got"), Error);
  CHECK_THROWS_AS(static_cast<void>(autocast::AutocastGuard(kCUDA, kDouble)), Error);
  expect({{true, true}, false, {kFloat, kBFloat16}});
  autocast::set_enabled(false);
  autocast::set_cpu_enabled(false);
  autocast::set_autocast_gpu_dtype(kHalf);
  autocast::set_autocast_cpu_dtype(kBFloat16);
  autocast::set_autocast_cache_enabled(true);
  expect(plain);
}

TEST_CASE("what autocast converts, what it keeps, and the widest dtype of several tensors") {
  const Tensor w = ones({2}).requires_grad_(), constant = ones({2}), half = ones({2}, kHalf), wide = ones({2}, kDouble),
               integers = ones({2}, kLong), complex = ones({2}, kComplexFloat), none;
  const auto cast = [](ScalarType type, const Tensor& t) { return autocast::cached_cast(type, t, kCPU); };
  for (const Tensor* t : {&wide, &integers, &complex, &half, &none}) CHECK(cast(kHalf, *t).is_same(*t));
  CHECK(cast(kFloat, w).is_same(w));
  CHECK(autocast::cached_cast(kHalf, w).is_same(w));  // on another type of devices
  CHECK((cast(kFloat, half).dtype() == kFloat));
  CHECK_FALSE(cast(kHalf, w).is_same(cast(kHalf, w)));  // outside of any region
  const autocast::AutocastGuard region(kCPU);
  const auto kept = [&](const Tensor& t, ScalarType type = kHalf) {
    const Tensor first = cast(type, t), second = cast(type, t);
    CHECK((first.dtype() == type));
    CHECK((second.dtype() == type));
    return first.is_same(second);
  };
  CHECK(kept(w));
  CHECK(kept(w, kBFloat16));  // instead of the other one
  CHECK(kept(w));
  CHECK_FALSE(kept(constant));
  CHECK_FALSE(kept(w * 2));
  CHECK_FALSE(kept(ones({2}, kHalf).requires_grad_(), kFloat));
  CHECK_FALSE(kept(w.detach()));
  {
    const NoGradGuard no_grad;
    CHECK_FALSE(kept(w));
  }
  autocast::set_autocast_cache_enabled(false);
  CHECK_FALSE(kept(w));
  autocast::set_autocast_cache_enabled(true);
  const Tensor before = cast(kHalf, w);
  autocast::clear_cache();
  CHECK_FALSE(cast(kHalf, w).is_same(before));
  CHECK(kept(w));

  const Tensor bfloat = ones({2}, kBFloat16);
  const auto widest = [](std::initializer_list<const Tensor*> tensors, DeviceType device = kCPU) {
    return autocast::widest(tensors, device);
  };
  CHECK((widest({}) == kBFloat16));
  CHECK((widest({&bfloat, &bfloat}) == kBFloat16));
  CHECK((widest({&bfloat, &constant}) == kFloat));
  CHECK((widest({&constant, &bfloat}) == kFloat));
  CHECK((widest({&bfloat, &half}) == kFloat));
  CHECK((widest({&none, &wide, &integers, &complex, &bfloat}) == kBFloat16));
  CHECK((widest({&constant}, kCUDA) == kHalf));
}

TEST_CASE("autocast converts a leaf once, and its gradient is float32") {
  manual_seed(6);
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({2, 4});
  const auto loss = [&](bool cache) {
    const autocast::AutocastGuard mixed(kCPU, kBFloat16, true, cache);
    const Tensor first = autocast::cached_cast(kBFloat16, w, kCPU), second = autocast::cached_cast(kBFloat16, w, kCPU);
    CHECK(first.is_same(second) == cache);
    {
      const NoGradGuard no_grad;
      CHECK_FALSE(autocast::cached_cast(kBFloat16, w, kCPU).is_same(first));
    }
    return mse_loss(linear(relu(linear(x, w)), w), x);
  };
  Tensor gradients[2];
  for (const bool cache : {false, true}) {
    gradients[cache] = autograd::grad({loss(cache)}, {w})[0];
    CHECK((gradients[cache].dtype() == kFloat));
  }
  const Tensor exact = autograd::grad({mse_loss(linear(relu(linear(x, w)), w), x)}, {w})[0];
  // With the cache the two parts of the gradient are added in bfloat16: few roundings, each of at most 2^-8.
  CHECK(((gradients[0] - gradients[1]).abs().max().item<double>() < 0.02 * exact.abs().max().item<double>()));
  CHECK(((gradients[1] - exact).norm().item<double>() < 0.05 * (1 + exact.norm().item<double>())));
  // After the region nothing is kept: a changed leaf is converted again.
  {
    const autocast::AutocastGuard mixed(kCPU);
    const Tensor before = autocast::cached_cast(kBFloat16, w, kCPU);
    {
      const NoGradGuard no_grad;
      Tensor(w).add_(1);
    }
    CHECK_FALSE(autocast::cached_cast(kBFloat16, w, kCPU).is_same(before));
  }
  CHECK(autocast::increment_nesting() == 1);
  CHECK(autocast::decrement_nesting() == 0);
}

TEST_CASE("a checkpointed function is computed again with the autocast of the forward pass") {
  const Tensor w = randn({8, 4}).requires_grad_(), x = randn({5, 4}).requires_grad_();
  const auto f = [&](const Tensor& t) { return (linear(t, w).tanh() + linear(t, w)).sigmoid(); };
  const auto gradients = [&](bool checkpointed) {
    Tensor y;
    {
      const autocast::AutocastGuard mixed(kCPU, kBFloat16);
      y = checkpointed ? utils::checkpoint(f, x) : f(x);
    }
    CHECK(y.dtype() == kBFloat16);
    return autograd::grad({y.to(kFloat).sum()}, {w, x});
  };
  const auto plain = gradients(false), again = gradients(true);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(again[i].dtype() == kFloat);
    CHECK(equal(plain[i], again[i]));
  }
}

TEST_CASE("autocast converts the weights of recurrent layers, and leaves written tensors and pinv in float32") {
  const Tensor x = randn({3, 2, 4}), w_ih = randn({12, 4}), w_hh = randn({12, 3}), b = zeros({12}),
               state = zeros({1, 2, 3});
  const autocast::AutocastGuard mixed(kCPU, kBFloat16);
  const Tensor h = linear(x, randn({4, 4}));
  CHECK(h.dtype() == kBFloat16);
  const auto [out, h_n, c_n] = lstm(h, std::vector<Tensor>{state, state}, std::vector<Tensor>{w_ih, w_hh, b, b}, true,
                                    1, 0, false, false, false);
  CHECK(out.dtype() == kBFloat16);
  const Tensor a = randn({4, 4}), full = randn({8, 4});
  Tensor sum = zeros({4, 4}), strided = zeros({8, 4}).slice(0, 0, 8, 2);
  sum.addmm_(a, a);
  strided.addmm_(a, a);
  CHECK(allclose(sum, strided, 1e-6, 1e-6));
  CHECK(linalg_pinv(full).dtype() == kFloat);
  CHECK(allclose(linalg_pinv(full).to(kDouble), linalg_pinv(full.to(kDouble)), 1e-3, 1e-4));
}

TEST_CASE("functions with out compute in the dtypes of their arguments under autocast") {
  const Tensor a = randn({4, 4}), b = randn({4, 4}), half = a.to(kBFloat16);
  const Tensor product = mm(a, b), rounded = mm(half, half), sum = addmm(a, a, b), power = matrix_power(a, 3),
               products = prod(half, 0);
  const autocast::AutocastGuard mixed(kCPU, kBFloat16);
  Tensor out = empty({4, 4}), narrow = empty({4, 4}, kBFloat16);
  CHECK(equal(mm_out(out, a, b), product));
  CHECK(equal(addmm_out(out, a, a, b), sum));
  CHECK(equal(matrix_power_out(out, a, 3), power));
  CHECK(equal(mm_out(narrow, half, half), rounded));
  Tensor row = empty({4}, kBFloat16);
  CHECK(equal(prod_out(row, half, 0), products));
  CHECK_THROWS_WITH_AS(mm_out(out, a, half), doctest::Contains("mm"), Error);
  CHECK(autocast::is_autocast_enabled(kCPU));
  CHECK(mm(a, b).dtype() == kBFloat16);
}

TEST_CASE("under autocast, decompositions and Fourier transforms of half types compute in float32") {
  const Tensor a = randn({4, 4}), positive = mm(a, a.t()) + 4 * eye(4);
  const Tensor half = positive.to(kBFloat16), exact = half.to(kFloat), x = randn({16}).to(kBFloat16);
  CHECK_THROWS_AS(linalg_cholesky(half), Error);
  CHECK_THROWS_AS(fft_fft(x), Error);
  using One = Tensor (*)(const Tensor&);
  const std::pair<const char*, One> functions[] = {
      {"cholesky", [](const Tensor& t) { return linalg_cholesky(t); }},
      {"cholesky_inverse", [](const Tensor& t) { return cholesky_inverse(t); }},
      {"cholesky_solve", [](const Tensor& t) { return cholesky_solve(t, t); }},
      {"cond", [](const Tensor& t) { return linalg_cond(t); }},
      {"cond 1", [](const Tensor& t) { return linalg_cond(t, 1); }},
      {"det", [](const Tensor& t) { return linalg_det(t); }},
      {"logdet", [](const Tensor& t) { return logdet(t); }},
      {"eig", [](const Tensor& t) { return real(std::get<1>(linalg_eig(t))); }},
      {"eigvals", [](const Tensor& t) { return real(linalg_eigvals(t)); }},
      {"eigh", [](const Tensor& t) { return std::get<1>(linalg_eigh(t)); }},
      {"eigvalsh", [](const Tensor& t) { return linalg_eigvalsh(t); }},
      {"inv", [](const Tensor& t) { return linalg_inv(t); }},
      {"ldl", [](const Tensor& t) { return std::get<0>(linalg_ldl_factor(t)); }},
      {"lu", [](const Tensor& t) { return std::get<1>(linalg_lu(t)); }},
      {"lstsq", [](const Tensor& t) { return std::get<0>(linalg_lstsq(t, t)); }},
      {"matrix_rank", [](const Tensor& t) { return linalg_matrix_rank(t).to(kFloat); }},
      {"pinv", [](const Tensor& t) { return linalg_pinv(t); }},
      {"qr", [](const Tensor& t) { return std::get<0>(linalg_qr(t)); }},
      {"geqrf", [](const Tensor& t) { return std::get<0>(geqrf(t)); }},
      {"householder_product", [](const Tensor& t) { return linalg_householder_product(t, t.select(0, 0)); }},
      {"ormqr", [](const Tensor& t) { return ormqr(t, t.select(0, 0), t); }},
      {"solve", [](const Tensor& t) { return linalg_solve(t, t.narrow(1, 0, 2)); }},
      {"solve_triangular", [](const Tensor& t) { return linalg_solve_triangular(t, t, true); }},
      {"triangular_solve", [](const Tensor& t) { return std::get<0>(triangular_solve(t, t)); }},
      {"svd", [](const Tensor& t) { return std::get<0>(linalg_svd(t)); }},
      {"svdvals", [](const Tensor& t) { return linalg_svdvals(t); }},
      {"tensorinv",
       [](const Tensor& t) {
         return linalg_tensorinv(t.view({4, 2, 2}), 1);
       }},
      {"fft", [](const Tensor& t) { return view_as_real(fft_fft(t)); }},
      {"rfft2", [](const Tensor& t) { return view_as_real(fft_rfft2(t)); }},
      {"irfft", [](const Tensor& t) { return fft_irfft(t); }},
      {"stft", [](const Tensor& t) {
         return stft(t, 4, nullopt, nullopt, t.select(0, 0), true, "reflect", false, nullopt, false);
       }}};
  for (const auto& [name, f] : functions) {
    const std::string of = name;
    CAPTURE(of);
    const Tensor expected = f(exact);
    const autocast::AutocastGuard mixed(kCPU, kBFloat16);
    const Tensor got = f(half);
    CHECK(got.dtype() == kFloat);
    CHECK(equal(got, expected));
    CHECK(equal(f(exact), expected));
  }
  // A gradient passes through the conversion.
  const Tensor leaf = half.clone().requires_grad_();
  const autocast::AutocastGuard mixed(kCPU, kBFloat16);
  linalg_det(leaf).backward();
  CHECK(leaf.grad().dtype() == kBFloat16);
}
