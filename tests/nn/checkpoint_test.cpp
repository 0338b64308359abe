// Activation checkpointing, and hooks on saved tensors.
#include "tandem/nn/checkpoint.h"

#include <doctest/doctest.h>

#include <string>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using tandem::test::error_of;

namespace {

struct NetImpl : nn::Module {
  explicit NetImpl(bool use_checkpoint) : checkpointed(use_checkpoint) {
    register_module("block", block);
    register_module("head", head);
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = checkpointed ? utils::checkpoint(block, x) : block->forward(x);
    return head(y.relu());
  }
  bool checkpointed;
  nn::Sequential block{nn::Linear(6, 16), nn::BatchNorm1d(16), nn::ReLU(), nn::Dropout(0.5), nn::Linear(16, 8)};
  nn::Linear head{8, 3};
};

// The parameters' gradients, the buffers and the input's gradient after three steps.
std::vector<Tensor> trained(bool checkpointed) {
  manual_seed(3);
  NetImpl net(checkpointed);
  const Tensor x = randn({10, 6}).requires_grad_();
  optim::SGD optimizer(net.parameters(), 0.1);
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    net.forward(x).square().sum().backward();
    optimizer.step();
  }
  std::vector<Tensor> out = net.buffers();
  out.push_back(x.grad());
  for (const Tensor& p : net.parameters()) out.push_back(p.grad());
  out.push_back(rand({4}));  // the random numbers go on as without
  return out;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool equal = a.size() == b.size();
  for (std::size_t i = 0; equal && i < a.size(); ++i) equal = a[i].equal(b[i]);
  return equal;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a checkpointed block trains with the same bits, random numbers and running statistics") {
  CHECK(same(trained(true), trained(false)));
}

TEST_CASE("checkpoints: several inputs, nested, used twice, differentiated twice, and without recording") {
  const Tensor a = tensor({0.5, -1.0, 2.0}, kDouble).requires_grad_(),
               b = tensor({1.5, 0.25, -0.75}, kDouble).requires_grad_();
  int calls = 0;
  const auto product = [&calls](const Tensor& x, const Tensor& y) {
    ++calls;
    return (x * y).sin() * x.exp();
  };
  const auto outer = [&](const Tensor& x, const Tensor& y) { return utils::checkpoint(product, x.tanh(), y) * y; };
  const Tensor want = product(a.tanh(), b) * b;
  const auto first = autograd::grad({want.sum()}, {a, b}, {}, true, true);
  const auto fused = autograd::grad({want.sum()}, {a, b}, {}, true);
  const auto second = autograd::grad({first[0].square().sum()}, {a, b});
  calls = 0;
  const Tensor got = utils::checkpoint(outer, a, b);
  CHECK(calls == 1);
  CHECK(got.equal(want));
  const auto again = autograd::grad({got.sum()}, {a, b}, {}, true, true);
  CHECK(same(again, first));
  CHECK(same(autograd::grad({got.sum()}, {a, b}, {}, true), fused));  // from the same graph
  CHECK(same(autograd::grad({again[0].square().sum()}, {a, b}), second));
  const NoGradGuard no_grad;
  calls = 0;
  CHECK_FALSE(utils::checkpoint(product, a, b).requires_grad());
  CHECK(calls == 1);
}

TEST_CASE("checkpoint_sequential keeps less memory, and has the same gradients") {
  nn::Sequential layers;
  for (int i = 0; i < 12; ++i) {
    layers->push_back(nn::Linear(64, 64));
    layers->push_back(nn::Tanh());
  }
  const Tensor x = randn({256, 64});
  const auto measure = [&](int64_t segments) {
    layers->zero_grad();
    reset_peak_memory_stats(kCPU);
    const int64_t before = memory_stats(kCPU).current_bytes;
    (segments == 0 ? layers->forward(x) : utils::checkpoint_sequential(layers, segments, x)).sum().backward();
    return memory_stats(kCPU).peak_bytes - before;
  };
  measure(0);  // creates the gradients
  const int64_t all = measure(0);
  std::vector<Tensor> want;
  for (const Tensor& p : layers->parameters()) want.push_back(p.grad().clone());
  const int64_t segmented = measure(4);
  std::vector<Tensor> got;
  for (const Tensor& p : layers->parameters()) got.push_back(p.grad());
  CHECK(same(got, want));
  CHECK(segmented < all * 7 / 10);
  CHECK(has(error_of([&] { utils::checkpoint_sequential(layers, 25, x); }), "expected 1 to 24 segments, got 25"));
}

