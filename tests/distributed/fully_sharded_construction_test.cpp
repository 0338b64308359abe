// ShardedConstruction: the values of the whole model in the memory of its largest unit.
#include <doctest/doctest.h>

#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/models/gpt2.h"
#include "tandem/models/resnet.h"
#include "tandem/nn/init.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"
#include "tandem/parallel/fully_sharded/sharded_construction.h"
#include "tandem/tests/distributed/fully_sharded.h"
#include "tandem/tests/temp_folder.h"

namespace tandem::distributed {
namespace {

using testing::identical;
using Sequential = FullyShardedDataParallel<nn::SequentialImpl>;

models::GPT2LMHeadModel small_gpt2() {
  return models::GPT2LMHeadModel(models::GPT2Options().vocab_size(37).n_positions(16).n_embd(24).n_layer(3).n_head(3));
}
Tensor gpt2_loss(const Forward& forward, int rank, int step) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(100 * step + rank + 1))};
  const Tensor tokens = randint(37, {2, 11}, kLong);
  return nn::functional::cross_entropy(forward(tokens.narrow(1, 0, 10)).reshape({-1, 37}),
                                       tokens.narrow(1, 1, 10).reshape({-1}));
}

// Containers in blocks in containers, a parameter of two blocks, another dtype and a frozen block.
struct Twice : nn::Module {
  explicit Twice(const Tensor& shared) { weight = register_parameter("weight", shared); }
  Tensor forward(const Tensor& x) { return nn::functional::linear(x, weight); }
  Tensor weight;
};
nn::Sequential nested() {
  nn::Sequential net;
  nn::Linear shared(7, 7);
  net->push_back(shared);
  net->push_back(nn::Sequential(nn::Linear(7, 9), nn::Sequential(nn::Tanh(), nn::Linear(9, 7)),
                                nn::LayerNorm(nn::LayerNormOptions({7}))));
  nn::Linear frozen(7, 7);
  frozen->bias.requires_grad_(false);
  net->push_back(frozen);
  net->push_back(std::make_shared<Twice>(shared->weight));
  return net;
}
// Sets values at the end of its constructor, as the published networks for images do.
struct LateImpl : nn::Module {
  LateImpl() {
    blocks->push_back(nn::Linear(7, 9));
    blocks->push_back(nn::Sequential(nn::Linear(9, 9), nn::BatchNorm1d(9)));
    blocks->push_back(nn::Linear(nn::LinearOptions(9, 7).bias(false)));
    register_module("blocks", blocks);
    last = register_module("last", nn::Linear(7, 3));
    for (const Tensor& p : parameters())
      if (p.dim() > 1) nn::init::xavier_uniform_(p);
    nn::init::orthogonal_(blocks->ptr<nn::LinearImpl>(0)->weight);
    nn::init::kaiming_normal_(blocks->ptr<nn::LinearImpl>(2)->weight, 0, kFanOut, kReLU);
    for (const Tensor& p : parameters())
      if (p.dim() == 1) nn::init::uniform_(p, 0.5, 1.5);
  }
  Tensor forward(const Tensor& x) { return last(blocks->forward(x)); }
  nn::Sequential blocks;
  nn::Linear last{nullptr};
};
TANDEM_MODULE(Late);

Tensor vector_loss(const Forward& forward, int rank, int step) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(100 * step + rank + 1))};
  return forward(randn({5, 7})).pow(2).mean();
}

// Trains for three steps; also returns the next random number.
template <class Make>
std::pair<Trained, double> run(const GroupPtr& group, const Make& make, const Loss& loss, bool sharded) {
  std::unique_ptr<ShardedConstruction> parts;
  if (sharded) parts = std::make_unique<ShardedConstruction>(group);
  double next = 0;
  const auto then_draw = [&] {
    auto net = make();
    if (sharded) {
      std::size_t elements = 0;
      for (const Tensor& p : net->parameters()) elements += p.numel() > 0;
      CHECK(elements < net->parameters().size());
    }
    next = rand({1}).template item<double>();
    return net;
  };
  Trained trained = train_sharded(group, then_draw, loss, adam(), 3);
  return {std::move(trained), next};
}

template <class Make>
void compare(const Make& make, const Loss& loss) {
  for (const int size : {1, 2, 3})
    on_ranks(size, [&](const GroupPtr& group) {
      const auto expected = run(group, make, loss, false), result = run(group, make, loss, true);
      check_same(result.first, expected.first);
      CHECK(result.second == expected.second);
    });
}

}  // namespace

TEST_CASE("the values, the following random numbers and the training of the whole model") {
  if (!available()) return;
  compare(small_gpt2, gpt2_loss);
  compare(nested, vector_loss);
  compare([] { return Late(); }, vector_loss);
}

