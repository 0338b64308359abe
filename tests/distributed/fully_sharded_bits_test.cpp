// FullyShardedDataParallel: the bits of DistributedDataParallel.
#include <doctest/doctest.h>

#include "tandem/models/gpt2.h"
#include "tandem/models/lenet.h"
#include "tandem/models/resnet.h"
#include "tandem/nn/checkpoint.h"
#include "tandem/tests/distributed/fully_sharded.h"

namespace tandem::distributed {
namespace {

Generator seeded(int rank, int step) { return Generator(static_cast<uint64_t>(1000 * step + rank + 1)); }
Tensor batch(IntArrayRef sizes, int rank, int step) {
  const GeneratorGuard guard{seeded(rank, step)};
  return randn(sizes);
}

template <class Make>
void compare(int size, const Make& make, const Loss& loss, const MakeOptimizer& optimizer, int steps = 10,
             FullyShardedDataParallelOptions options = {}) {
  for (const bool reshard : {true, false}) {
    CAPTURE(reshard);
    CAPTURE(size);
    on_ranks(size, [&](const GroupPtr& group) {
      const Trained expected = train_replicated(group, make, loss, optimizer, steps);
      FullyShardedDataParallelOptions own = options;
      own.reshard_after_forward = reshard;
      check_same(train_sharded(group, make, loss, optimizer, steps, own), expected);
    });
  }
}

Tensor lenet_loss(const Forward& forward, int rank, int step) {
  const Tensor target = batch({4, 10}, rank, step + 100).argmax(1);
  return nn::functional::cross_entropy(forward(batch({4, 1, 16, 16}, rank, step)), target);
}
nn::Sequential small_lenet() { return models::lenet(models::LeNetOptions(10).height(16).width(16)); }

constexpr int64_t kVocabulary = 37;
models::GPT2Options small_options() {
  return models::GPT2Options().vocab_size(kVocabulary).n_positions(16).n_embd(24).n_layer(3).n_head(3);
}
models::GPT2LMHeadModel small_gpt2() { return models::GPT2LMHeadModel(small_options()); }
Tensor gpt2_loss(const Forward& forward, int rank, int step) {
  const GeneratorGuard guard{seeded(rank, step)};  // dropout draws from it
  const Tensor tokens = randint(kVocabulary, {2, 11}, kLong);
  const Tensor logits = forward(tokens.narrow(1, 0, 10));
  return nn::functional::cross_entropy(logits.reshape({-1, kVocabulary}), tokens.narrow(1, 1, 10).reshape({-1}));
}

models::ResNet small_resnet() {
  return models::ResNet(models::ResNetOptions(models::ResNetBlockKind::kBasic, {1, 1, 1, 1}).num_classes(5));
}
Tensor resnet_loss(const Forward& forward, int rank, int step) {
  return forward(batch({2, 3, 32, 32}, rank, step)).pow(2).mean();
}

Tensor vector_loss(const Forward& forward, int rank, int step) {
  return forward(batch({5, 7}, rank, step)).pow(2).mean();
}

nn::Sequential perceptron(int64_t in, int64_t inner, int64_t out) {
  return nn::Sequential(nn::Linear(in, inner), nn::Tanh(), nn::Linear(inner, out));
}

// A chain of blocks that are units, each with three layers.
template <class Run>
struct BlocksImpl : nn::Module {
  BlocksImpl() {
    for (int i = 0; i < 4; ++i) blocks->push_back(perceptron(7, 9, 7));
    register_module("blocks", blocks);
    last = register_module("last", nn::Linear(7, 3));
  }
  Tensor forward(const Tensor& x) { return last(Run()(blocks, x)); }
  nn::Sequential blocks;
  nn::Linear last{nullptr};
};
struct Plainly {
  Tensor operator()(nn::Sequential& blocks, const Tensor& x) const { return blocks->forward(x); }
};
struct ByBlock {
  Tensor operator()(nn::Sequential& blocks, const Tensor& x) const {
    Tensor y = x;
    for (std::size_t i = 0; i < blocks->size(); ++i)
      y = utils::checkpoint(
          [block = nn::Sequential(blocks->ptr<nn::SequentialImpl>(i))](const Tensor& t) mutable { return block(t); },
          y);
    return y;
  }
};
struct BySegment {
  Tensor operator()(nn::Sequential& blocks, const Tensor& x) const {
    return utils::checkpoint_sequential(blocks, 2, x);
  }
};
template <class Run>
nn::ModuleHolder<BlocksImpl<Run>> blocks() {
  return std::make_shared<BlocksImpl<Run>>();
}

// A parameter of the root is used between the units.
struct BetweenImpl : nn::Module {
  BetweenImpl() {
    for (int i = 0; i < 3; ++i) blocks->push_back(perceptron(7, 9, 7));
    register_module("blocks", blocks);
    scale = register_parameter("scale", full({7}, 1.5));
  }
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (std::size_t i = 0; i < blocks->size(); ++i) y = nn::call(*blocks->ptr<nn::SequentialImpl>(i), y * scale);
    return y;
  }
  nn::Sequential blocks;
  Tensor scale;
};
TANDEM_MODULE(Between);

// A block that computes a part of itself again.
struct InnerImpl : nn::Module {
  InnerImpl() {
    first = register_module("first", nn::Linear(7, 9));
    second = register_module("second", nn::Linear(9, 7));
  }
  Tensor forward(const Tensor& x) {
    return x + utils::checkpoint([this](const Tensor& t) { return second(first(t).tanh()); }, x);
  }
  nn::Linear first{nullptr}, second{nullptr};
};
TANDEM_MODULE(Inner);

}  // namespace

