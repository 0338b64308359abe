// Custom functions: contexts, saved tensors, several outputs, in-place writes, double backward, threads,
// errors.
#include "tandem/autograd/function.h"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"

using namespace tandem;
using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;

namespace {

double at(const Tensor& t, int64_t i = 0) {
  const Tensor d = t.detach().to(kDouble).contiguous();
  return d.data_ptr<double>()[i];
}
Tensor leaf(std::vector<double> x) { return tensor(x, dtype(kDouble).requires_grad(true)); }

struct Square : Function<Square> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {2 * ctx->get_saved_variables()[0] * grads[0]};
  }
};

// The example from LibTorch's documentation.
struct MulConstant : Function<MulConstant> {
  static Tensor forward(AutogradContext* ctx, Tensor tensor, double constant) {
    ctx->saved_data["constant"] = constant;
    return tensor * constant;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * ctx->saved_data["constant"].toDouble(), Tensor()};
  }
};

struct Linear : Function<Linear> {
  static Tensor forward(AutogradContext* ctx, Tensor input, Tensor weight, Tensor bias = Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    Tensor out = input.mm(weight.t());
    return bias.defined() ? out + bias : out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor& g = grads[0];
    Tensor bias;
    if (saved[2].defined()) bias = g.sum(IntArrayRef{0});
    return {g.mm(saved[1]), g.t().mm(saved[0]), bias};
  }
};

struct SumAndProduct : Function<SumAndProduct> {
  static bool got_undefined;
  static variable_list forward(AutogradContext* ctx, const Tensor& a, const Tensor& b, bool materialize) {
    ctx->save_for_backward({a, b});
    ctx->set_materialize_grads(materialize);
    return {a + b, a * b};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    got_undefined = !grads[0].defined() || !grads[1].defined();
    Tensor a, b;
    if (grads[0].defined()) a = b = grads[0];
    if (grads[1].defined()) {
      a = a.defined() ? a + grads[1] * saved[1] : grads[1] * saved[1];
      b = b.defined() ? b + grads[1] * saved[0] : grads[1] * saved[0];
    }
    return {a, b, Tensor()};
  }
};
bool SumAndProduct::got_undefined = false;

struct DoubleInPlace : Function<DoubleInPlace> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2}; }
};

struct Exp : Function<Exp> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    Tensor y = x.exp();
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * ctx->get_saved_variables()[0]};
  }
};

struct Pass : Function<Pass> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, const Tensor& y) {
    ctx->mark_non_differentiable({y});
    return {x, y};
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 5, Tensor()}; }
};

struct Wrong : Function<Wrong> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t mode) {
    ctx->saved_data["mode"] = mode;
    return x * 1;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    switch (ctx->saved_data["mode"].toInt()) {
      case 0:
        return {grads[0]};
      case 1:
        return {grads[0], grads[0]};
      case 2:
        return {grads[0], Tensor(), Tensor(), Tensor()};  // extra undefined gradients are ignored
      default:
        return {grads[0].view({-1, 1}).expand({2, 5}), Tensor()};
    }
  }
};

}  // namespace

TEST_CASE("one input, one output") {
  Tensor x = leaf({1, -2, 3});
  Tensor y = Square::apply(x);
  CHECK(at(y, 2) == 9);
  CHECK(y.requires_grad());
  CHECK(std::string(y.grad_fn()->name()) == "SquareBackward");
  (y * y).sum().backward();
  CHECK(at(x.grad(), 1) == 4 * -8);
}

TEST_CASE("second and third derivatives through a custom function") {
  Tensor x = leaf({3});
  Tensor y = Square::apply(Square::apply(x));  // x^4
  Tensor g = autograd::grad({y}, {x}, {}, nullopt, true)[0];
  Tensor h = autograd::grad({g}, {x}, {}, nullopt, true)[0];
  Tensor k = autograd::grad({h}, {x})[0];
  CHECK(at(g) == 4 * 27);
  CHECK(at(h) == 12 * 9);
  CHECK(at(k) == 24 * 3);
  Tensor z = leaf({0.5});
  Tensor d = autograd::grad({Exp::apply(z)}, {z}, {}, nullopt, true)[0];  // Exp saves its output
  CHECK(at(autograd::grad({d}, {z})[0]) == doctest::Approx(std::exp(0.5)));
}

TEST_CASE("non-tensor arguments, undefined tensors, matrices") {
  Tensor x = leaf({1, 2});
  MulConstant::apply(x, 5.5).sum().backward();
  CHECK(at(x.grad(), 1) == 5.5);
  Tensor input = leaf({1, 2, 3, 4}).view({2, 2}), weight = leaf({1, 0, 2, 1}).view({2, 2}), bias = leaf({1, 1});
  weight.retain_grad();
  Linear::apply(input, weight, Tensor()).sum().backward();
  CHECK(at(weight.grad(), 0) == 4);
  CHECK(at(weight.grad(), 1) == 6);
  Linear::apply(input.detach(), weight.detach(), bias).sum().backward();
  CHECK(at(bias.grad()) == 2);
}