TEST_CASE("checkpoint_sequential runs each layer once, and again in backward but for the last segment") {
  for (int64_t count = 1; count <= 5; ++count)
    for (int64_t segments = 1; segments <= count; ++segments) {
      std::vector<int64_t> order;
      nn::Sequential layers;
      for (int64_t i = 0; i < count; ++i)
        layers->push_back(nn::Functional([&order, i](const Tensor& t) {
          order.push_back(i);
          return t.exp() * static_cast<double>(i + 1);
        }));
      const Tensor x = full({1}, -2.0).requires_grad_(), y = utils::checkpoint_sequential(layers, segments, x);
      std::vector<int64_t> forward;
      for (int64_t i = 0; i < count; ++i) forward.push_back(i);
      CHECK(order == forward);
      CHECK(y.equal(layers->forward(x)));
      order.clear();
      y.backward();
      CHECK(order.size() == static_cast<std::size_t>((segments - 1) * (count / segments)));
    }
  nn::Sequential layers;
  for (int i = 0; i < 2; ++i) layers->push_back(nn::Tanh());
  for (const int64_t segments : {-1, 0, 3})
    CHECK(error_of([&] { utils::checkpoint_sequential(layers, segments, ones({1})); }) ==
          concat("checkpoint_sequential: expected 1 to 2 segments, got ", segments));
}

TEST_CASE("what a checkpoint's inputs may be") {
  // An undefined input, one without a gradient and one that is no leaf.
  const Tensor a = ones({2}).requires_grad_(), b = full({2}, 3.0), c = a * 2;
  int calls = 0;
  const auto f = [&](const std::vector<Tensor>& x) {
    ++calls;
    CHECK_FALSE(x[2].defined());
    CHECK_FALSE(x[1].requires_grad());
    return x[0].exp() * x[1] + x[3].exp();
  };
  const auto run = [&](const Tensor& first, const Tensor& second, const Tensor& none, const Tensor& third) {
    return f({first, second, none, third});
  };
  const auto g = autograd::grad({utils::checkpoint(run, a, b, Tensor(), c).sum()}, {a});
  CHECK(calls == 2);
  CHECK(g[0].allclose(a.exp() * 3 + 2 * (a * 2).exp()));
  const Tensor changed = ones({2}).requires_grad_(), inside = changed * 1;
  const Tensor y = utils::checkpoint(run, a, b, Tensor(), inside).sum();
  inside.detach().mul_(2);
  CHECK(has(error_of([&] { y.backward(); }), "checkpoint: input 3 was written in place after the forward pass"));
}

TEST_CASE("checkpoints that cannot be repeated say so") {
  const Tensor x = ones({3}).requires_grad_();
  const Tensor y = x * 2;
  const Tensor overwritten = utils::checkpoint([](const Tensor& t) { return t.exp(); }, y).sum();
  {
    const NoGradGuard no_grad;
    y.add_(1);
  }
  CHECK(has(error_of([&] { overwritten.backward(); }), "input 0 was written in place after the forward pass"));
  int calls = 0;
  const Tensor changed =
      utils::checkpoint([&calls](const Tensor& t) { return ++calls == 1 ? t.exp() : t.exp().exp(); }, x).sum();
  CHECK(has(error_of([&] { changed.backward(); }), "saved 1 tensors at first, and 2 when it ran again"));
  CHECK(has(
      error_of([&] { utils::checkpoint([](const Tensor& t) { return autograd::grad({t.exp().sum()}, {t})[0]; }, x); }),
      "must not run backward"));
  const Tensor written = utils::checkpoint(
                             [](const Tensor& t) {
                               const Tensor a = t.exp(), b = a * 2;
                               a.mul_(3);
                               return a + b;
                             },
                             x)
                             .sum();
  CHECK(has(error_of([&] { written.backward(); }), "writes a tensor in place that backward needs"));
}

TEST_CASE("hooks on saved tensors") {
  struct Halves : autograd::SavedTensorHooks {
    std::shared_ptr<void> pack(const Tensor& t) override {
      ++packed;
      return std::make_shared<Tensor>(t.to(kHalf));
    }
    Tensor unpack(const std::shared_ptr<void>& p) override {
      ++unpacked;
      return static_cast<const Tensor*>(p.get())->to(wrong ? kDouble : kFloat);
    }
    int packed = 0, unpacked = 0;
    bool wrong = false;
  };
  const auto hooks = std::make_shared<Halves>();
  const Tensor x = tensor({1.0f, 2.0f, 3.0f}).requires_grad_();
  Tensor y;
  {
    const autograd::SavedTensorHooksGuard guard(hooks);
    y = (x * 2).exp().sum();  // exp keeps its output
  }
  (x * x).exp();  // not hooked
  CHECK(hooks->packed == 1);
  y.backward({}, true);
  CHECK(hooks->unpacked == 1);
  CHECK(x.grad().allclose(2 * (x * 2).exp().detach(), 1e-3));
  CHECK_FALSE(x.grad().equal(2 * (x * 2).exp().detach()));
  hooks->wrong = true;
  CHECK(has(error_of([&] { y.backward(); }), "the hooks of saved tensors returned"));

  const Tensor z = tensor({1.0f, 2.0f, 3.0f}).requires_grad_();
  const autograd::SavedTensorHooksGuard guard(autograd::save_on_cpu());
  const Tensor e = z.exp(), sum = e.sum();
  sum.backward({}, true);
  CHECK(z.grad().equal(z.detach().exp()));
  {
    const NoGradGuard no_grad;
    e.detach().mul_(2);
  }
  CHECK(has(error_of([&] { sum.backward(); }), "overwritten in place"));
}
