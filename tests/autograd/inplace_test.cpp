// In-place operations and views on the tape.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/backend/kernel_recorder.h"

using namespace tandem;

TEST_CASE("mul_ keeps gradients correct") {
  Tensor x = full({3}, 2.0, requires_grad()), w = full({3}, 5.0, requires_grad());
  Tensor y = x * 1;
  y.mul_(w);
  y.sum().backward();
  CHECK(x.grad().data_ptr<float>()[0] == 5);
  CHECK(w.grad().data_ptr<float>()[0] == 2);
}

TEST_CASE("a write through a view reaches the base's gradient") {
  Tensor x = ones({4}, requires_grad());
  Tensor y = x * 1;
  Tensor v = y.as_strided({2}, {1}, 1);
  v.mul_(10);
  Tensor other = y.view({2, 2});
  (other * 1).sum().backward();
  const float* g = x.grad().data_ptr<float>();
  CHECK(g[0] == 1);
  CHECK(g[1] == 10);
  CHECK(g[2] == 10);
  CHECK(g[3] == 1);
}

TEST_CASE("copying a value that requires a gradient into a view of a tensor that does not") {
  Tensor base = zeros({3}), w = full({1}, 4.0, requires_grad());
  base.as_strided({1}, {1}, 1).copy_(w);
  CHECK(base.requires_grad());
  (base * base).sum().backward();
  CHECK(w.grad().item<float>() == 8);
}

TEST_CASE("an overwritten saved tensor is detected and named") {
  Tensor x = ones({2, 3}, requires_grad());
  Tensor y = x * 2;
  Tensor z = (y * y).sum();
  y.relu_();
  CHECK_THROWS_WITH_AS(z.backward(), doctest::Contains("overwritten by relu_"), Error);
}

namespace {
struct Names final : KernelRecorder {
  void called(const KernelCall& call) override { names.emplace_back(call.name); }
  void read_on_host(const Tensor&, const char*) override {}
  std::vector<std::string> names;
};
template <class F>
std::vector<std::string> kernels_of(F&& f) {
  Names names;
  const RecordKernels recording(names);
  f();
  return names.names;
}
}  // namespace

TEST_CASE("recorded writes need no copy of the result") {
  Tensor x = full({3}, 2.0, requires_grad());
  Tensor y = x * 1;
  const void* place = y.data_ptr();
  CHECK(kernels_of([&] { y.relu_(); }) == std::vector<std::string>{"relu"});
  CHECK(kernels_of([&] { y.add_(x); }) == std::vector<std::string>{"copy", "add"});  // the copy: relu's result
  CHECK(kernels_of([&] { y.add_(x, 3); }) == std::vector<std::string>{"add"});
  CHECK(kernels_of([&] { hardtanh_(y, 0, 6); }) == std::vector<std::string>{"copy", "hardtanh"});  // its input is saved
  CHECK(y.data_ptr() == place);
  CHECK(y.detach().data_ptr<float>()[0] == 6);
  (y - x).sum().backward();
  CHECK(x.grad().data_ptr<float>()[0] == -1);  // 10 is clamped
}

TEST_CASE("a result that was computed in place and saved survives later writes") {
  Tensor x = full({3}, 0.5, requires_grad());
  Tensor y = x * 2;
  y.exp_();
  Tensor z = y * 3;  // reads the values, and keeps y only for gradients of 3
  SUBCASE("recorded") { y.add_(1); }
  SUBCASE("recorded twice") { y.exp_().relu_(); }
  SUBCASE("unrecorded") {
    const NoGradGuard guard;
    y.zero_();
  }
  SUBCASE("with a new geometry") { y.unsqueeze_(0); }
  SUBCASE("through a view") { y.view({3, 1}).slice(0, 0, 2).mul_(7); }
  z.sum().backward();
  CHECK(x.grad().data_ptr<float>()[0] == 6 * std::exp(1.0f));
}

TEST_CASE("a sum in place with a view of itself") {
  Tensor x = ones({2}, requires_grad());
  Tensor y = x * 3;
  Tensor view = y.view({2});
  y.add_(view);
  CHECK(y.detach().data_ptr<float>()[1] == 6);
  view.sum().backward();  // the view has the history of the sum
  CHECK(x.grad().data_ptr<float>()[1] == 6);
}

