// A captured step that cannot be recorded or replayed: it runs eagerly, logs one line with the reason, and
// loses nothing.
#include <doctest/doctest.h>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/step_device.h"

using namespace tandem;

namespace {

struct Model {
  Model() {
    manual_seed(3);
    w = randn({100}).to(kDevice).requires_grad_();
  }
  Tensor loss(const Tensor& x) const { return tandem::dropout(x * w, 0.5, true); }
  Tensor step(optim::Optimizer& optimizer, const Tensor& x, bool zero = true) const {
    if (zero) optimizer.zero_grad();
    const Tensor out = loss(x);
    out.backward(ones_like(out));
    optimizer.step();
    return out.detach();
  }
  Tensor w;
};

bool says(const CapturedStep& step, const char* text) {
  const bool found = step.message().find(text) != std::string::npos;
  if (!found) MESSAGE(step.message());
  return found;
}

// Runs `rounds` steps of `function(model, optimizer, x)` captured and eagerly; both must end in the same
// state.
template <class F>
std::string same_as_eager(int rounds, const F& function) {
  Model eager, recorded;
  optim::Adam one({eager.w}, optim::AdamOptions(0.1)), two({recorded.w}, optim::AdamOptions(0.1));
  CapturedStep step([&](const Tensor& x) { return function(recorded, two, x); }, {&two});
  const Tensor x = arange(100).to(kFloat).div_(50).to(kDevice);
  const Generator a(1), b(1);
  for (int i = 0; i < rounds; ++i) {
    Tensor expected, out;
    {
      const GeneratorGuard guard(a);
      expected = function(eager, one, x);
    }
    {
      const GeneratorGuard guard(b);
      out = step(x)[0];
    }
    CHECK(testing::identical(out.cpu(), expected.cpu()));
    CHECK(testing::identical(recorded.w.detach().cpu(), eager.w.detach().cpu()));
  }
  CHECK(a.offset() == b.offset());
  return step.message();
}

bool ends_uncaptured(const std::string& message, const std::string& why) {
  const bool same = message == "tandem: captured step: the step " + why + ": it runs uncaptured from now on";
  if (!same) MESSAGE(message);
  return same;
}

}  // namespace

TEST_CASE("a function that waits finds its inputs computed, and what follows finds its results") {
  if (!has_step_device()) return;
  std::vector<float> read;
  CapturedStep step([&](const Tensor& x) {
    read.push_back(x.sum().item<float>());
    return x + 1;
  });
  for (int i = 0; i < 5; ++i) {
    const Tensor x = full({1000}, i, TensorOptions(kDevice)) * 2;  // waits for nothing yet
    const Tensor y = step(x)[0] * 3;
    CHECK(read.back() == 2000 * static_cast<float>(i));
    CHECK(testing::identical(y.cpu(), full({1000}, 3 * (2 * i + 1))));
  }
}

TEST_CASE("a function that reads on the host") {
  if (!has_step_device()) return;
  int calls = 0;
  const std::string message = same_as_eager(8, [&](Model& m, optim::Optimizer& o, const Tensor& x) {
    ++calls;
    const Tensor out = m.step(o, x);
    static_cast<void>(out[0].item<float>());
    return out;
  });
  CHECK(ends_uncaptured(message, "reads a value on the host"));
  CHECK(calls == 8 + 8 + 1);  // one attempt to record failed
}

TEST_CASE("a function that writes elements on the host") {
  if (!has_step_device() || !kDevice.is_cpu()) return;
  const char* reason = "reads or writes elements on the host";
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        return m.step(o, x + tensor({1.0f, 2.0f}).repeat({50}));
                                      }),
                        reason));
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        const Tensor factor = ones({1});
                                        *factor.data_ptr<float>() = 0.5f;
                                        return m.step(o, x * factor);
                                      }),
                        reason));
}

TEST_CASE("a function that copies from the host, or waits") {
  if (!has_step_device() || !kDevice.is_cuda()) return;
  CHECK(ends_uncaptured(same_as_eager(6, [](Model& m, optim::Optimizer& o,
                                            const Tensor& x) { return m.step(o, x + ones({100}).to(kDevice)); }),
                        "copies from the host to the device"));
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        Tensor out = m.step(o, x);
                                        synchronize(kDevice);
                                        return out;
                                      }),
                        "waits for the device"));
}

