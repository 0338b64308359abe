// BatchShards: the bits of a ParameterServer with as many shards, for any number of ranks.
#include "tandem/parallel/fully_sharded/batch_shards.h"

#include <doctest/doctest.h>

#include <limits>

#include "tandem/core/shards.h"
#include "tandem/models/gpt2.h"
#include "tandem/models/lenet.h"
#include "tandem/models/resnet.h"
#include "tandem/parallel/parameter_server.h"
#include "tandem/tests/distributed/fully_sharded.h"

namespace tandem::distributed {
namespace {

using parallel::StepResult;

struct Case {
  std::function<Tensors(int64_t samples)> batch;
  std::function<Tensor(const Tensor& output, const Tensor& target)> loss;
  std::vector<int64_t> samples = {16, 13, 9, 5};  // of each step's batch
  int64_t shards = 8;
  double clip = 0;
  int64_t accumulate = 1;  // batches in a step
};

/// Of the batch of a step, the same on every rank.
Tensors batch_of(const Case& c, std::size_t step) {
  const GeneratorGuard guard{Generator(40 + step)};
  return c.batch(c.samples[step]);
}
Tensors own_part(const Tensors& batch, const Case& c, int size, int rank) {
  const auto [first, end] = shard_range(batch[0].size(0), c.shards, size, rank);
  Tensors own;
  for (const Tensor& t : batch) own.push_back(t.narrow(0, first, end - first));
  return own;
}

template <class Make>
Trained by_server(const Case& c, const Make& make, const MakeOptimizer& make_optimizer) {
  auto net = make_seeded(make, 0);
  using Net = typename decltype(net)::ContainedType;
  const GeneratorGuard guard{Generator(7)};
  parallel::ParameterServer<Net> server(net, {"cpu:0"}, {.shards = c.shards});
  const auto optimizer = make_optimizer(net->parameters());
  Trained out;
  for (std::size_t step = 0; step < c.samples.size(); ++step) {
    const bool last = static_cast<int64_t>(step + 1) % c.accumulate == 0;
    std::optional<parallel::ServerCore::NoSync> more;
    if (!last) more.emplace(server);
    const StepResult result = server.backward(
        batch_of(c, step), [&](Net& at, const Tensor& x, const Tensor& y) { return c.loss(at.forward(x), y); });
    for (const Tensor& loss : result.losses) out.losses.push_back(loss.item<double>());
    if (!last) continue;
    if (c.clip > 0) out.losses.push_back(nn::utils::clip_grad_norm_(net->parameters(), c.clip));
    server.update(*optimizer);
  }
  for (const auto& [name, value] : net->named_parameters()) out.values.emplace(name, value.detach().clone());
  for (const auto& [name, value] : net->named_buffers()) out.values.emplace(name, value.clone());
  return out;
}

template <class Make>
Trained by_shards(const GroupPtr& group, const Case& c, const Make& make, const MakeOptimizer& make_optimizer,
                  bool reshard) {
  auto net = make_seeded(make, group->rank());
  using Net = typename decltype(net)::ContainedType;
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(7 + group->rank()))};  // rank 0's counts
  FullyShardedDataParallel<Net> model(net, {.process_group = group, .reshard_after_forward = reshard});
  const auto optimizer = make_optimizer(model->parameters());
  BatchShards shards(model.ptr(), {.shards = c.shards});
  Trained out;
  for (std::size_t step = 0; step < c.samples.size(); ++step) {
    if (static_cast<int64_t>(step) % c.accumulate == 0) optimizer->zero_grad();
    const StepResult result =
        shards.backward(own_part(batch_of(c, step), c, group->size(), group->rank()),
                        [&](const Tensors& shard) { return c.loss(model->forward(shard[0]), shard[1]); });
    const Tensor all = full({static_cast<int64_t>(c.shards)}, 0.0, kDouble);  // by shard
    int64_t first = balanced_begin(std::min(c.samples[step], c.shards), group->size(), group->rank());
    for (const Tensor& loss : result.losses) all[first++].fill_(loss.item<double>());
    group->all_reduce(all)->wait();
    for (int64_t k = 0; k < std::min(c.samples[step], c.shards); ++k) out.losses.push_back(all[k].item<double>());
    if (static_cast<int64_t>(step + 1) % c.accumulate != 0) continue;
    if (c.clip > 0) out.losses.push_back(shards.clip_grad_norm_(c.clip));
    optimizer->step();
  }
  CHECK(shards.steps() == static_cast<int64_t>(c.samples.size()));
  for (const auto& [name, value] : model->gather_parameters()) out.values.emplace(name, value);
  for (const auto& [name, value] : model->named_buffers()) out.values.emplace(name, value.clone());
  return out;
}

template <class Make>
void compare(const Case& c, const Make& make, const MakeOptimizer& make_optimizer,
             const std::vector<int>& sizes = {1, 2, 3, 4}) {
  const Trained expected = by_server(c, make, make_optimizer);
  for (const int size : sizes)
    for (const bool reshard : {true, false}) {
      CAPTURE(size);
      CAPTURE(reshard);
      on_ranks(size, [&](const GroupPtr& group) {
        check_same(by_shards(group, c, make, make_optimizer, reshard), expected);
      });
    }
}