TEST_CASE("a write that the graph does not see is detected") {
  Tensor x = ones({3}, requires_grad());
  Tensor y = x * 2;
  y.exp_();
  y.detach().zero_();
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("overwritten by zero_"), Error);
}

TEST_CASE("a result of a different shape throws, recorded or not, and self is unchanged") {
  for (bool recorded : {false, true}) {
    Tensor large = ones({3, 2}, TensorOptions().requires_grad(recorded)), y = full({2}, 7.0);
    CHECK_THROWS_WITH_AS(y.mul_(large), doctest::Contains("mul_: the result"), Error);
    CHECK_THROWS_WITH_AS(y.addcmul_(large, large), doctest::Contains("addcmul_: the result [3, 2]"), Error);
    CHECK_THROWS_WITH_AS(y.lerp_(large, 0.5), doctest::Contains("lerp_: the result [3, 2]"), Error);
    CHECK(y.sizes() == IntArrayRef{2});
    CHECK_FALSE(y.requires_grad());
    CHECK(y.data_ptr<float>()[1] == 7);
  }
}

TEST_CASE("rules for leaves") {
  Tensor x = ones({2}, requires_grad());
  CHECK_THROWS_WITH_AS(
      x.add_(1), doctest::Contains("a leaf Variable that requires grad is being used in an in-place operation"), Error);
  CHECK_THROWS_WITH_AS((x * 2).requires_grad_(false),
                       doctest::Contains("you can only change requires_grad flags of leaf variables"), Error);
  CHECK((x * 2).requires_grad_().grad_fn() != nullptr);  // has no effect
  NoGradGuard guard;
  x.add_(1);
  CHECK(x.data_ptr<float>()[0] == 2);
}

TEST_CASE("grad through a view with a history renewed on use") {
  Tensor x = ones({4}, requires_grad());
  Tensor y = x * 1;
  Tensor v = y.as_strided({2}, {1}, 1);
  y.mul_(10);
  Tensor w = v * 3;  // the node of the renewed view is younger than the node of this product
  const Tensor g = autograd::grad({w.sum()}, {x})[0];
  CHECK(g.data_ptr<float>()[0] == 0);
  CHECK(g.data_ptr<float>()[1] == 30);
}

TEST_CASE("a tensor overwritten by constants still gets a gradient of zeros") {
  Tensor x = ones({3}, requires_grad()), w = full({3}, 5.0, requires_grad());
  Tensor y = x * 2;
  const auto zeros_reach_x = [&] {
    REQUIRE(y.requires_grad());
    CHECK(y.grad_fn() != nullptr);
    y.sum().backward();
    REQUIRE(x.grad().defined());
    CHECK(x.grad().abs().sum().item<double>() == 0);
  };
  SUBCASE("copy_") {
    y.copy_(full({3}, 7.0));
    zeros_reach_x();
  }
  SUBCASE("copy_ with broadcasting and a different dtype") {
    y.copy_(ones({1}, TensorOptions(kLong)));
    CHECK(y[2].item<double>() == 1);
    zeros_reach_x();
  }
  SUBCASE("copy_ of a tensor that requires a gradient") {
    y.copy_(w);
    zeros_reach_x();
    CHECK(w.grad().sum().item<double>() == 3);
  }
  SUBCASE("fill_") {
    y.fill_(4);
    zeros_reach_x();
  }
  SUBCASE("fill_ with a tensor") {
    y.fill_(full({}, 4.0));
    zeros_reach_x();
  }
  SUBCASE("fill_ with a tensor that requires a gradient") {
    Tensor v = full({}, 4.0, requires_grad());
    y.fill_(v);
    zeros_reach_x();
    CHECK(v.grad().item<double>() == 3);
  }
  SUBCASE("zero_") {
    y.zero_();
    zeros_reach_x();
  }
  SUBCASE("normal_") {
    y.normal_();
    zeros_reach_x();
  }
  SUBCASE("masked_fill_") {
    y.masked_fill_(gt(x, 0), 3);
    zeros_reach_x();
  }
  SUBCASE("everything, in slices") {
    y.slice(0, 0, 1).copy_(full({1}, 7.0));
    y.slice(0, 1, 3).fill_(8);
    CHECK(y.sum().item<double>() == 23);
    zeros_reach_x();
  }
  SUBCASE("index_put_") {
    y.index_put_({indexing::Slice()}, full({3}, 7.0));
    zeros_reach_x();
  }
  SUBCASE("index_put_ of one element keeps the others") {
    y.index_put_({1}, full({}, 7.0));
    y.sum().backward();
    CHECK(x.grad()[0].item<double>() == 2);
    CHECK(x.grad()[1].item<double>() == 0);
  }
  SUBCASE("a view of the whole tensor") {
    Tensor v = y.view({3, 1});
    v.copy_(zeros({3, 1}));
    CHECK(v.requires_grad());
    zeros_reach_x();
  }
  SUBCASE("the base, then one of its views") {
    Tensor v = y.view({3, 1});
    y.copy_(full({3}, 7.0));
    REQUIRE(v.requires_grad());
    v.sum().backward();
    CHECK(x.grad().abs().sum().item<double>() == 0);
  }
  SUBCASE("twice, with a hook and retain_grad, and second order") {
    y.retain_grad();
    y.copy_(full({3}, 7.0));
    y.copy_(full({3}, 8.0));
    const auto grads = autograd::grad({(y * y).sum()}, {x}, {}, true, true);
    CHECK(grads[0].abs().sum().item<double>() == 0);
    CHECK(y.grad().sum().item<double>() == 3 * 16);
    zeros_reach_x();
  }
  SUBCASE("nothing changes without recording") {
    {
      NoGradGuard no_grad;
      y.copy_(full({3}, 7.0));
    }
    y.sum().backward();
    CHECK(x.grad().sum().item<double>() == 6);
  }
  SUBCASE("set_data keeps the history") {
    y.set_data(full({3}, 7.0));
    y.sum().backward();
    CHECK(x.grad().sum().item<double>() == 6);
  }
}