TEST_CASE("random numbers of another generator, or a new seed") {
  if (!has_step_device()) return;
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        Tensor noise = empty({100}, TensorOptions(kDevice));
                                        noise.normal_(0, 1, Generator(99));
                                        return m.step(o, x + noise);
                                      }),
                        "draws from a generator other than the default one"));
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        default_generator().set_current_seed(4);
                                        return m.step(o, x);
                                      }),
                        "draws from a generator other than the default one"));
  if (!kDevice.is_cpu()) return;
  uint64_t seed = 4;
  CapturedStep seeding([&](const Tensor& x) {
    default_generator().set_current_seed(++seed);
    return x * 2;
  });
  for (int i = 0; i < 5; ++i) seeding(ones({3}));
  CHECK(ends_uncaptured(seeding.message(), "sets the seed of the default generator"));
}

TEST_CASE("optimizers that step in another order than they are listed in use their own numbers") {
  if (!has_step_device()) return;
  struct Pair {
    Model a, b;
    optim::SGD first{{a.w}, optim::SGDOptions(0.1)}, second{{b.w}, optim::SGDOptions(0.1)};
    Tensor step(const Tensor& x) {
      first.zero_grad();
      second.zero_grad();
      const Tensor out = x * a.w * b.w;
      out.backward(ones_like(out));
      second.step();
      first.step();
      return out.detach();
    }
    void set_rates(int round) {
      static_cast<optim::SGDOptions&>(first.param_groups()[0].options()).lr(0.1 / (1 + round));
      static_cast<optim::SGDOptions&>(second.param_groups()[0].options()).lr(0.03 * (1 + round));
    }
  } eager, recorded;
  CapturedStep step([&](const Tensor& x) { return recorded.step(x); }, {&recorded.first, &recorded.second});
  const Tensor x = arange(100).to(kFloat).div_(50).to(kDevice);
  for (int round = 0; round < 6; ++round) {
    eager.set_rates(round);
    recorded.set_rates(round);
    eager.step(x);
    step(x);
    CHECK(testing::identical(recorded.a.w.detach().cpu(), eager.a.w.detach().cpu()));
    CHECK(testing::identical(recorded.b.w.detach().cpu(), eager.b.w.detach().cpu()));
  }
  CHECK(step.captured());
}

TEST_CASE("an optimizer that stepped in the recording, and does not step later") {
  if (!has_step_device()) return;
  struct Pausing : optim::SGD {
    using optim::SGD::SGD;
    Tensor step(LossClosure closure = {}) override { return paused ? Tensor() : optim::SGD::step(std::move(closure)); }
    bool paused = false;
  };
  Model m;
  Pausing optimizer({m.w}, optim::SGDOptions(0.1));
  CapturedStep step([&](const Tensor& x) { return m.step(optimizer, x); }, {&optimizer});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 5; ++i) step(x);
  CHECK(step.captured());
  optimizer.paused = true;
  const Tensor before = m.w.detach().clone();
  step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "cannot be replayed: an optimizer that stepped in the recording does not step now"));
  CHECK(testing::identical(m.w.detach().cpu(), before.cpu()));
}

TEST_CASE("an optimizer steps twice or changes its options") {
  if (!has_step_device()) return;
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        Tensor out = m.step(o, x);
                                        o.step();
                                        return out;
                                      }),
                        "steps an optimizer twice"));
  CHECK(ends_uncaptured(same_as_eager(6,
                                      [](Model& m, optim::Optimizer& o, const Tensor& x) {
                                        auto& options = o.param_groups()[0].options();
                                        options.set_lr(options.get_lr() * 0.9);
                                        return m.step(o, x);
                                      }),
                        "changes an optimizer's options (keep schedulers outside the step)"));
}

TEST_CASE("the function does not reset gradients") {
  if (!has_step_device()) return;
  SUBCASE("accumulated in place forever: recorded as such") {
    CHECK(same_as_eager(8, [](Model& m, optim::Optimizer& o, const Tensor& x) {
            return m.step(o, x, /*zero=*/false);
          }).empty());
  }
  SUBCASE("set to zero in place") {
    CHECK(same_as_eager(8, [](Model& m, optim::Optimizer& o, const Tensor& x) {
            o.zero_grad(/*set_to_none=*/false);
            return m.step(o, x, /*zero=*/false);
          }).empty());
  }
  SUBCASE("reset at the end") {
    CHECK(same_as_eager(8, [](Model& m, optim::Optimizer& o, const Tensor& x) {
            Tensor out = m.step(o, x, /*zero=*/false);
            o.zero_grad();
            return out;
          }).empty());
  }
  SUBCASE("optimizer first: it reads the last step's gradients") {
    const std::string message = same_as_eager(8, [](Model& m, optim::Optimizer& o, const Tensor& x) {
      o.step();
      o.zero_grad();
      const Tensor out = m.loss(x);
      out.backward(ones_like(out));
      return out.detach();
    });
    CHECK(message ==
          "tandem: captured step: the gradient of parameter 0 is in different memory: the step runs "
          "uncaptured");
  }
}

