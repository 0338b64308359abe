// Backward inside a custom function's backward, nested many times.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/threads/parallel_for.h"

using namespace tandem;
using namespace tandem::autograd;

namespace {

struct Seen {
  std::thread::id thread;
  const Generator* generator = nullptr;
  int device = -1;
  bool anomaly = false, inference = true;
  int64_t levels = 0;
};
thread_local Seen* seen = nullptr;

// y = 2 x. Its backward at level n returns 2 g plus, for n > 0, the gradient from level n - 1, so 2 (n + 1)
// in total.
struct Nested : Function<Nested> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t level, bool fails) {
    ctx->save_for_backward({x});
    ctx->saved_data["level"] = level;
    ctx->saved_data["fails"] = fails;
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int64_t level = ctx->saved_data["level"].toInt();
    const bool fails = ctx->saved_data["fails"].toBool();
    ++seen->levels;
    Tensor out = grads[0] * 2;
    if (level == 0) {
      if (fails) throw std::out_of_range("at the bottom");
      seen->thread = std::this_thread::get_id();
      seen->generator = &default_generator();
      seen->device = cpu::current_device();
      seen->anomaly = AnomalyMode::is_enabled();
      seen->inference = InferenceMode::is_enabled();
      return {out, Tensor(), Tensor()};
    }
    Tensor inner = ctx->get_saved_variables()[0].detach().requires_grad_();
    {
      const AutoGradMode recorded(true);
      Nested::apply(inner, level - 1, fails).sum().backward();
    }
    CHECK(!GradMode::is_enabled());
    return {out + inner.grad(), Tensor(), Tensor()};
  }
};

Tensor gradient(int64_t levels, bool fails = false) {
  Tensor x = ones({2}).requires_grad_();
  Nested::apply(x, levels - 1, fails).sum().backward();
  return x.grad();
}

}  // namespace

TEST_CASE("ten thousand nested passes") {
  Seen s;
  seen = &s;
  constexpr int64_t kLevels = 10000;
  CHECK(gradient(kLevels)[1].item<double>() == 2.0 * kLevels);
  CHECK(s.levels == kLevels);
  std::thread([&] {
    seen = &s;
    CHECK(gradient(kLevels)[1].item<double>() == 2.0 * kLevels);
  }).join();
  CHECK(gradient(3)[0].item<double>() == 6);  // back on the thread's own stack
}

TEST_CASE("an exception from the innermost of many passes keeps its type") {
  Seen s;
  seen = &s;
  CHECK_THROWS_WITH_AS(gradient(5000, true), "at the bottom", std::out_of_range);
  CHECK(s.levels == 5000);
  CHECK(gradient(2)[0].item<double>() == 4);
}

TEST_CASE("the innermost of many passes has the caller's modes") {
  Seen s;
  seen = &s;
  const Generator mine(7);
  const GeneratorGuard generator(mine);
  const int devices = cpu::device_count();
  cpu::set_device_count(2);
  cpu::set_current_device(1);
  AnomalyMode::set_enabled(true);
  CHECK(gradient(2000)[0].item<double>() == 4000);
  AnomalyMode::set_enabled(false);
  CHECK(s.thread == std::this_thread::get_id());
  CHECK(s.generator == &default_generator());
  CHECK(s.anomaly);
  CHECK(!s.inference);
  cpu::set_current_device(0);
  cpu::set_device_count(devices);
}

TEST_CASE("callbacks run at the end of the chosen pass") {
  CHECK(pass_depth() == 0);
  CHECK_THROWS_WITH(queue_callback([] {}), "queue_callback: no backward pass is running on this thread");
  std::string ended;
  const Tensor x = ones({2}).requires_grad_(), y = x * 2;
  y.register_hook([&](const Tensor&) {
    CHECK(pass_depth() == 1);
    const AutoGradMode recorded(true);
    const Tensor inner = ones({2}).requires_grad_(), z = inner * 3;
    z.register_hook([&](const Tensor&) {
      CHECK(pass_depth() == 2);
      queue_callback([&] { ended += "outer "; }, 1);
      queue_callback([&] { ended += "inner "; });
      queue_callback([&] { ended += "inner too "; }, 2);
      for (const std::size_t depth : {0, 3})
        CHECK_THROWS_WITH(queue_callback([] {}, depth), doctest::Contains("expected a depth from 1 to 2"));
    });
    z.sum().backward();
    ended += "hook ";
  });
  y.sum().backward();
  CHECK(ended == "inner inner too hook outer ");
  CHECK(pass_depth() == 0);
}
