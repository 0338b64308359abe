// DistributedDataParallel in unusual uses, and what it refuses. Ranks are threads.
#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/distributed/seeded.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

// `first` is registered twice, `wide` is float64, `bias` is empty, `frozen` needs no gradient.
struct MixedImpl : nn::Module {
  MixedImpl() {
    first = register_module("first", nn::Linear(5, 5));
    again = register_module("again", first);
    wide = register_module("wide", nn::Linear(5, 3));
    wide->to(kFloat64);
    none = register_parameter("none", zeros({0, 4}));
    frozen = register_module("frozen", nn::Linear(3, 3));
    for (const Tensor& p : frozen->parameters()) p.set_requires_grad(false);
  }
  Tensor forward(Tensor x) { return wide(again(tanh(first(x))).to(kFloat64)).sum() + none.sum(); }
  nn::Linear first{nullptr}, again{nullptr}, wide{nullptr}, frozen{nullptr};
  Tensor none;
};

struct TwoHeadsImpl : nn::Module {
  TwoHeadsImpl() {
    base = register_module("base", nn::Linear(5, 4));
    extra = register_module("extra", nn::Linear(5, 4));
    never = register_module("never", nn::Linear(5, 4));
  }
  Tensor forward(Tensor x, bool with_extra) { return with_extra ? base(x) + extra(x) : base(x); }
  nn::Linear base{nullptr}, extra{nullptr}, never{nullptr};
};

// Averages what `loss(module, rank)` gives on every rank, on one process.
template <class M, class Loss>
std::vector<Tensor> averaged(int size, const Loss& loss) {
  auto net = seeded<M>();
  for (int rank = 0; rank < size; ++rank) loss(*net, rank).div(size).backward();
  std::vector<Tensor> out;
  for (const Tensor& p : net->parameters()) out.push_back(p.grad());
  return out;
}

void check_equal(const nn::Module& net, const std::vector<Tensor>& expected) {
  const auto named = net.named_parameters();
  std::size_t i = 0;
  for (const auto& [name, p] : named) {
    const std::string which = name;
    CAPTURE(which);
    REQUIRE(p.grad().defined() == expected[i].defined());
    if (p.grad().defined()) {
      CHECK((p.grad().dtype() == p.dtype()));
      CHECK(allclose(p.grad(), expected[i], 1e-5, 1e-6));
    }
    ++i;
  }
}

void check_all(const std::vector<std::string>& errors, const std::string& words) {
  for (const std::string& error : errors)
    CHECK_MESSAGE(error.find(words) != std::string::npos, "expected \"", words, "\", got: ", error);
}

using Mixed = DistributedDataParallel<MixedImpl>;
using TwoHeads = DistributedDataParallel<TwoHeadsImpl>;

Tensor loss_of(const Tensor& output) { return (output * output).mean(); }

}  // namespace

TEST_CASE("shared, empty, frozen and float64 parameters") {
  for (const int64_t bytes : {int64_t{1}, int64_t{1} << 20})
    on_ranks(3, [&](const GroupPtr& group) {
      auto net = seeded<MixedImpl>();
      Mixed model(net, {.process_group = group, .bucket_bytes = bytes, .first_bucket_bytes = bytes});
      for (int step = 0; step < 3; ++step) {
        model->zero_grad();
        model->forward(inputs_of(group->rank())).backward();
        check_equal(*net, averaged<MixedImpl>(3, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)); }));
      }
    });
}

TEST_CASE("gradients set to zero, replaced by the user or left between forward and backward") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group});
    const auto expected = averaged<MixedImpl>(2, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)); });
    for (int step = 0; step < 4; ++step) {
      const Tensor loss = model->forward(inputs_of(group->rank()));
      if (step == 1) model->zero_grad(false);
      if (step == 2)
        for (const Tensor& p : net->parameters())
          if (p.requires_grad()) p.mutable_grad() = zeros_like(p);
      if (step == 3) model->zero_grad(true);
      loss.backward();
      check_equal(*net, expected);
    }
  });
}