TEST_CASE("gradients replaced between calls") {
  if (!has_step_device()) return;
  Model m;
  optim::SGD optimizer({m.w}, optim::SGDOptions(0.1));
  CapturedStep step([&](const Tensor& x) { return m.step(optimizer, x, /*zero=*/false); }, {&optimizer});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 5; ++i) step(x);
  CHECK(step.captured());
  optimizer.zero_grad();
  step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "the gradient of parameter 0 is undefined but was defined when the step was recorded"));
}

TEST_CASE("parameters: different requires_grad, memory or count") {
  if (!has_step_device()) return;
  Model m, n;
  optim::SGD optimizer({m.w, n.w}, optim::SGDOptions(0.1));
  CapturedStep step([&](const Tensor& x) { return m.step(optimizer, x); }, {&optimizer});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 4; ++i) step(x);
  CHECK(step.captured());
  n.w.requires_grad_(false);
  step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "requires_grad of parameter 1 is false"));
  n.w.requires_grad_(true);
  step(x);
  CHECK(step.captured());
  n.w.set_data(zeros({100}).to(kDevice));
  step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "parameter 1 is in different memory"));
  Model more;
  optimizer.add_param_group(optim::OptimizerParamGroup({more.w}));
  step(x);
  CHECK(says(step, "the number of parameters is 3, was 2"));
}

TEST_CASE("watched modules: train and eval mode, thread-local modes") {
  if (!has_step_device()) return;
  nn::Dropout dropout(0.5);
  CapturedStep step([&](const Tensor& x) { return dropout(x); });
  step.watch(*dropout);
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 4; ++i) step(x);
  CHECK(step.captured());
  dropout->eval();
  CHECK(testing::identical(step(x)[0].cpu(), x.cpu()));
  CHECK_FALSE(step.captured());
  CHECK(says(step, "a module changed its mode (train or eval)"));
  dropout->train();
  step(x);
  CHECK(step.captured());
  NoGradGuard guard;
  step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "gradients are off, were on"));
}

TEST_CASE("an unlisted optimizer, an input on the host or requiring a gradient") {
  if (!has_step_device()) return;
  Model m;
  optim::SGD optimizer({m.w}, optim::SGDOptions(0.1));
  const Tensor x = ones({100}).to(kDevice);
  CapturedStep step([&](const Tensor& in) { return m.step(optimizer, in); });
  for (int i = 0; i < 5; ++i) step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "steps an optimizer that was not given to it"));
  if (kDevice.is_cuda()) {
    CapturedStep host([&](const Tensor& in) { return m.step(optimizer, in.to(kDevice)); }, {&optimizer});
    host(ones({100}));
    CHECK(says(host, "has input 0 on cpu, not on cuda:0"));
  }
  CapturedStep leaf([](const Tensor& in) { return in * 2; });
  leaf(ones({3}).to(kDevice).requires_grad_());
  CHECK(says(leaf, "has input 0 that requires a gradient"));
}

namespace {

// Gradient descent whose rate, kept on the host, halves with every step.
struct Halving final : optim::Optimizer {
  struct Options : optim::OptimizerCloneableOptions<Options> {
    TANDEM_ARG(double, lr) = 0.5;
  };
  explicit Halving(std::vector<Tensor> params) : Optimizer(std::move(params), std::make_unique<Options>()) {}
  Tensor step(LossClosure) override {
    const NoGradGuard no_grad;
    for (const Tensor& p : parameters()) p.sub_(p.grad() * rate);
    rate /= 2;
    return {};
  }
  double rate = 0.5;
};

template <class Optimizer>
void check_not_replayed() {
  Model eager, recorded;
  Optimizer one(std::vector<Tensor>{eager.w}), two(std::vector<Tensor>{recorded.w});
  CHECK_FALSE(two.can_be_replayed());
  CapturedStep step([&](const Tensor& x) { return recorded.step(two, x); }, {&two});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 6; ++i) {
    manual_seed(i);
    eager.step(one, x);
    manual_seed(i);
    step(x);
    CHECK(testing::identical(recorded.w.detach().cpu(), eager.w.detach().cpu()));
  }
  CHECK(ends_uncaptured(step.message(),
                        "steps an optimizer without a kernel of its own, such as Adadelta, Adamax, NAdam or RAdam"));
}

}  // namespace