TEST_CASE("several outputs; unused ones arrive as zeros or undefined") {
  for (bool materialize : {true, false}) {
    Tensor a = leaf({2}), b = leaf({7});
    auto out = SumAndProduct::apply(a, b, materialize);
    CHECK(out.size() == 2);
    CHECK(out[0].output_nr() == 0);
    CHECK(out[1].output_nr() == 1);
    out[1].backward();
    CHECK(at(a.grad()) == 7);
    CHECK(at(b.grad()) == 2);
    CHECK(SumAndProduct::got_undefined == !materialize);
  }
  Tensor a = leaf({2}), b = leaf({7});
  auto out = SumAndProduct::apply(a, b, true);
  (out[0] * 10 + out[1]).backward();
  CHECK(at(a.grad()) == 17);
}

TEST_CASE("in-place write") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  Tensor z = DoubleInPlace::apply(y);
  CHECK(z.is_same(y));
  CHECK(at(y, 1) == 12);
  y.sum().backward();
  CHECK(at(x.grad()) == 6);
  CHECK_THROWS_WITH_AS(DoubleInPlace::apply(x),
                       doctest::Contains("DoubleInPlace: a leaf Variable that requires grad is written in place"),
                       Error);
  Tensor saved = leaf({1, 2}) * 1, w = (saved * saved).sum();
  DoubleInPlace::apply(saved);
  CHECK_THROWS_WITH_AS(w.backward(), doctest::Contains("overwritten by DoubleInPlace"), Error);
}

TEST_CASE("an in-place write to a view reaches its base") {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1;
  Tensor v = y.as_strided({2}, {1}, 1);
  DoubleInPlace::apply(v);
  (y * tensor({1.0, 10.0, 100.0, 1000.0}, kDouble)).sum().backward();
  CHECK(at(x.grad(), 0) == 1);
  CHECK(at(x.grad(), 1) == 20);
  CHECK(at(x.grad(), 2) == 200);
  CHECK(at(x.grad(), 3) == 1000);
}

TEST_CASE("in-place write to a view with the output saved: second derivatives") {
  struct ExpInPlace : Function<ExpInPlace> {
    static Tensor forward(AutogradContext* ctx, Tensor x) {
      x.exp_();
      ctx->mark_dirty({x});
      ctx->save_for_backward({x});
      return x;
    }
    static variable_list backward(AutogradContext* ctx, variable_list grads) {
      return {grads[0] * ctx->get_saved_variables()[0]};
    }
  };
  Tensor x = leaf({0.1, 0.2}), y = x * 1, v = y.slice(0, 0, 1);
  ExpInPlace::apply(v);
  const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, nullopt, true)[0];
  CHECK(at(g, 0) == doctest::Approx(2 * std::exp(0.2)));
  CHECK(at(g, 1) == doctest::Approx(0.4));
  const Tensor h = autograd::grad({g.sum()}, {x})[0];
  CHECK(at(h, 0) == doctest::Approx(4 * std::exp(0.2)));
  CHECK(at(h, 1) == doctest::Approx(2));
}

TEST_CASE("each tensor of a TensorList is an argument; an empty optional is not") {
  struct Sum : Function<Sum> {
    static Tensor forward(AutogradContext* ctx, double factor, TensorList list, optional<Tensor> last) {
      ctx->saved_data["factor"] = factor;
      Tensor sum = last ? *last * factor : zeros({1}, kDouble);
      for (const Tensor& t : list) sum = sum + t * factor;
      return sum;
    }
    static variable_list backward(AutogradContext* ctx, variable_list g) {
      CHECK(ctx->needs_input_grad(0));
      CHECK_FALSE(ctx->needs_input_grad(1));
      const Tensor all = g[0] * ctx->saved_data["factor"].toDouble();
      return {Tensor(), all, all, ctx->needs_input_grad(2) ? all : Tensor()};
    }
  };
  Tensor a = leaf({1}), b = ones({1}, kDouble), c = leaf({3});
  const std::vector<Tensor> list{a, b};
  Sum::apply(2.0, TensorList(list), optional<Tensor>(c)).backward();
  CHECK(at(a.grad()) == 2);
  CHECK(at(c.grad()) == 2);
  Sum::apply(3.0, TensorList(list), optional<Tensor>()).backward();
  CHECK(at(a.grad()) == 5);
  CHECK(at(c.grad()) == 2);
}

TEST_CASE("an input returned unchanged; outputs without gradient") {
  Tensor x = leaf({1}), y = leaf({2});
  auto out = Pass::apply(x, y);
  CHECK_FALSE(out[0].is_same(x));
  CHECK(out[0].data_ptr() == x.data_ptr());
  CHECK(x.is_leaf());
  CHECK_FALSE(out[1].requires_grad());
  CHECK(y.requires_grad());
  (out[0] * out[1]).backward();
  CHECK(at(x.grad()) == 10);
  CHECK_FALSE(y.grad().defined());
}

