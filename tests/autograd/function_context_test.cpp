// AutogradContext and what apply makes of the marks in it. The expected results are those of LibTorch 2.15.
#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;
using testing::show;

namespace {

Tensor leaf(std::vector<double> x) { return tensor(x, dtype(kDouble).requires_grad(true)); }
Tensor number(double x) { return tensor({x}, kDouble); }

// Writes memory that no operation sees: only the mark shows it.
struct WriteSeven : Function<WriteSeven> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.data_ptr<double>()[0] = 7;
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 0}; }
};
struct Identity : Function<Identity> {
  static Tensor forward(AutogradContext*, Tensor x) { return x; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 3}; }
};
// Twice x, in place, and six times x.
struct TwiceAndSix : Function<TwiceAndSix> {
  static variable_list forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return {x, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {2 * g[0] + 6 * g[1]}; }
};
struct Lost : Function<Lost> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    ctx->mark_dirty({x});
    return x * 2;
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {2 * g[0]}; }
};

}  // namespace

TEST_CASE("a marked write increments the version, whether it is recorded or not") {
  const Tensor x = leaf({1}), y = x * 1, squared = (y * y).sum();
  CHECK(WriteSeven::apply(y).is_same(y));
  CHECK(y._version() == 1);
  CHECK_THROWS_WITH_AS(squared.backward(), doctest::Contains("overwritten by WriteSeven"), Error);

  const Tensor plain = number(2);
  CHECK(WriteSeven::apply(plain).is_same(plain));
  CHECK(plain._version() == 1);
  const Tensor saved = number(2), product = saved * leaf({1});
  WriteSeven::apply(saved);
  CHECK_THROWS_WITH_AS(product.backward(), doctest::Contains("overwritten by WriteSeven"), Error);

  const NoGradGuard guard;
  const Tensor out = WriteSeven::apply(x);  // allowed here, for a leaf
  CHECK_FALSE(out.is_same(x));
  CHECK_FALSE(out.requires_grad());
  CHECK(x._version() == 1);
  CHECK(x.item<double>() == 7);
}

TEST_CASE("a tensor marked dirty must be an output, whether the call is recorded or not") {
  CHECK_THROWS_WITH_AS(Lost::apply(leaf({1}) * 1), doctest::Contains("Lost: a tensor marked dirty is not an output"),
                       Error);
  CHECK_THROWS_WITH_AS(Lost::apply(number(1)), doctest::Contains("Lost: a tensor marked dirty is not an output"),
                       Error);
}

TEST_CASE("an input that is returned as it is becomes a separate tensor with the same memory") {
  const Tensor x = leaf({1}), constant = number(1);
  for (const Tensor& input : {x, x * 1, constant}) {
    const Tensor out = Identity::apply(input);
    CHECK_FALSE(out.is_same(input));
    CHECK(out.data_ptr() == input.data_ptr());
    CHECK(out.requires_grad() == input.requires_grad());
  }
  Identity::apply(x * 2).backward();
  CHECK(show(x.grad()) == "[1] 6");
  const Tensor out = Identity::apply(constant);
  CHECK_THROWS_WITH_AS(out.mul_(x), doctest::Contains("a view that was returned by a custom function"), Error);
  CHECK_FALSE(Identity::apply(ones({2}, kLong)).requires_grad());
  const NoGradGuard guard;
  CHECK_FALSE(Identity::apply(x).is_same(x));
  CHECK_FALSE(Identity::apply(x).requires_grad());
}

TEST_CASE("an input is written in place and there is another output; the input may be a view") {
  Tensor x = leaf({1, 2}), y = x * 1;
  variable_list out = TwiceAndSix::apply(y);
  CHECK(out[0].is_same(y));
  (out[0] + out[1]).sum().backward();
  CHECK(show(x.grad()) == "[2] 8 8");
  // LibTorch refuses a view here.
  x = leaf({1, 2}), y = x * 1;
  const Tensor view = y.slice(0, 1);
  out = TwiceAndSix::apply(view);
  CHECK(show(y) == "[2] 1 4");
  (y.sum() + 10 * out[1].sum()).backward();
  CHECK(show(x.grad()) == "[2] 1 62");
}