TEST_CASE("LeNet") {
  if (!available()) return;
  compare(2, small_lenet, lenet_loss, sgd());
  compare(2, small_lenet, lenet_loss, adam());
}

TEST_CASE("GPT-2, whose head shares the weight of its embedding") {
  if (!available()) return;
  compare(2, small_gpt2, gpt2_loss, sgd());
  compare(2, small_gpt2, gpt2_loss, adam());
}

TEST_CASE("half precision in forward") {
  if (!available()) return;
  const auto in_half = [](const Loss& loss, ScalarType dtype) -> Loss {
    return [=](const Forward& forward, int rank, int step) {
      const autocast::AutocastGuard guard(kCPU, dtype);
      return loss(forward, rank, step);
    };
  };
  compare(2, small_gpt2, in_half(gpt2_loss, kBFloat16), adam(), 4);
  const FullyShardedDataParallelOptions rounded{.gather_rounded = true};
  for (const ScalarType dtype : {kBFloat16, kHalf}) {
    CAPTURE(dtype);
    compare(2, small_gpt2, in_half(gpt2_loss, dtype), adam(), 4, rounded);
    compare(3, blocks<ByBlock>, in_half(vector_loss, dtype), adam(), 4, rounded);
    compare(2, blocks<BySegment>, in_half(vector_loss, dtype), adam(), 4, rounded);
    compare(1, small_lenet, in_half(lenet_loss, dtype), adam(), 4, rounded);
  }
  compare(2, small_resnet, in_half(resnet_loss, kBFloat16), sgd(), 2, rounded);
}

TEST_CASE("a residual network with batch normalisation") {
  if (!available()) return;
  compare(2, small_resnet, resnet_loss, sgd(), 3);
}

TEST_CASE("1 to 4 ranks") {
  if (!available()) return;
  for (const int size : {1, 3, 4}) {
    compare(size, small_gpt2, gpt2_loss, adam(), 4);
    compare(
        size, [] { return perceptron(7, 33, 3); }, vector_loss, adam(), 4);
  }
}

TEST_CASE("frozen parameters, whole units among them") {
  if (!available()) return;
  const auto make = [] {
    auto net = blocks<Plainly>();
    for (const Tensor& p : net->blocks->ptr(1)->parameters()) p.requires_grad_(false);
    net->last->bias.requires_grad_(false);
    net->blocks->ptr(2)->parameters()[0].requires_grad_(false);
    return net;
  };
  for (const int size : {2, 3}) compare(size, make, vector_loss, adam(), 4);
}

TEST_CASE("checkpointed units, segments of several units and parts of a unit") {
  if (!available()) return;
  for (const int size : {2, 3}) {
    compare(size, blocks<ByBlock>, vector_loss, adam(), 4);
    compare(size, blocks<BySegment>, vector_loss, adam(), 4);
    compare(
        size, [] { return nn::Sequential(Inner(), Inner(), nn::Linear(7, 3)); }, vector_loss, adam(), 4);
  }
  // Once the second layer of a block has its gradients, the block is freed, although the frozen first one needs its
  // weight for the gradient of its input.
  const auto half_frozen = [] {
    auto net = blocks<ByBlock>();
    for (std::size_t i = 1; i < 4; ++i)
      for (const Tensor& p : net->blocks->template ptr<nn::SequentialImpl>(i)->ptr(0)->parameters())
        p.requires_grad_(false);
    return net;
  };
  compare(2, half_frozen, vector_loss, adam(), 4);
  // The whole model.
  compare(
      2, blocks<Plainly>,
      [](const Forward& forward, int rank, int step) {
        return vector_loss([&](const Tensor& x) { return utils::checkpoint(forward, x.requires_grad_()); }, rank, step);
      },
      adam(), 4);
}

TEST_CASE("a root that backward needs before the units, or between them") {
  if (!available()) return;
  for (const int size : {2, 3})
    compare(
        size, [] { return Between(); }, vector_loss, adam(), 4);
  const auto gathers = [](const GroupPtr& group, auto net) {
    using Net = typename decltype(net)::ContainedType;
    FullyShardedDataParallel<Net> model(net, {.process_group = group});
    const auto calls = [&] {
      const std::string text = group->recent_calls();
      std::size_t count = 0;
      for (std::size_t at = text.find("all_gather"); at != std::string::npos; at = text.find("all_gather", at + 1))
        ++count;
      return count;
    };
    std::vector<std::size_t> out;
    for (int step = 0; step < 3; ++step) {
      const std::size_t before = calls();
      vector_loss([&](const Tensor& x) { return model->forward(x); }, group->rank(), step).backward();
      out.push_back(calls() - before);
    }
    return out;
  };
  on_ranks(2, [&](const GroupPtr& group) {
    CHECK(gathers(group, blocks<Plainly>()) == std::vector<std::size_t>{9, 9, 9});
  });
  // The first pass learns that the root's values are needed again.
  on_ranks(2, [&](const GroupPtr& group) { CHECK(gathers(group, Between()) == std::vector<std::size_t>{8, 7, 7}); });
}

TEST_CASE("saved tensors that go through hooks") {
  if (!available()) return;
  const Loss loss = [](const Forward& forward, int rank, int step) {
    const autograd::SavedTensorHooksGuard guard(autograd::save_on_cpu());
    return gpt2_loss(forward, rank, step);
  };
  compare(2, small_gpt2, loss, adam(), 4);
}

}  // namespace tandem::distributed