TEST_CASE("an unused parameter whose gradient is reset after forward contributes zero") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<TwoHeadsImpl>();
    TwoHeads model(net, {.process_group = group, .find_unused_parameters = true});
    loss_of(model->forward(inputs_of(group->rank()), true)).backward();
    const Tensor loss = loss_of(model->forward(inputs_of(group->rank()), group->rank() == 0));
    model->zero_grad();  // after forward, as many programs do
    loss.backward();
    check_equal(*net, averaged<TwoHeadsImpl>(
                          2, [](TwoHeadsImpl& m, int rank) { return loss_of(m.forward(inputs_of(rank), rank == 0)); }));
  });
}

TEST_CASE("a parameter that no process uses keeps its gradient, with any hook") {
  for (const bool static_graph : {false, true})
    on_ranks(3, [&](const GroupPtr& group) {
      auto net = seeded<TwoHeadsImpl>();
      TwoHeads model(net, {.process_group = group,
                           .find_unused_parameters = !static_graph,
                           .static_graph = static_graph,
                           .comm_hook = bf16_compress_hook});
      const Tensor own = full({4, 5}, 0.1 + group->rank()), copy = own.clone();
      net->never->weight.mutable_grad() = own;
      for (int step = 0; step < 3; ++step) {
        loss_of(model->forward(inputs_of(group->rank()), false)).backward();
        CHECK(net->never->weight.grad().is_same(own));
        CHECK(own.equal(copy));
        CHECK_FALSE(net->extra->weight.grad().defined());
      }
      if (static_graph) return;
      // Also if it has been averaged, and is a part of a bucket.
      loss_of(model->forward(inputs_of(group->rank()), true)).backward();
      net->extra->weight.mutable_grad().mul_(group->rank() + 1.1);
      const Tensor changed = net->extra->weight.grad().clone();
      for (int step = 0; step < 3; ++step) {
        loss_of(model->forward(inputs_of(group->rank()), false)).backward();
        CHECK(net->extra->weight.grad().equal(changed));
      }
    });
}

TEST_CASE("a parameter that was used under no_sync only is averaged") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<TwoHeadsImpl>();
    TwoHeads model(net, {.process_group = group, .find_unused_parameters = true});
    const auto accumulate = [&] {
      const auto here_only = model->no_sync();
      loss_of(model->forward(inputs_of(group->rank()), true)).backward();
    };
    accumulate();
    loss_of(model->forward(inputs_of(group->rank()), false)).backward();
    check_equal(*net, averaged<TwoHeadsImpl>(2, [](TwoHeadsImpl& m, int rank) {
      return loss_of(m.forward(inputs_of(rank), true)) + loss_of(m.forward(inputs_of(rank), false));
    }));
    accumulate();
    model->zero_grad();
    loss_of(model->forward(inputs_of(group->rank()), false)).backward();
    CHECK_FALSE(net->extra->weight.grad().defined());
  });
}

TEST_CASE("static_graph remembers which parameters the first step did not use") {
  on_ranks(3, [&](const GroupPtr& group) {
    auto net = seeded<TwoHeadsImpl>();
    TwoHeads model(net, {.process_group = group, .bucket_bytes = 1, .first_bucket_bytes = 1, .static_graph = true});
    for (int step = 0; step < 4; ++step) {
      model->zero_grad();
      loss_of(model->forward(inputs_of(group->rank()), group->rank() == 1)).backward();
      check_equal(*net, averaged<TwoHeadsImpl>(3, [](TwoHeadsImpl& m, int rank) {
        return loss_of(m.forward(inputs_of(rank), rank == 1));
      }));
    }
  });
}

TEST_CASE("static_graph refuses a step that uses other parameters") {
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    TwoHeads model(seeded<TwoHeadsImpl>(), {.process_group = group, .static_graph = true});
    for (const bool extra : {false, true}) loss_of(model->forward(inputs_of(group->rank()), extra)).backward();
  });
  check_all(errors, "static_graph");
  const auto fewer = errors_on_ranks(2, [&](const GroupPtr& group) {
    TwoHeads model(seeded<TwoHeadsImpl>(), {.process_group = group, .static_graph = true});
    for (const bool extra : {true, false}) loss_of(model->forward(inputs_of(group->rank()), extra)).backward();
  });
  check_all(fewer, "static_graph");
}

