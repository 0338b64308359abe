// Memory is released: no graph keeps itself alive through what its nodes saved.
#include <doctest/doctest.h>

#include <stdexcept>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/node.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory/cpu_allocator.h"

using namespace tandem;

namespace {

Tensor leaf(int64_t size = 1000) { return ones({size}, TensorOptions(kDouble).requires_grad(true)); }
int64_t used() { return memory_stats(Device(kCPU, 0)).current_bytes; }

// What `round` leaves allocated after its locals are destroyed.
template <class Round>
int64_t left_by(Round round) {
  round();
  const int64_t before = used();
  for (int i = 0; i < 5; ++i) round();
  return used() - before;
}

struct KeepsOutput : autograd::Function<KeepsOutput> {
  static Tensor forward(autograd::AutogradContext* ctx, Tensor x) {
    Tensor y = x * 2;
    ctx->save_for_backward({x, y});
    return y;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list g) {
    return {g[0] * 2 + 0 * ctx->get_saved_variables()[1]};
  }
};

}  // namespace

TEST_CASE("a tensor saved by a product and then written in place") {
  const Tensor x = leaf(), k = leaf();
  CHECK(left_by([&] {
          Tensor y = x * 2;
          y += y * k;
        }) == 0);
  CHECK(left_by([&] {
          Tensor y = x * 2;
          y.mul_(y * k);
        }) == 0);
  CHECK(left_by([&] {
          Tensor y = x.exp();
          y.add_(y.sigmoid() * y);
          y.add_(y * y);
        }) == 0);
}

TEST_CASE("saved views, with their base written from results computed from them") {
  const Tensor x = leaf();
  CHECK(left_by([&] {
          Tensor y = x * 2, v = y.slice(0, 0, 500), w = v * v;
          y.slice(0, 500, 1000).copy_(w);
        }) == 0);
  CHECK(left_by([&] {
          Tensor y = x * 2, v = y.view({10, 100});
          v[0].mul_(v[1].clone() * y.slice(0, 900));
          y.exp_();
        }) == 0);
}

TEST_CASE("a tensor without gradient, saved and later made part of the graph") {
  const Tensor w = leaf();
  CHECK(left_by([&] {
          Tensor b = ones({1000}, kDouble);
          b.add_(w * b);
        }) == 0);
  CHECK(left_by([&] {  // a recurrent network that fills a buffer
          Tensor states = ones({5, 1000}, kDouble);
          for (int64_t i = 1; i < 5; ++i) states[i] = states[i - 1] * w;
        }) == 0);
  CHECK(left_by([&] {
          Tensor b = ones({2, 1000}, kDouble);
          b[1].copy_(KeepsOutput::apply(b[0] * w));
          b[0].copy_(KeepsOutput::apply(b[1]));
        }) == 0);
}

TEST_CASE("a leaf that was a view, and the base written from it") {
  CHECK(left_by([&] {
          Tensor b = ones({1000}, kDouble), v = b.slice(0, 0, 500);
          v.requires_grad_();
          b.slice(0, 500, 1000).mul_(v);
          CHECK(v.is_leaf());
          CHECK(b.requires_grad());
          v.requires_grad_(false);
          CHECK_THROWS_AS(v.mul_(b.slice(0, 500, 1000)), Error);  // the write would not reach b
        }) == 0);
}

TEST_CASE("gradients with create_graph") {
  Tensor x = leaf();
  CHECK(left_by([&] {  // retain_grad
          Tensor y = x * x;
          y.retain_grad();
          (y * y).sum().backward(Tensor(), nullopt, true);
          x.mutable_grad().reset();
        }) == 0);
  CHECK(left_by([&] {  // a gradient penalty
          const Tensor y = (x.sigmoid() * x.exp()).sum();
          const Tensor g = autograd::grad({y}, {x}, {}, true, true)[0];
          (g * g).sum().backward();
          x.mutable_grad().reset();
        }) == 0);
}

TEST_CASE("custom functions that save their output, with and without running backward") {
  Tensor x = leaf();
  CHECK(left_by([&] { KeepsOutput::apply(x); }) == 0);
  CHECK(left_by([&] {
          KeepsOutput::apply(x).sum().backward();
          x.mutable_grad().reset();
        }) == 0);
  CHECK(left_by([&] {
          Tensor y = KeepsOutput::apply(x);
          y.add_(KeepsOutput::apply(y) * y);
        }) == 0);
}

TEST_CASE("a backward that throws") {
  const Tensor x = leaf();
  CHECK(left_by([&] {
          Tensor y = x * 2, z = (y * y).sum();
          y.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
          CHECK_THROWS_AS(z.backward(), std::runtime_error);
        }) == 0);
}

TEST_CASE("a saved tensor keeps its values and its history") {
  Tensor x = leaf(2), y = x * 3;
  Tensor z = y * y;  // saves y without y's history
  y = Tensor();
  const Tensor g = autograd::grad({z.sum()}, {x}, {}, nullopt, true)[0];
  CHECK(g.sum().item<double>() == 36);
  CHECK(autograd::grad({g.sum()}, {x})[0].sum().item<double>() == 36);
}

TEST_CASE("using a released saved tensor throws, also after a second release") {
  struct Owner final : autograd::Node {
    const char* label() const override { return "OwnerBackward"; }
    void backward(std::span<Tensor>, std::span<Tensor>) override {}
  };
  const autograd::NodePtr owner(new Owner);
  autograd::SavedTensor saved, empty;
  saved.save(ones({2}));
  for (int i = 0; i < 2; ++i) {  // as two threads do when they share a graph
    saved.release();
    empty.release();
  }
  CHECK_THROWS_WITH_AS(saved.unpack(*owner), doctest::Contains("retain_graph"), Error);
  CHECK_FALSE(empty.unpack(*owner).defined());
}