TEST_CASE("the initial values of a ResNet, of which rank 0's count") {
  if (!available()) return;
  const auto make = [] {
    return models::ResNet(
        models::ResNetOptions(models::ResNetBlockKind::kBasic, {1, 1, 1, 1}).num_classes(3).zero_init_residual(true));
  };
  const auto whole = make_seeded(make, 0);
  on_ranks(2, [&](const GroupPtr& group) {
    const ShardedConstruction parts(group);
    const auto net = make_seeded(make, group->rank());
    CHECK(net->layer4->parameters()[0].sizes() == IntArrayRef{0, 0, 0, 0});
    FullyShardedDataParallel<models::ResNetImpl> model(net, {.process_group = group});
    for (const auto& item : model->gather_parameters()) {
      CAPTURE(item.key());
      CHECK(identical(item.value(), whole->named_parameters()[item.key()].detach()));
    }
  });
}

TEST_CASE("no process holds the whole") {
  if (!available()) return;
  constexpr int64_t kWidth = 100, kLayers = 64, kUnit = 4 * (kWidth * kWidth + kWidth), kWhole = kLayers * kUnit;
  constexpr int kRanks = 4;
  const int64_t before = memory_stats(kCPU).current_bytes;
  on_ranks(kRanks, [&](const GroupPtr& group) {
    group->barrier()->wait();
    if (group->rank() == 0) reset_peak_memory_stats(kCPU);
    group->barrier()->wait();
    const ShardedConstruction parts(group);
    nn::Sequential net;
    for (int i = 0; i < kLayers; ++i) net->push_back(nn::Linear(kWidth, kWidth));
    for (const Tensor& p : net->parameters()) nn::init::normal_(p);
    const Sequential model(net, {.process_group = group});
    group->barrier()->wait();
  });
  // The slices, the part of a unit that is cut from them once more, and the units that are built or gathered.
  CHECK(memory_stats(kCPU).peak_bytes - before <= kWhole * 11 / 10 + kRanks * 6 * kUnit);
  CHECK(memory_stats(kCPU).peak_bytes - before < 2 * kWhole);
}

TEST_CASE("no process has more than a unit beyond its slices while it saves, and its slices again while it loads") {
  if (!available()) return;
  constexpr int64_t kWidth = 100, kLayers = 64, kUnit = 4 * (kWidth * kWidth + kWidth), kWhole = kLayers * kUnit;
  constexpr int kRanks = 4;
  const test::TempFolder folder;
  const auto peak_of = [&](const std::function<void(FullyShardedDataParallelBase&)>& act) {
    int64_t more = 0;
    on_ranks(kRanks, [&](const GroupPtr& group) {
      const ShardedConstruction parts(group);
      nn::Sequential net;
      for (int i = 0; i < kLayers; ++i) net->push_back(nn::Linear(kWidth, kWidth));
      Sequential model(net, {.process_group = group});
      group->barrier()->wait();
      const int64_t before = memory_stats(kCPU).current_bytes;
      group->barrier()->wait();
      if (group->rank() == 0) reset_peak_memory_stats(kCPU);
      group->barrier()->wait();
      act(*model);
      group->barrier()->wait();
      if (group->rank() == 0) more = memory_stats(kCPU).peak_bytes - before;
      group->barrier()->wait();
    });
    return more;
  };
  CHECK(peak_of([&](FullyShardedDataParallelBase& model) { save_checkpoint(model, folder / "saved"); }) <=
        kRanks * 3 * kUnit);
  CHECK(peak_of([&](FullyShardedDataParallelBase& model) { load_checkpoint(model, folder / "saved"); }) <=
        kWhole * 11 / 10 + kRanks * 3 * kUnit);
}

TEST_CASE("values from a checkpoint") {
  if (!available()) return;
  const test::TempFolder folder;
  on_ranks(2, [&](const GroupPtr& group) {
    FullyShardedDataParallel<models::GPT2LMHeadModel::ContainedType> model(small_gpt2(), {.process_group = group});
    save_checkpoint(*model, folder / "saved");
    const auto expected = model->gather_parameters();
    const ShardedConstruction parts(group);
    FullyShardedDataParallel<models::GPT2LMHeadModel::ContainedType> other(small_gpt2(), {.process_group = group});
    load_checkpoint(*other, folder / "saved");
    for (const auto& [name, value] : other->gather_parameters()) CHECK(identical(value, expected[name]));
  });
}

TEST_CASE("parameters that operations change after their block was added, and another group, are refused") {
  if (!available()) return;
  on_ranks(2, [&](const GroupPtr& group) {
    const ShardedConstruction parts(group);
    nn::Sequential net(nn::Linear(4, 4), nn::Linear(4, 4));
    const Tensor weight = net->ptr<nn::LinearImpl>(1)->weight;
    CHECK_THROWS_WITH(nn::init::kaiming_normal_(weight.detach()), doctest::Contains("initialise the whole"));
    weight.detach().normal_();
    nn::init::zeros_(weight);
    CHECK_THROWS_WITH(Sequential(net, {.process_group = group}),
                      doctest::Contains("parameter 1.weight, or another one of its block, was changed"));
    const auto again = group->new_group({0, 1});
    CHECK_THROWS_WITH(Sequential(nn::Sequential(nn::Linear(4, 4)), {.process_group = again}),
                      doctest::Contains("built in another group"));
  });
}

}  // namespace tandem::distributed