TEST_CASE("static_graph and join over two epochs") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<TwoHeadsImpl>();
    TwoHeads model(net, {.process_group = group, .static_graph = true});
    for (int epoch = 0; epoch < 2; ++epoch)
      model->join([&] {
        for (int step = 0; step < 1 + 2 * group->rank(); ++step) {
          model->zero_grad();
          loss_of(model->forward(inputs_of(group->rank()), true)).backward();
        }
      });
    model->zero_grad();
    loss_of(model->forward(inputs_of(group->rank()), true)).backward();
    check_equal(*net, averaged<TwoHeadsImpl>(
                          2, [](TwoHeadsImpl& m, int rank) { return loss_of(m.forward(inputs_of(rank), true)); }));
  });
}

TEST_CASE("part of the outputs in the loss: the error says so when unused parameters are searched already") {
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    TwoHeads model(seeded<TwoHeadsImpl>(), {.process_group = group, .find_unused_parameters = true});
    const Tensor out = model->forward(inputs_of(group->rank()), true);
    loss_of(out - model->module()->extra(inputs_of(group->rank()))).backward();  // reaches all but `never`
    const Tensor unrelated = model->forward(inputs_of(group->rank()), true);
    loss_of(model->module()->base(inputs_of(group->rank()))).backward();
  });
  check_all(errors, "every output of forward");
}

TEST_CASE("only the first backward pass after a forward is averaged") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group});
    const Tensor loss = model->forward(inputs_of(group->rank()));
    loss.backward({}, /*retain_graph=*/true);
    loss.backward();  // this process's own gradient is added
    const auto average = averaged<MixedImpl>(2, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)); });
    auto own = seeded<MixedImpl>();
    own->forward(inputs_of(group->rank())).backward();
    CHECK(allclose(net->first->weight.grad(), average[1] + own->first->weight.grad(), 1e-5, 1e-6));
    model->zero_grad();
    model->forward(inputs_of(group->rank())).backward();
    check_equal(*net, average);
  });
}

TEST_CASE("autograd::grad through the model stays on this process, and a gradient penalty is averaged") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group});
    const auto penalty = [](MixedImpl& m, const Tensor& x, auto&& forward) {
      const Tensor leaf = x.clone().set_requires_grad(true);
      const Tensor out = forward(leaf);
      const Tensor gradient = autograd::grad({out}, {leaf}, {}, true, /*create_graph=*/true)[0];
      static_cast<void>(m);
      return (gradient * gradient).sum() + out;
    };
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      penalty(*net, inputs_of(group->rank()), [&](const Tensor& x) { return model->forward(x); }).backward();
      check_equal(*net, averaged<MixedImpl>(2, [&](MixedImpl& m, int rank) {
        return penalty(m, inputs_of(rank), [&](const Tensor& x) { return m.forward(x); });
      }));
    }
  });
}

TEST_CASE("backward(create_graph) is refused, and the model goes on") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group});
    const Tensor loss = model->forward(inputs_of(group->rank()));
    std::string message;
    try {
      loss.backward({}, /*retain_graph=*/true, /*create_graph=*/true);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.find("create_graph") != std::string::npos);
    model->zero_grad();
    model->forward(inputs_of(group->rank())).backward();
    check_equal(*net, averaged<MixedImpl>(2, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)); }));
  });
}

TEST_CASE("an exception in backward: the next forward says what happened, on every process") {
  std::vector<std::string> next(2);
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group});
    bool fails = group->rank() == 1;
    net->first->weight.register_hook([&](const Tensor&) {
      if (std::exchange(fails, false)) throw std::runtime_error("the user's hook");
    });
    try {
      model->forward(inputs_of(group->rank())).backward();
    } catch (const std::runtime_error&) {
    }
    model->forward(inputs_of(group->rank()));
  });
  check_all(errors, "the previous backward pass did not finish");
}

TEST_CASE("an exception in a communication hook reaches every process") {
  const auto errors = errors_on_ranks(2, [&](const GroupPtr& group) {
    Mixed model(seeded<MixedImpl>(), {.process_group = group});
    model->register_comm_hook([&](ProcessGroup& within, const GradBucket& bucket) {
      if (within.rank() == 1) throw std::runtime_error("the hook gives up");
      return allreduce_hook(within, bucket);
    });
    model->forward(inputs_of(group->rank())).backward();
  });
  check_all(errors, "the hook gives up");
  const auto empty = errors_on_ranks(2, [&](const GroupPtr& group) {
    Mixed model(seeded<MixedImpl>(), {.process_group = group});
    model->register_comm_hook([](ProcessGroup&, const GradBucket&) { return HookResult{{nullptr}}; });
    model->forward(inputs_of(group->rank())).backward();
  });
  check_all(empty, "communication hook");
}