TEST_CASE("optimizers that compute factors on the host are not replayed") {
  if (!has_step_device()) return;
  check_not_replayed<optim::Adamax>();
  check_not_replayed<Halving>();
}

TEST_CASE("an optimizer does not step as recorded") {
  if (!has_step_device()) return;
  Model m;
  optim::SGD optimizer({m.w}, optim::SGDOptions(0.1));
  CapturedStep step([&](const Tensor& x) { return m.step(optimizer, x); }, {&optimizer});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 5; ++i) step(x);
  CHECK(step.captured());
  static_cast<optim::SGDOptions&>(optimizer.param_groups()[0].options()).momentum(0.9);
  const Tensor before = m.w.detach().clone();
  step(x);
  CHECK_FALSE(step.captured());
  CHECK(says(step, "cannot be replayed: "));
  CHECK_FALSE(testing::identical(m.w.detach().cpu(), before.cpu()));
}

TEST_CASE("exceptions of the function propagate, and the stream stays usable") {
  if (!has_step_device()) return;
  Model m;
  optim::Adam optimizer({m.w}, optim::AdamOptions(0.1));
  bool broken = false;
  CapturedStep step(
      [&](const Tensor& x) {
        Tensor out = m.step(optimizer, x);
        check(!broken, "it broke");
        return out;
      },
      {&optimizer});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 3; ++i) step(x);
  broken = true;
  const Tensor before = m.w.detach().clone();
  const uint64_t offset = default_generator().offset();
  CHECK_THROWS_WITH_AS(step(x), "it broke", Error);
  CHECK(testing::identical(m.w.detach().cpu(), before.cpu()));
  CHECK(default_generator().offset() == offset);
  auto& state = static_cast<optim::AdamParamState&>(*optimizer.state().begin()->second);
  CHECK(state.step() == 3);
  broken = false;
  step(x);
  CHECK(step.captured());
  CHECK(state.step() == 4);
  CHECK(step.message().empty());
  CapturedStep warming([](const Tensor&) -> Tensor { fail("at once"); });
  CHECK_THROWS_WITH_AS(warming(x), "at once", Error);
  CHECK(testing::identical((x + 1).cpu(), full({100}, 2.0f)));
}

TEST_CASE("optimizer state that the recorded step would create") {
  if (!has_step_device()) return;
  Model m, late;
  optim::Adam optimizer({m.w, late.w}, optim::AdamOptions(0.1));
  int calls = 0;
  CapturedStep step(
      [&](const Tensor& x) {
        if (++calls == 4) {
          late.w.mutable_grad() = ones_like(late.w);
          optimizer.step();
        }
        return m.step(optimizer, x);
      },
      {&optimizer});
  const Tensor x = ones({100}).to(kDevice);
  for (int i = 0; i < 4; ++i) step(x);
  CHECK_FALSE(step.captured());
  CHECK(!step.message().empty());
  CHECK(optimizer.state().size() == 1);  // the failed recording's state is gone, and the step was not repeated
}

TEST_CASE("a tensor that the function keeps beside its result follows every replay, and the result outlives both") {
  if (!has_step_device()) return;
  Tensor kept, out;
  {
    CapturedStep step([&](const Tensor& x) {
      kept = x * 2;
      return kept;
    });
    for (int i = 1; i <= 6; ++i) {
      out = step(full({100}, static_cast<float>(i)).to(kDevice))[0];
      CHECK(testing::identical(out.cpu(), full({100}, 2.0f * static_cast<float>(i))));
      CHECK(testing::identical(kept.cpu(), out.cpu()));
    }
    CHECK(step.captured());
  }
  kept = Tensor();
  CHECK(testing::identical(out.cpu(), full({100}, 12.0f)));
}

TEST_CASE("destroying the step frees its memory") {
  if (!has_step_device()) return;
  const auto reserved = [] {
    return kDevice.is_cuda() ? cuda::memory_reserved(0) : memory_stats(kDevice).current_bytes;
  };
  const auto empty_cache = [] { backend(kDevice).runtime.empty_cache(kDevice); };
  empty_cache();
  const Tensor x = ones({1000}).to(kDevice);
  const int64_t before = reserved();
  for (int round = 0; round < 3; ++round) {
    CapturedStep step([&](const Tensor& in) { return (in * 2 + 1) * in; });
    for (int i = 0; i < 5; ++i) step(x);
    CHECK(step.captured());
    CHECK(reserved() > before);
  }
  empty_cache();
  CHECK(reserved() <= before + (kDevice.is_cuda() ? 2 << 20 : 0));
}