Case images(IntArrayRef sizes) {
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  return {[shape](int64_t samples) {
            std::vector<int64_t> all{samples};
            all.insert(all.end(), shape.begin(), shape.end());
            const Tensor data = randn(all);
            return Tensors{data, randint(10, {samples}, kLong)};
          },
          [](const Tensor& output, const Tensor& target) { return nn::functional::cross_entropy(output, target); }};
}
nn::Sequential lenet() { return models::lenet(models::LeNetOptions(10).height(16).width(16)); }
nn::Sequential with_dropout() {
  return nn::Sequential(nn::Flatten(), nn::Linear(20, 33), nn::BatchNorm1d(33), nn::ReLU(), nn::Dropout(0.4),
                        nn::Linear(33, 10));
}

constexpr int64_t kVocabulary = 37;
models::GPT2LMHeadModel gpt2() {
  return models::GPT2LMHeadModel(
      models::GPT2Options().vocab_size(kVocabulary).n_positions(16).n_embd(24).n_layer(3).n_head(3));
}
Case texts() {
  return {[](int64_t samples) {
            const Tensor tokens = randint(kVocabulary, {samples, 11}, kLong);
            return Tensors{tokens.narrow(1, 0, 10), tokens.narrow(1, 1, 10)};
          },
          [](const Tensor& output, const Tensor& target) {
            return nn::functional::cross_entropy(output.reshape({-1, kVocabulary}), target.reshape({-1}));
          }};
}

}  // namespace

TEST_CASE("LeNet in shards") {
  if (!available()) return;
  compare(images({1, 16, 16}), lenet, sgd());
  compare(images({1, 16, 16}), lenet, adam(), {3});
}

TEST_CASE("GPT-2 in shards, whose head shares the weight of its embedding") {
  if (!available()) return;
  compare(texts(), gpt2, adam());
}

TEST_CASE("batch normalisation and dropout in shards") {
  if (!available()) return;
  Case c = images({20});
  c.samples = {32, 17};
  compare(c, with_dropout, sgd());
}

TEST_CASE("a residual network in shards") {
  if (!available()) return;
  Case c = images({3, 32, 32});
  c.samples = {8, 8};
  c.shards = 4;
  const auto make = [] {
    return models::ResNet(models::ResNetOptions(models::ResNetBlockKind::kBasic, {1, 1, 1, 1}).num_classes(10));
  };
  compare(c, make, sgd(), {2, 3});
}

TEST_CASE("norms are clipped, and several batches are added, with the bits of one device") {
  if (!available()) return;
  Case c = images({20});
  c.samples = {16, 19, 17, 16};
  c.clip = 0.1;
  c.accumulate = 2;
  compare(c, with_dropout, adam());
}

TEST_CASE("a loss that is not finite, and parts of wrong sizes") {
  if (!available()) return;
  on_ranks(2, [](const GroupPtr& group) {
    auto net = make_seeded(with_dropout, 0);
    FullyShardedDataParallel<nn::SequentialImpl> model(net, {.process_group = group});
    CHECK_THROWS_WITH_AS(BatchShards(model.ptr(), {.shards = 0}), doctest::Contains("shards must be positive, got 0"),
                         Error);
    BatchShards shards(model.ptr(), {.shards = 4, .not_finite = NotFinite::kSkip});
    const Tensors batch{randn({4, 20})};
    const auto loss = [&](double factor) {
      return [&model, factor](const Tensors& shard) { return model->forward(shard[0]).mean() * factor; };
    };
    shards.backward(batch, loss(1));
    const Tensor before = model->parameters()[0].grad().clone(), mean = model->buffers()[0].clone();
    const double bad = group->rank() == 1 ? std::numeric_limits<double>::infinity() : 1;
    CHECK(shards.backward(batch, loss(bad)).skipped);
    CHECK(testing::identical(model->parameters()[0].grad(), before));
    CHECK(testing::identical(model->buffers()[0], mean));
    CHECK(!shards.backward(batch, loss(1)).skipped);
    CHECK(!testing::identical(model->parameters()[0].grad(), before));
    CHECK(!testing::identical(model->buffers()[0], mean));

    BatchShards again(model.ptr(), {.shards = 4});
    const Tensors wrong{randn({group->rank() == 0 ? 4 : 6, 20})};
    CHECK_THROWS_WITH_AS(
        again.backward(wrong, loss(1)),
        doctest::Contains("BatchShards: rank 0 has 4 samples, but its part of a batch of 10 in 4 shards "
                          "has 6 (shards 0 to 1)"),
        Error);
  });
  on_ranks(2, [](const GroupPtr& group) {
    auto net = make_seeded(with_dropout, 0);
    FullyShardedDataParallel<nn::SequentialImpl> model(net, {.process_group = group});
    BatchShards shards(model.ptr(), {.shards = 4});
    const double bad = group->rank() == 1 ? std::numeric_limits<double>::infinity() : 1;
    try {
      shards.backward({randn({4, 20})}, [&](const Tensors& shard) { return model->forward(shard[0]).mean() * bad; });
      FAIL("it did not throw");
    } catch (const Error& error) {
      CAPTURE(std::string(error.what()));
      CHECK(std::string(error.what()).find("the loss of shard 2 (samples 0 to 1 of the batch) is") !=
            std::string::npos);
    }
  });
}

}  // namespace tandem::distributed