TEST_CASE("parameters that change after wrapping are refused") {
  const auto after = [](auto change) {
    return errors_on_ranks(2, [&](const GroupPtr& group) {
      auto net = seeded<TwoHeadsImpl>();
      for (const Tensor& p : net->never->parameters()) p.set_requires_grad(false);
      TwoHeads model(net, {.process_group = group});
      change(*net);
      loss_of(model->forward(inputs_of(group->rank()).to(net->base->weight.dtype()), true)).backward();
    });
  };
  check_all(after([](TwoHeadsImpl& net) { net.to(kFloat64); }), "base.weight");
  check_all(after([](TwoHeadsImpl& net) { net.never->weight.set_requires_grad(true); }), "never.weight");
  check_all(after([](TwoHeadsImpl& net) { net.extra->weight.set_requires_grad(false); }), "extra.weight");
}

TEST_CASE("guards of no_sync nest, and exceptions leave them") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group});
    try {
      const auto outer = model->no_sync();
      {
        const auto inner = model->no_sync();
        model->forward(inputs_of(group->rank())).backward();
      }
      model->forward(inputs_of(group->rank())).backward();
      throw std::runtime_error("leave");
    } catch (const std::runtime_error&) {
    }
    model->forward(inputs_of(group->rank())).backward();
    check_equal(*net, averaged<MixedImpl>(2, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)) * 3; }));
  });
}

TEST_CASE("two models on one group, evaluation, other threads and an error without gradients") {
  on_ranks(2, [&](const GroupPtr& group) {
    auto net = seeded<MixedImpl>(), other = seeded<MixedImpl>();
    Mixed model(net, {.process_group = group}), second(other, {.process_group = group});
    const auto expected = averaged<MixedImpl>(2, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)); });
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      second->zero_grad();
      Tensor loss;
      std::thread([&] {
        loss = model->forward(inputs_of(group->rank())) + second->forward(inputs_of(group->rank()));
      }).join();
      std::thread([&] { loss.backward(); }).join();
      check_equal(*net, expected);
      check_equal(*other, expected);
      model->eval();
      model->forward(inputs_of(group->rank()));  // with a graph that nobody uses
      {
        const NoGradGuard no_grad;
        if (group->rank() == 0) CHECK_THROWS_AS(model->forward(randn({2, 9})), Error);
        model->forward(inputs_of(group->rank()));
      }
      model->train();
    }
  });
}

TEST_CASE("a model on some ranks of the group, and the end of models while calls run") {
  on_ranks(3, [&](const GroupPtr& group) {
    const auto some = group->new_group({0, 2});
    if (some->is_member()) {
      auto net = seeded<MixedImpl>();
      {
        Mixed model(net, {.process_group = some});
        model->forward(inputs_of(some->rank())).backward();
        check_equal(*net, averaged<MixedImpl>(2, [](MixedImpl& m, int rank) { return m.forward(inputs_of(rank)); }));
      }
      net->zero_grad();
      net->forward(inputs_of(0)).backward();  // the hooks are gone
    }
    std::optional<Mixed> model(std::in_place, seeded<MixedImpl>(),
                               DistributedDataParallelOptions{.process_group = group, .bucket_bytes = 1});
    model->get()->module()->wide->weight.register_post_accumulate_grad_hook([&](const Tensor&) {
      model.reset();  // in the middle of a pass
    });
    const auto kept = model->get()->module();
    kept->forward(inputs_of(0)).backward();
    group->barrier()->wait();
  });
}

TEST_CASE("a group of one process") {
  on_ranks(1, [&](const GroupPtr& group) {
    auto net = seeded<TwoHeadsImpl>();
    for (const bool is_static : {false, true}) {
      TwoHeads model(net, {.process_group = group, .find_unused_parameters = !is_static, .static_graph = is_static});
      model->join([&] {
        for (int step = 0; step < 2; ++step) {
          model->zero_grad();
          loss_of(model->forward(inputs_of(0), step == 0 || is_static)).backward();
        }
      });
      CHECK(net->base->weight.grad().defined());
      CHECK_FALSE(net->never->weight.grad().defined());
    }
  });
}