TEST_CASE(
    "writing an input returned unchanged, or a part of it, throws: the write would miss the input's "
    "gradient") {
  struct Part : Function<Part> {
    static Tensor forward(AutogradContext*, const Tensor& x) { return x.slice(0, 0, 1); }
    static variable_list backward(AutogradContext*, variable_list g) { return g; }
  };
  Tensor x = leaf({1, 2}), h = x * 1, y = Pass::apply(h, x * 2)[0], part = Part::apply(h);
  CHECK_THROWS_WITH_AS(y.mul_(5), doctest::Contains("a view that was returned by a custom function"), Error);
  CHECK_THROWS_WITH_AS(part.mul_(5), doctest::Contains("a view that was returned by a custom function"), Error);
  CHECK(at(h, 1) == 2);
  NoGradGuard guard;
  y.mul_(5);
  CHECK(at(h, 1) == 10);
}

TEST_CASE("forward is not recorded, and nothing is recorded needlessly") {
  static bool enabled;
  struct Look : Function<Look> {
    static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
      enabled = GradMode::is_enabled() || ctx->needs_input_grad(1) || !ctx->needs_input_grad(0);
      return a + b;
    }
    static variable_list backward(AutogradContext* ctx, variable_list g) {
      CHECK(ctx->needs_input_grad(0));
      CHECK_FALSE(ctx->needs_input_grad(1));
      CHECK_FALSE(ctx->needs_input_grad(2));
      return {g[0], g[0]};
    }
  };
  Tensor a = leaf({1}), b = ones({1}, kDouble);
  Look::apply(a, b).backward();
  CHECK_FALSE(enabled);
  CHECK_FALSE(b.grad().defined());
  CHECK_FALSE(Square::apply(b).requires_grad());
  NoGradGuard guard;
  CHECK_FALSE(Square::apply(a).requires_grad());
}

TEST_CASE("saved tensors: overwritten, released, retained") {
  Tensor x = leaf({2});
  Tensor y = x * 1, z = Square::apply(y);
  y.mul_(3);
  CHECK_THROWS_WITH_AS(z.backward(), doctest::Contains("backward of Square"), Error);
  Tensor w = Square::apply(x);
  w.backward(Tensor(), true);
  w.backward();
  CHECK(at(x.grad()) == 8);
  CHECK_THROWS_WITH_AS(w.backward(), doctest::Contains("retain_graph"), Error);
}

TEST_CASE("errors name the wrong gradient") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_WITH_AS(Wrong::apply(x, 0).sum().backward(),
                       "Wrong: backward returned 1 gradients, but forward has 2 arguments", Error);
  CHECK_THROWS_WITH_AS(Wrong::apply(x, 1).sum().backward(), doctest::Contains("argument 1, which is not a Tensor"),
                       Error);
  Wrong::apply(x, 2).sum().backward();
  CHECK(at(x.grad()) == 1);
  CHECK_THROWS_WITH_AS(
      Wrong::apply(x, 3).sum().backward(),
      doctest::Contains(
          "WrongBackward: returned an invalid gradient at index 0: got [2, 5] float64 cpu but expected shape"),
      Error);
}

TEST_CASE("a tensor marked dirty must be returned") {
  struct Forgets : Function<Forgets> {
    static Tensor forward(AutogradContext* ctx, Tensor x) {
      ctx->mark_dirty({x});
      return x + 1;
    }
    static variable_list backward(AutogradContext*, variable_list g) { return g; }
  };
  CHECK_THROWS_WITH_AS(Forgets::apply(leaf({1}) * 1), doctest::Contains("Forgets: a tensor marked dirty"), Error);
}

TEST_CASE("values kept in the context") {
  IValue v = "text";
  CHECK(v.toStringRef() == "text");
  CHECK_THROWS_WITH_AS(v.toInt(), "IValue: expected int64, the value is string", Error);
  CHECK(IValue(3).toInt() == 3);
  CHECK(IValue(true).isBool());
  CHECK(IValue(2.5f).toDouble() == 2.5);
  CHECK(IValue(3).toScalar().toLong() == 3);
  CHECK(IValue(std::vector<int64_t>{1, 2}).toIntVector().size() == 2);
  CHECK(IValue(ones({2})).toTensor().numel() == 2);
  CHECK(IValue(std::vector<Tensor>{ones({2})}).toTensorVector().size() == 1);
  CHECK(IValue().isNone());
}

TEST_CASE("a chain of 20,000 custom functions is freed without recursion") {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) y = MulConstant::apply(y, 1.0);
  y.backward();
  CHECK(at(x.grad()) == 1);
}

TEST_CASE("threads with separate graphs and with a shared graph") {
  Tensor shared = leaf({3});
  Tensor root = Square::apply(shared * 1);
  std::vector<std::thread> threads;
  std::vector<double> own(4), together(4);
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        Tensor x = leaf({static_cast<double>(i)});
        own[i] = at(autograd::grad({Square::apply(x)}, {x})[0]);
        together[i] = at(autograd::grad({root}, {shared}, {}, true)[0]);
      }
    });
  for (auto& t : threads) t.join();
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(own[i] == 2 * static_cast<double>(i));
    CHECK(together[i] == 6);
  }
}
