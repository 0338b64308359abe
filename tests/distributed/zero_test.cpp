// ZeroRedundancyOptimizer: the bits of the optimizer itself, state per process, saving and loading.
#include <doctest/doctest.h>

#include <mutex>

#include "tandem/nn/files/archive.h"
#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/parallel/sharded/zero_redundancy_optimizer.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/distributed/ranks.h"

namespace tandem::distributed {
namespace {

using tandem::testing::identical;
using Groups = std::vector<optim::OptimizerParamGroup>;

Tensor numbers(IntArrayRef sizes, int64_t start, ScalarType dtype) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return arange(n, kDouble).add(static_cast<double>(start)).mul(0.7).sin().view(sizes).to(dtype);
}

// Odd sizes, a scalar, an empty one, one that never has a gradient, and two dtypes.
Tensors make_parameters() {
  Tensors out;
  int64_t start = 0;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{37, 11}, {3}, {}, {0}, {129}, {5, 5, 5}, {40}, {33}})
    out.push_back(numbers(sizes, start++, out.size() == 6 ? kDouble : kFloat32).requires_grad_());
  return out;
}
constexpr std::size_t kNeverUsed = 7;

// The gradients of a step on one rank. One parameter has none every third step, another one none on rank 1.
void set_gradients(const Tensors& parameters, int step, int rank) {
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Tensor& p = parameters[k];
    const bool has = k != kNeverUsed && !(k == 4 && step % 3 == 1) && !(k == 5 && rank == 1);
    p.mutable_grad() = has ? numbers(p.sizes(), 100 * step + 7 * rank + static_cast<int64_t>(k), p.dtype()) : Tensor();
  }
}
// The averages over ranks, added in rank order.
void set_average_gradients(const Tensors& parameters, int step, int size) {
  Tensors sums(parameters.size());
  for (int rank = 0; rank < size; ++rank) {
    set_gradients(parameters, step, rank);
    for (std::size_t k = 0; k < sums.size(); ++k)
      if (const Tensor g = parameters[k].grad(); g.defined()) sums[k] = rank == 0 ? g : sums[k] + g;
  }
  for (std::size_t k = 0; k < sums.size(); ++k)
    parameters[k].mutable_grad() = sums[k].defined() ? sums[k] / size : Tensor();
}

template <class Options>
Groups two_groups(const Tensors& parameters, const Options& defaults) {
  const auto second = parameters.begin() + 4;
  Groups out;
  out.emplace_back(Tensors(parameters.begin(), second));
  auto options = std::make_unique<Options>(defaults);
  options->lr(0.5 * defaults.lr());
  out.emplace_back(Tensors(second, parameters.end()), std::move(options));
  return out;
}

void check_identical(const Tensors& a, const Tensors& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    CAPTURE(k);
    CHECK(identical(a[k], b[k]));
  }
}

// A copy: archives share memory with what they save.
serialize::OutputArchive copy_of(const serialize::OutputArchive& archive) {
  serialize::OutputArchive out;
  for (const auto& item : archive.tensors()) out.write(item.key(), item.value().clone());
  for (const auto& item : archive.metadata()) out.write(item.key(), item.value());
  return out;
}
serialize::OutputArchive saved(const optim::Optimizer& optimizer) {
  serialize::OutputArchive out;
  optimizer.save(out);
  return copy_of(out);
}
serialize::InputArchive to_load(const serialize::OutputArchive& archive) {
  return {archive.tensors(), archive.metadata()};
}
void check_equal_archives(const serialize::OutputArchive& a, const serialize::OutputArchive& b) {
  const bool same_keys = a.tensors().keys() == b.tensors().keys(),
             same_text = a.metadata().keys() == b.metadata().keys() && a.metadata().values() == b.metadata().values();
  CHECK(same_keys);
  CHECK(same_text);
  if (same_keys) check_identical(a.tensors().values(), b.tensors().values());
}

// Steps with a schedule; afterwards the consolidated state must be what the optimizer itself has.
template <class O, class Options>
void compare(const Options& options, bool reduce) {
  for (int size = 1; size <= 4; ++size) {
    CAPTURE(size);
    CAPTURE(reduce);
    const Tensors expected = make_parameters();
    O optimizer(two_groups(expected, options), options);
    optim::StepLR schedule(optimizer, 2, 0.5);
    for (int step = 0; step < 5; ++step) {
      reduce ? set_average_gradients(expected, step, size) : set_gradients(expected, step, 0);
      optimizer.step();
      schedule.step();
    }
    const auto complete = saved(optimizer);
    check_no_errors(run_ranks(size, [&](ProcessGroup& group) {
      const Tensors parameters = make_parameters();
      ZeroRedundancyOptimizer<O> zero(
          two_groups(parameters, options), options,
          {.process_group = group.shared_from_this(), .reduce_gradients = reduce, .bucket_bytes = 1000});
      optim::StepLR own_schedule(zero, 2, 0.5);
      for (int step = 0; step < 5; ++step) {
        set_gradients(parameters, step, reduce ? group.rank() : 0);
        zero.step();
        own_schedule.step();
      }
      check_identical(parameters, expected);
      zero.consolidate_state_dict(-1);
      check_equal_archives(saved(zero), complete);
    }));
  }
}

