// Threads that share a graph or views of one tensor, and threads that replace the pools meanwhile.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/threads/parallel_for.h"

using namespace tandem;

namespace {

// Runs `body(thread)` on `count` threads that start together.
template <class Body>
void together(int count, Body body) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      body(t);
    });
  for (auto& thread : threads) thread.join();
}

Tensor leaf(int64_t size) { return ones({size}, TensorOptions(kDouble).requires_grad(true)); }

}  // namespace

TEST_CASE("several threads run backward through one retained graph") {
  Tensor x = leaf(100), y = (x.exp() * x).sum();
  together(4, [&](int) {
    for (int i = 0; i < 50; ++i) y.backward(Tensor(), true);
  });
  const Tensor once = autograd::grad({y}, {x})[0];
  CHECK(allclose(x.grad(), once * 200));
}

TEST_CASE("several threads run backward through one graph that the first thread frees") {
  std::atomic<int> done{0}, refused{0}, other{0};
  for (int round = 0; round < 100; ++round) {
    Tensor x = leaf(50), y = x;
    for (int i = 0; i < 10; ++i) y = (y * y.exp()).sin();
    const Tensor square = y.narrow(0, 0, 9).view({3, 3}) + 3 * eye(3, kDouble);
    y = layer_norm(y, {50}).sum() + linalg_solve(square, square * 2).sum() + std::get<1>(linalg_slogdet(square)).sum();
    together(4, [&](int) {
      try {
        y.backward();
        ++done;
      } catch (const Error& e) {
        ++(std::string(e.what()).find("retain_graph") != std::string::npos ? refused : other);
      }
    });
  }
  CHECK(other == 0);
  CHECK(done + refused == 400);
}

TEST_CASE("several threads run backward through separate graphs to one leaf with hooks") {
  for (const bool create_graph : {false, true}) {
    Tensor x = leaf(100), other = leaf(1);
    std::atomic<int> before{0}, after{0};
    x.register_hook([&](const Tensor&) { ++before; });
    x.register_post_accumulate_grad_hook([&](const Tensor&) { ++after; });
    together(8, [&](int thread) {
      for (int i = 0; i < 50; ++i)
        autograd::backward({(x * (thread + 1)).sum() + other.sum()}, {}, nullopt, create_graph);
    });
    CHECK(allclose(x.grad(), full({100}, 50.0 * 36, kDouble)));
    CHECK(other.grad().item<double>() == 400);
    CHECK(before == 400);
    CHECK(after == 400);
    x.mutable_grad().reset();
    other.mutable_grad().reset();
  }
}

TEST_CASE("several threads run backward through a tensor that retains its gradient") {
  Tensor x = leaf(100), y = x * 2;
  y.retain_grad();
  together(8, [&](int) {
    for (int i = 0; i < 50; ++i) (y * 3).sum().backward(Tensor(), true);
  });
  CHECK(allclose(y.grad(), full({100}, 3.0 * 400, kDouble)));
  CHECK(allclose(x.grad(), full({100}, 6.0 * 400, kDouble)));
}

TEST_CASE("several threads use a view after a write to its base") {
  for (int round = 0; round < 100; ++round) {
    Tensor x = leaf(4), y = x * 1, v = y.view({2, 2})[0];
    y.mul_(3);  // the first thread renews the view's history
    std::atomic<int> wrong{0};
    together(4, [&](int) {
      const Tensor g = autograd::grad({(v * 2).sum()}, {x}, {}, true)[0];
      if (g.sum().item<double>() != 12) ++wrong;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("several threads use a view after its base became part of a graph") {
  for (int round = 0; round < 100; ++round) {
    Tensor w = leaf(4), base = ones({4}, kDouble), v = base.view({2, 2})[0];
    base.mul_(w);  // the first thread sets the view's history
    std::atomic<int> wrong{0};
    together(4, [&](int) {
      const Tensor g = autograd::grad({(v * 2).sum()}, {w}, {}, true)[0];
      if (g.sum().item<double>() != 4) ++wrong;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("pools are replaced while other threads compute") {
  const int before = get_num_threads();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      const Tensor x = ones({100000});
      while (!stop)
        if ((x + 1).sum().item<float>() != 200000) ++wrong;
    });
  for (int i = 0; i < 100; ++i) {
    set_num_threads(2 + i % 3);
    std::this_thread::yield();
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  set_num_threads(before);
  CHECK(wrong == 0);
}