TEST_CASE("a recorded write converts the value, and its gradient back") {
  for (const ScalarType type : {kDouble, kHalf, kFloat}) {
    const Tensor x = full({3}, 2.0, TensorOptions(type).requires_grad(true)), y = ones({3});
    y.slice(0, 1).copy_((x * x).slice(0, 1));
    CHECK(y.dtype() == kFloat);
    CHECK(y[0].item<double>() == 1);
    CHECK(y[2].item<double>() == 4);
    y.sum().backward();
    CHECK(x.grad().dtype() == type);
    CHECK(x.grad()[0].item<double>() == 0);
    CHECK(x.grad()[2].item<double>() == 4);
  }
  const Tensor wide = ones({2}, TensorOptions(kDouble).requires_grad(true));
  Tensor sum = ones({2}) * 3;
  sum.add_(wide);  // computed in float64
  CHECK(sum.dtype() == kFloat);
  CHECK(sum[1].item<double>() == 4);
}

TEST_CASE("a view of a tensor that has been detached since keeps its own history") {
  const Tensor x = ones({3}, requires_grad());
  Tensor base = x * 2, view = base.view({3, 1});
  base.detach_();
  view.mul_(5);
  CHECK(base[1].item<double>() == 10);
  view.sum().backward();
  CHECK(x.grad()[1].item<double>() == 10);
}

TEST_CASE("a tensor that becomes a view of itself has that view's history") {
  const Tensor x = ones({2, 3}, requires_grad());
  const auto history = [](const Tensor& t) { return t.grad_fn()->name(); };
  Tensor y = x * 2;
  const std::string transposed = history(y.transpose(0, 1)), unsqueezed = history(y.unsqueeze(0));
  y.transpose_(0, 1);
  CHECK(history(y) == transposed);
  Tensor view = y.slice(0, 0, 2);
  view.unsqueeze_(0);
  CHECK(history(view) == unsqueezed);
  (view * tensor({1.f, 2.f}).view({2, 1})).sum().backward();  // rows of the transposed matrix: columns of x
  CHECK(x.grad().sum(0).equal(tensor({4.f, 8.f, 0.f})));
  // A view that is written after it took another shape.
  Tensor z = x * 1;
  Tensor part = z.slice(1, 0, 2);
  part.t_();
  part.mul_(3);
  CHECK(part.sizes() == IntArrayRef({2, 2}));
  CHECK(z.sum().item<double>() == 14);
  const Tensor g = autograd::grad({z.sum()}, {x})[0];
  CHECK(g.equal(tensor({3.f, 3.f, 1.f, 3.f, 3.f, 1.f}).view({2, 3})));
}