template <class O, class Options>
void compare(const Options& options) {
  compare<O>(options, false);
  compare<O>(options, true);
}

}  // namespace

TEST_CASE("the bits of the optimizer itself") {
  if (!available()) return;
  compare<optim::SGD>(optim::SGDOptions(0.1));
  compare<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
  compare<optim::Adam>(optim::AdamOptions(0.01).amsgrad(true));
  compare<optim::AdamW>(optim::AdamWOptions(0.01));
  compare<optim::RMSprop>(optim::RMSpropOptions(0.01).centered(true).momentum(0.9));
  compare<optim::Adagrad>(optim::AdagradOptions(0.1).initial_accumulator_value(0.3).lr_decay(0.1));
}

TEST_CASE("large parameters, which kernels step in parallel parts") {
  if (!available()) return;
  const auto make = [] { return Tensors{numbers({501, 701}, 1, kFloat32), numbers({77777}, 2, kFloat32)}; };
  const auto step = [](optim::Optimizer& optimizer, const Tensors& parameters) {
    for (int i = 0; i < 3; ++i) {
      for (const Tensor& p : parameters) p.mutable_grad() = numbers(p.sizes(), i, kFloat32);
      optimizer.step();
    }
  };
  const Tensors expected = make();
  optim::AdamW whole(expected, optim::AdamWOptions(0.01));
  step(whole, expected);
  for (const int size : {2, 3}) {
    CAPTURE(size);
    check_no_errors(run_ranks(size, [&](ProcessGroup& group) {
      const Tensors parameters = make();
      ZeroRedundancyOptimizer<optim::AdamW> zero(parameters, optim::AdamWOptions(0.01), group.shared_from_this());
      step(zero, parameters);
      check_identical(parameters, expected);
    }));
  }
}

TEST_CASE("state per process") {
  if (!available()) return;
  for (int size = 1; size <= 4; ++size) {
    CAPTURE(size);
    std::vector<std::size_t> bytes(static_cast<std::size_t>(size));
    std::size_t complete = 0;
    check_no_errors(run_ranks(size, [&](ProcessGroup& group) {
      nn::Sequential net(nn::Linear(100, 300), nn::ReLU(), nn::Linear(300, 10));
      ZeroRedundancyOptimizer<optim::Adam> optimizer(net->parameters(), optim::AdamOptions(1e-3),
                                                     group.shared_from_this());
      for (const Tensor& p : net->parameters()) p.mutable_grad() = ones(p.sizes());
      CHECK(optimizer.state_bytes() == 0);
      optimizer.step();
      bytes[static_cast<std::size_t>(group.rank())] = optimizer.state_bytes();
      if (group.rank() == 0)
        for (const Tensor& p : net->parameters()) complete += 2 * p.nbytes();
    }));
    std::size_t sum = 0;
    for (const std::size_t of_rank : bytes) {
      CHECK(static_cast<double>(of_rank) <= 1.05 * static_cast<double>(complete) / size);
      sum += of_rank;
    }
    CHECK(sum == complete);
  }
}

TEST_CASE("saved states go on in any number of processes") {
  if (!available()) return;
  const optim::AdamOptions options(0.01);
  const auto train = [](optim::Optimizer& optimizer, const Tensors& parameters, int from, int to) {
    for (int step = from; step < to; ++step) {
      set_gradients(parameters, step, 0);
      optimizer.step();
    }
  };
  const Tensors expected = make_parameters();
  optim::Adam whole(expected, options);
  train(whole, expected, 0, 3);
  const auto middle = saved(whole);
  Tensors values;
  for (const Tensor& p : expected) values.push_back(p.detach().clone());
  train(whole, expected, 3, 6);
  const auto last = saved(whole);

  std::vector<serialize::OutputArchive> parts(3);
  const auto start = [&] {
    Tensors parameters;
    for (const Tensor& value : values) parameters.push_back(value.clone().requires_grad_());
    return parameters;
  };
  for (const int size : {1, 2, 3}) {
    CAPTURE(size);
    check_no_errors(run_ranks(size, [&](ProcessGroup& group) {
      const Tensors parameters = start();
      // The saved learning rate replaces this one.
      ZeroRedundancyOptimizer<optim::Adam> zero(parameters, optim::AdamOptions(7), group.shared_from_this());
      auto archive = to_load(middle);
      zero.load(archive);
      if (size == 3) {
        serialize::OutputArchive part;
        zero.save_part(part);
        parts[static_cast<std::size_t>(group.rank())] = copy_of(part);
      }
      train(zero, parameters, 3, 6);
      check_identical(parameters, expected);
      zero.consolidate_state_dict(size - 1);
      if (group.rank() == size - 1) {
        check_equal_archives(saved(zero), last);
      } else {
        CHECK_THROWS_AS(saved(zero), Error);
      }
    }));
  }
  check_no_errors(run_ranks(3, [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    const Tensors parameters = start();
    ZeroRedundancyOptimizer<optim::Adam> zero(parameters, optim::AdamOptions(7), group.shared_from_this());
    auto own = to_load(parts[rank]), other = to_load(parts[(rank + 1) % 3]);
    CHECK_THROWS_AS(zero.load_part(other), Error);
    zero.load_part(own);
    train(zero, parameters, 3, 6);
    check_identical(parameters, expected);
  }));
}