TEST_CASE("a view that forward returns cannot be written while its base lives: the base would not know") {
  struct Rows : Function<Rows> {
    static variable_list forward(AutogradContext*, Tensor x) { return {x[0], x[1]}; }
    static variable_list backward(AutogradContext*, variable_list g) { return {stack({g[0], g[1]})}; }
  };
  const Tensor x = leaf({1, 2}), y = x * 1;
  const variable_list rows = Rows::apply(y);
  CHECK_THROWS_WITH_AS(rows[0].mul_(2), doctest::Contains("a view that was returned by a custom function"), Error);
  CHECK(show(y) == "[2] 1 2");
}

TEST_CASE("integer outputs and marked outputs have no gradient; what backward gets for them") {
  struct Sorted : Function<Sorted> {
    static variable_list forward(AutogradContext* ctx, Tensor x, bool materialize) {
      ctx->set_materialize_grads(materialize);
      auto [values, indices] = x.sort();
      const Tensor twice = values * 2;
      ctx->mark_non_differentiable({twice});
      CHECK(ctx->get_non_differentiable().size() == 1);
      CHECK(ctx->get_non_differentiable().count(twice.impl()) == 1);
      ctx->save_for_backward({indices});
      ctx->saved_data["materialize"] = materialize;
      return {values, indices, twice};
    }
    static variable_list backward(AutogradContext* ctx, variable_list g) {
      REQUIRE(g.size() == 3);
      const bool materialize = ctx->saved_data["materialize"].toBool();
      CHECK(g[1].defined() == materialize);
      CHECK(g[2].defined() == materialize);
      if (materialize) {
        CHECK(g[1].dtype() == kLong);
        CHECK(show(g[2]) == "[2] 0 0");
      }
      return {zeros_like(g[0]).scatter(0, ctx->get_saved_variables()[0], g[0]), Tensor()};
    }
  };
  for (const bool materialize : {true, false}) {
    const Tensor x = leaf({3, 1});
    const variable_list out = Sorted::apply(x, materialize);
    CHECK(out[0].requires_grad());
    CHECK_FALSE(out[1].requires_grad());
    CHECK_FALSE(out[2].requires_grad());
    CHECK(out[2].is_leaf());
    (out[0] * tensor({1.0, 10.0}, kDouble)).sum().backward();
    CHECK(show(x.grad()) == "[2] 10 1");
  }
}

TEST_CASE("an undefined gradient reaches the input as an undefined gradient") {
  struct Second : Function<Second> {
    static variable_list forward(AutogradContext* ctx, Tensor x) {
      ctx->set_materialize_grads(false);
      return {x * 2, x * 3};
    }
    static variable_list backward(AutogradContext*, variable_list g) { return {g[1].defined() ? g[1] * 3 : Tensor()}; }
  };
  const Tensor x = leaf({1}), y = x * 1;
  CHECK_FALSE(autograd::grad({Second::apply(y)[0]}, {x}, {}, nullopt, false, true)[0].defined());
  CHECK(show(autograd::grad({Second::apply(y)[1]}, {x})[0]) == "[1] 3");
}

TEST_CASE("needs_input_grad of ranges") {
  static std::string answers;
  struct Ask : Function<Ask> {
    static Tensor forward(AutogradContext*, Tensor a, Tensor b, Tensor c) { return a + b + c; }
    static variable_list backward(AutogradContext* ctx, variable_list g) {
      answers.clear();
      for (const bool needed :
           {ctx->needs_input_grad({{0, 1}}), ctx->needs_input_grad({{0, 2}}), ctx->needs_input_grad({{0, 1}, {2, 3}}),
            ctx->needs_input_grad({{0, 3}}), ctx->needs_input_grad({{1, 1}}), ctx->needs_input_grad({{1, 2}})})
        answers += needed ? '1' : '0';
      return {g[0], g[0], g[0]};
    }
  };
  const Tensor a = leaf({1}), b = number(1), c = leaf({1});
  Ask::apply(a, b, c).backward();
  CHECK(answers == "111100");
  autograd::grad({Ask::apply(a, b, c)}, {c});
  CHECK(answers == "001100");
}

TEST_CASE("get_saved_variables of a freed graph throws even if nothing was saved") {
  struct Nothing : Function<Nothing> {
    static Tensor forward(AutogradContext*, Tensor x) { return x * 1; }
    static variable_list backward(AutogradContext* ctx, variable_list g) {
      const variable_list saved = ctx->get_saved_variables();
      CHECK(saved.empty());
      return g;
    }
  };
  const Tensor y = Nothing::apply(leaf({1}));
  y.backward(Tensor(), true);
  y.backward();
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("NothingBackward: the graph was freed"), Error);
}
