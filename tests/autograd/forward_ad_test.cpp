// Tangents of dual tensors, against closed forms and functional::jvp.
#include "tandem/autograd/forward_ad.h"

#include <doctest/doctest.h>

#include <complex>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/functional.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"

using namespace tandem;
using namespace tandem::autograd;

namespace {

struct DualLevel {
  const int64_t number = static_cast<int64_t>(forward_ad::enter_dual_level());
  ~DualLevel() { forward_ad::exit_dual_level(static_cast<uint64_t>(number)); }
};

Tensor tangent(const Tensor& of) { return std::get<1>(_unpack_dual(of, 0)); }
bool near(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && a.detach().allclose(b.detach(), 1e-10, 1e-12);
}
const Tensor x = tensor({0.5, -1.0, 2.0}, kDouble), v = tensor({1.0, 3.0, -2.0}, kDouble);

}  // namespace

TEST_CASE("a tangent is the Jacobian times the tangents of the dual tensors") {
  const DualLevel level;
  const Tensor a = _make_dual(x, v, level.number);
  CHECK(near(tangent(a), v));
  CHECK(near(tangent(a.exp()), x.exp() * v));
  CHECK(near(tangent((a * a).sum()), (2 * x * v).sum()));
  CHECK(near(tangent(a.cumprod(0)), functional::jvp([](const Tensor& y) { return y.cumprod(0); }, x, v).second));
  CHECK_FALSE(tangent(a.exp()).requires_grad());
  // Two dual tensors.
  const Tensor b = _make_dual(x * 2, ones_like(x), level.number);
  CHECK(near(tangent(a * b), v * x * 2 + x));
  CHECK(near(std::get<0>(_unpack_dual(a * b, level.number)), x * x * 2));
}

TEST_CASE("tensors without a tangent") {
  const DualLevel level;
  const Tensor a = _make_dual(x, v, level.number);
  CHECK_FALSE(tangent(x).defined());
  CHECK_FALSE(tangent(x * 2).defined());
  CHECK_FALSE(tangent(a.detach()).defined());
  CHECK_FALSE(tangent(a > 0).defined());
  const Tensor weight = x.clone().requires_grad_();
  CHECK_FALSE(tangent(weight * 2).defined());
  CHECK(near(tangent(a.sign()), zeros_like(x)));
}

TEST_CASE("in-place operations on a dual tensor change the primal and the tangent") {
  const DualLevel level;
  const Tensor primal = x.clone(), a = _make_dual(primal, v, level.number);
  a.mul_(3);
  a[0].add_(a[1]);
  CHECK(near(tangent(a), tensor({3.0 + 9.0, 9.0, -6.0}, kDouble)));
  CHECK(primal[2].item<double>() == 6);
}

TEST_CASE("tangents have gradients with respect to primals and to other leaves") {
  const DualLevel level;
  const Tensor primal = x.clone().requires_grad_(), weight = (x + 1).requires_grad_();
  const Tensor a = _make_dual(primal, v, level.number);
  const Tensor derivative = tangent(a.pow(3) * weight);  // 3 x² w v
  CHECK(near(derivative, 3 * x * x * (x + 1) * v));
  const auto g = grad({derivative.sum()}, {primal, weight});
  CHECK(near(g[0], 6 * x * (x + 1) * v));
  CHECK(near(g[1], 3 * x * x * v));
}

TEST_CASE("complex dual tensors") {
  using C = std::complex<double>;
  const DualLevel level;
  const Tensor z = tensor({C(1, 2), C(-0.5, 0.25)}), direction = tensor({C(0, 1), C(2, -1)});
  const Tensor a = _make_dual(z, direction, level.number);
  CHECK(near(tangent(a * a), 2 * z * direction));
  CHECK(near(tangent(a.conj() * a), z.conj() * direction + direction.conj() * z));  // not holomorphic
}

TEST_CASE("levels: one at a time; tangents end with theirs") {
  Tensor y;
  {
    const DualLevel level;
    CHECK_THROWS_WITH_AS(forward_ad::enter_dual_level(), doctest::Contains("cannot be nested"), Error);
    CHECK_THROWS_WITH_AS(forward_ad::exit_dual_level(1), doctest::Contains("level 1 is not active"), Error);
    const Tensor a = _make_dual(x, v, level.number);
    y = a * a;
    CHECK_THROWS_WITH_AS(_make_dual(a, v, 0), doctest::Contains("dual tensor already"), Error);
    CHECK_THROWS_WITH_AS(_make_dual(x, v.slice(0, 1), 0), doctest::Contains("the tangent must have"), Error);
    CHECK_THROWS_WITH_AS(_make_dual(x.to(kLong), v.to(kLong), 0), doctest::Contains("floating point"), Error);
    CHECK_THROWS_WITH_AS(_make_dual(x, v, 3), doctest::Contains("dual level 3 does not exist"), Error);
  }
  CHECK_FALSE(tangent(y).defined());
  CHECK_THROWS_WITH_AS(_make_dual(x, v, 0), doctest::Contains("call enter_dual_level()"), Error);
  CHECK_THROWS_AS(forward_ad::exit_dual_level(0), Error);
}

TEST_CASE("what a dual tensor refuses, and what stays of one whose level has ended") {
  CHECK_THROWS_WITH_AS(forward_ad::exit_dual_level(0), doctest::Contains("exit_dual_level: dual level 0 is not active"),
                       Error);
  CHECK_THROWS_WITH_AS(_make_dual(x, v, 0), doctest::Contains("_make_dual: dual level 0 is not active"), Error);
  Tensor old;
  {
    const DualLevel level;
    old = _make_dual(x, v, level.number);
    for (const auto& [primal, tangent] :
         {std::pair<Tensor, Tensor>{Tensor(), v}, {x, Tensor()}, {x, v.to(kFloat)}, {x, v.unsqueeze(0)}})
      CHECK_THROWS_AS(_make_dual(primal, tangent, 0), Error);
    CHECK_THROWS_WITH_AS(_make_dual(x, v, -1), doctest::Contains("level -1 does not exist, the active one is 0"),
                         Error);
    CHECK_FALSE(std::get<1>(_unpack_dual(old, 1)).defined());
    CHECK(near(std::get<0>(_unpack_dual(old, 1)), x));
    CHECK_THROWS_WITH_AS(_unpack_dual(Tensor(), 0), doctest::Contains("undefined"), Error);
    CHECK(near(tangent(old), v));
  }
  const DualLevel level;
  CHECK_FALSE(tangent(old).defined());
  const Tensor a = _make_dual(x, v * 2, level.number);
  CHECK(near(tangent(a + old), v * 2));
}

TEST_CASE("tangents depend on what the tangents of dual tensors depend on") {
  const DualLevel level;
  const Tensor direction = v.clone().requires_grad_();
  const Tensor a = _make_dual(x, direction, level.number), b = _make_dual(x + 1, v, level.number);
  const Tensor derivative = tangent((a * a * b).sum());  // 2 x (x + 1) d + x² v
  CHECK(near(derivative, (2 * x * (x + 1) * v + x * x * v).sum()));
  CHECK(near(grad({derivative}, {direction})[0], 2 * x * (x + 1)));
  CHECK(near(tangent(b * b), 2 * (x + 1) * v));
  // Recording may be off where a tangent is asked for.
  const NoGradGuard no_grad;
  CHECK(near(tangent(a), v));
}