TEST_CASE("together with DistributedDataParallel") {
  if (!available()) return;
  static std::mutex seed;
  Tensors results[2][3];
  for (const bool sharded : {false, true})
    check_no_errors(run_ranks(3, [&](ProcessGroup& group) {
      std::unique_lock lock(seed);
      manual_seed(static_cast<uint64_t>(group.rank()));  // the ranks begin with different parameters
      nn::Sequential net(nn::Linear(6, 50), nn::Tanh(), nn::Linear(50, 3));
      lock.unlock();
      const Tensor x = numbers({8, 6}, 31 * group.rank(), kFloat32);
      DistributedDataParallel<nn::SequentialImpl> model(
          net.ptr(), {.process_group = group.shared_from_this(), .bucket_bytes = 512, .first_bucket_bytes = 128});
      std::unique_ptr<optim::Optimizer> optimizer;
      if (sharded)
        optimizer = std::make_unique<ZeroRedundancyOptimizer<optim::AdamW>>(
            net->parameters(), optim::AdamWOptions(0.01), group.shared_from_this());
      else
        optimizer = std::make_unique<optim::AdamW>(net->parameters(), optim::AdamWOptions(0.01));
      for (int step = 0; step < 4; ++step) {
        const auto closure = [&] {
          optimizer->zero_grad();
          const Tensor loss = model->forward(x).pow(2).mean();
          loss.backward();
          return loss;
        };
        CHECK(optimizer->step(closure).defined());
      }
      for (const Tensor& p : net->parameters()) results[sharded][group.rank()].push_back(p.detach().clone());
    }));
  for (int rank = 0; rank < 3; ++rank) {
    check_identical(results[1][rank], results[0][0]);
    check_identical(results[0][rank], results[0][0]);
  }
}

TEST_CASE("what is refused") {
  if (!available()) return;
  const optim::AdamOptions options(0.01);
  CHECK_THROWS_WITH_AS(
      ZeroRedundancyOptimizer<optim::Adam>(Tensors{ones({2})}, options),
      "ZeroRedundancyOptimizer: there is no process group; call distributed::init_process_group() first", Error);
  check_no_errors(run_ranks(2, [&](ProcessGroup& ranks) {
    const auto group = ranks.shared_from_this();
    using Zero = ZeroRedundancyOptimizer<optim::Adam>;
    CHECK_THROWS_AS(Zero(Tensors{}, options, group), Error);
    CHECK_THROWS_AS(Zero(Tensors{ones({2})}, optim::AdamOptions(-1), group), Error);
    CHECK_THROWS_WITH_AS(
        Zero(Tensors{ones({2 + group->rank()})}, options, group),
        "ZeroRedundancyOptimizer: the parameters of rank 1 differ from those of rank 0 in number, shape, "
        "dtype, layout or parameter group",
        DistributedError);
    const Tensor p = full({20}, group->rank() + 1.0).requires_grad_();
    Zero zero(Tensors{p}, options, group);
    CHECK(identical(p.detach(), ones({20})));  // those of rank 0
    CHECK_THROWS_AS(saved(zero), Error);
    CHECK_THROWS_AS(zero.consolidate_state_dict(2), Error);
    serialize::OutputArchive sgd = saved(optim::SGD(Tensors{p}, 0.1));
    auto wrong = to_load(sgd);
    CHECK_THROWS_AS(zero.load(wrong), Error);
    p.mutable_grad() = ones({20});
    zero.step();
    zero.consolidate_state_dict(-1);
    auto complete = saved(zero);
    zero.step();
    CHECK_THROWS_AS(saved(zero), Error);  // the state is another one now
    const Tensor other = ones({21});
    Zero longer(Tensors{other}, options, group);
    auto of_other = to_load(complete);
    CHECK_THROWS_AS(longer.load(of_other), Error);
    p.set_data(p.detach().clone());
    CHECK_THROWS_AS(zero.step(), Error);
  }));
}

}  // namespace tandem::distributed
