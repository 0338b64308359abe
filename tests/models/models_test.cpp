// What the models compute and how they start; their values are compared with PyTorch's by torch_models.py.
#include "tandem/models/models.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/base/sanitizers.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/nn/init.h"
#include "tandem/nn/layers/transformer.h"
#include "tandem/testing.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::models;
using test::error_of;

namespace {

// With the address sanitizer every block comes from the system.
#ifdef TANDEM_ASAN
constexpr bool kCachesMemory = false;
#else
constexpr bool kCachesMemory = true;
#endif

double deviation(const Tensor& t) { return t.std().item<double>(); }

GPT2Options small_gpt2() {
  return GPT2Options()
      .n_layer(2)
      .n_embd(32)
      .n_head(4)
      .vocab_size(100)
      .n_positions(24)
      .resid_pdrop(0)
      .embd_pdrop(0)
      .attn_pdrop(0);
}

VisionTransformerOptions small_vit() {
  return VisionTransformerOptions()
      .image_size(32)
      .patch_size(8)
      .num_layers(2)
      .num_heads(2)
      .hidden_dim(16)
      .mlp_dim(32)
      .num_classes(7);
}

// How often the kernels of attention and of softmax run.
struct AttentionCalls final : KernelRecorder {
  void called(const KernelCall& call) override {
    const std::string_view name = call.name;
    forward += name == "attention";
    backward += name == "attention_backward";
    softmax += name == "softmax" || name == "softmax_backward";
  }
  void read_on_host(const Tensor&, const char*) override {}
  int forward = 0, backward = 0, softmax = 0;
};

}  // namespace

TEST_CASE("transformers hold no scores, in training, with masks and behind a cache") {
  const auto check = [](int forward, int backward, auto&& run) {
    AttentionCalls calls;
    {
      const RecordKernels recording(calls);
      run();
    }
    CHECK_EQ(calls.forward, forward);
    CHECK_EQ(calls.backward, backward);
    CHECK_EQ(calls.softmax, 0);
  };
  const Tensor tokens = randint(100, {2, 6}, TensorOptions(kLong));
  GPT2LMHeadModel gpt2(small_gpt2().attn_pdrop(0.1));
  check(2, 2, [&] { gpt2(tokens).sum().backward(); });
  gpt2->eval();
  check(4, 0, [&] {
    const GPT2Cache cache(gpt2->options, 2, 20);
    cache.set_padding({0, 2});
    gpt2->forward(tokens, cache);
    gpt2->forward(tokens, cache);
  });
  VisionTransformer vit(small_vit().attention_dropout(0.1));
  check(2, 2, [&] { vit(randn({2, 3, 32, 32})).sum().backward(); });
  nn::Transformer transformer(nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(16));
  const Tensor words = randn({5, 2, 8}), hidden = nn::TransformerImpl::generate_square_subsequent_mask(5);
  const Tensor padding = arange(5) >= tensor({5, 3}).view({2, 1});
  check(3, 3,
        [&] { transformer(words, words, Tensor(), hidden, Tensor(), padding, padding, padding).sum().backward(); });
}

TEST_CASE("images become logits, and every parameter gets a gradient") {
  manual_seed(1);
  const Tensor images = randn({2, 3, 64, 64});
  const auto runs = [](auto model, const Tensor& input) {
    const Tensor out = model(input);
    CHECK_EQ(out.sizes(), IntArrayRef({2, 7}));
    (out * randn({2, 7})).sum().backward();
    for (const auto& item : model->named_parameters()) CHECK_MESSAGE(item.value().grad().defined(), item.key());
  };
  runs(resnet18(7), images);
  runs(ResNet(ResNetOptions(ResNetBlockKind::kBottleneck, {1, 1, 1, 1}).groups(32).width_per_group(4).num_classes(7)),
       images);
  runs(VGG(VGGOptions({8, 0, 8, 0}).batch_norm(true).num_classes(7)), images);
  runs(mobilenet_v2(7), images);
  runs(MobileNetV2(MobileNetV2Options(7).width_mult(0.35)), images);
  runs(VisionTransformer(small_vit()), images.slice(2, 0, 32).slice(3, 0, 32));
  CHECK_EQ(lenet(LeNetOptions(7).channels(3).height(20).width(30))->forward(randn({2, 3, 20, 30})).sizes(),
           IntArrayRef({2, 7}));
}

TEST_CASE("models start as torchvision's do") {
  manual_seed(1);
  const ResNet resnet = resnet18();
  CHECK_EQ(deviation(resnet->conv1->weight), doctest::Approx(std::sqrt(2.0 / (64 * 49))).epsilon(0.02));
  CHECK_EQ(resnet->bn1->weight.min().item<double>(), 1);
  ResNet zero(ResNetOptions(ResNetBlockKind::kBasic, {1, 1, 1, 1}).zero_init_residual(true));
  CHECK_EQ(zero->layer1->at<ResNetBlockImpl>(0).bn2->weight.abs().max().item<double>(), 0);
  CHECK_EQ(zero->layer1->at<ResNetBlockImpl>(0).bn1->weight.min().item<double>(), 1);
  MobileNetV2 mobile = mobilenet_v2();
  CHECK_EQ(deviation(mobile->classifier->at<nn::LinearImpl>(1).weight), doctest::Approx(0.01).epsilon(0.02));
  VisionTransformer vit(small_vit());
  CHECK_EQ(vit->class_token.abs().max().item<double>(), 0);
  CHECK_EQ(deviation(vit->conv_proj->weight), doctest::Approx(std::sqrt(1.0 / 192)).epsilon(0.05));
  CHECK_EQ(deviation(vit->encoder->pos_embedding), doctest::Approx(0.02).epsilon(0.2));
  CHECK_EQ(vit->heads->at<nn::LinearImpl>(0).weight.abs().max().item<double>(), 0);
  GPT2LMHeadModel gpt(small_gpt2());
  const auto& block = *gpt->transformer->h->ptr<GPT2BlockImpl>(0);
  CHECK_EQ(deviation(block.attn->c_attn->weight), doctest::Approx(0.02).epsilon(0.05));
  CHECK_EQ(deviation(block.attn->c_proj->weight), doctest::Approx(0.01).epsilon(0.1));
  CHECK_EQ(block.attn->c_attn->bias.abs().max().item<double>(), 0);
}

TEST_CASE("a position of GPT-2 depends on itself and on earlier tokens only") {
  manual_seed(1);
  GPT2LMHeadModel model(small_gpt2());
  const Tensor tokens = randint(0, 100, {1, 10}, TensorOptions(kLong));
  Tensor changed = tokens.clone();
  changed[0][6] = (tokens[0][6] + 1) % 100;
  const Tensor a = model(tokens), b = model(changed);
  CHECK_EQ(a.sizes(), IntArrayRef({1, 10, 100}));
  CHECK(a.slice(1, 0, 6).equal(b.slice(1, 0, 6)));
  CHECK_GT((a - b).slice(1, 6).abs().max().item<double>(), 1e-4);
}

TEST_CASE("the first and the last layer of GPT-2 share their weight, in copies too") {
  GPT2LMHeadModel model(small_gpt2());
  const auto parameters = model->named_parameters();
  CHECK(parameters.contains("transformer.wte.weight"));
  CHECK_FALSE(parameters.contains("lm_head.weight"));
  const auto copy = std::dynamic_pointer_cast<GPT2LMHeadModelImpl>(model->clone());
  REQUIRE(copy != nullptr);
  CHECK(copy->lm_head->weight.is_same(copy->transformer->wte->weight));
  CHECK_FALSE(copy->lm_head->weight.is_same(model->lm_head->weight));
  CHECK(copy->lm_head->weight.equal(model->lm_head->weight));
  CHECK_EQ(copy->parameters().size(), model->parameters().size());
  model->to(kDouble);
  CHECK_EQ(model->lm_head->weight.dtype(), kDouble);
  CHECK(model->lm_head->weight.is_same(model->transformer->wte->weight));
}

TEST_CASE("published state dicts of GPT-2 fit") {
  GPT2LMHeadModel model(small_gpt2()), other(small_gpt2());
  OrderedDict<std::string, Tensor> published;
  for (const auto& item : model->state_dict())
    if (item.key() != "lm_head.weight")
      published.insert(item.key().substr(std::string("transformer.").size()), item.value());
  published.insert("h.0.attn.bias", ones({1, 1, 24, 24}));
  const auto state = gpt2_state_dict(published);
  CHECK_EQ(state.keys().size(), model->state_dict().size());
  other->load_state_dict(state);
  CHECK(other->lm_head->weight.equal(model->lm_head->weight));
  CHECK(gpt2_state_dict(model->state_dict()).keys() == model->state_dict().keys());
}

TEST_CASE("copies of models compute the same") {
  manual_seed(1);
  const Tensor images = randn({1, 3, 32, 32});
  const auto same = [](auto model, const Tensor& input) {
    model->eval();
    using Impl = typename decltype(model)::ContainedType;
    const auto copy = std::dynamic_pointer_cast<Impl>(model->clone());
    REQUIRE(copy != nullptr);
    CHECK(copy->forward(input).equal(model->forward(input)));
    CHECK(copy->state_dict().keys() == model->state_dict().keys());
  };
  same(resnet18(), images);
  same(ResNet(ResNetOptions(ResNetBlockKind::kBottleneck, {1, 1, 1, 1})), images);
  same(VGG(VGGOptions({8, 0, 8, 0})), images);
  same(mobilenet_v2(), images);
  same(VisionTransformer(small_vit()), images);
}

TEST_CASE("fused models compute the same") {
  manual_seed(1);
  NoGradGuard no_grad;
  const Tensor images = randn({2, 3, 64, 64});
  const auto same = [&images](auto model, int64_t norms, int64_t activations) {
    for (const auto& item : model->state_dict()) {  // statistics and weights that change something
      const Tensor t = item.value();
      if (item.key().ends_with("running_var")) Tensor(t).uniform_(0.5, 2);
      if (item.key().ends_with("running_mean") || item.key().ends_with("bias")) Tensor(t).uniform_(-0.5, 0.5);
      if (item.key().ends_with("weight") && t.dim() == 1) Tensor(t).uniform_(0.5, 1.5);
    }
    model->eval();
    const Tensor expected = model(images);
    const nn::FuseResult result = nn::fuse(model);
    CHECK_EQ(result.norms, norms);
    CHECK_EQ(result.activations, activations);
    CHECK(result.remaining.empty());
    CHECK_LT((model(images) - expected).abs().max().template item<double>(),
             1e-5 * expected.abs().max().template item<double>());
    using Impl = typename decltype(model)::ContainedType;
    const auto copy = std::dynamic_pointer_cast<Impl>(model->clone());
    CHECK(copy->forward(images).equal(model(images)));
    const Tensor fused = model(images);
    const AutoGradMode recorded(true);  // runs one by one the passes that are one pass in inference
    CHECK(model(images).equal(fused));
  };
  same(resnet18(10), 20, 9);
  same(resnet50(10), 53, 33);
  same(VGG(VGGOptions({16, 0, 32, 32, 0}).batch_norm(true).num_classes(10)), 3, 5);
  same(mobilenet_v2(10), 52, 35);
}

TEST_CASE("a block of which only the last norm is folded refuses training mode") {
  ResNetBlock block(ResNetBlockOptions(ResNetBlockKind::kBasic, 8, 8));
  block->eval();
  block->conv1->register_forward_hook([](nn::Module&, const std::vector<Tensor>&, const Tensor&) {});
  CHECK_EQ(nn::fuse(block).remaining.size(), 1);
  block->train();
  CHECK_NE(error_of([&] { block(randn({2, 8, 6, 6})); }).find("cannot train"), std::string::npos);
}

TEST_CASE("further forward passes take no memory from the system") {
  manual_seed(1);
  const InferenceMode inference;
  ResNet resnet = resnet18(10);
  resnet->eval();
  GPT2LMHeadModel gpt(small_gpt2());
  gpt->eval();
  const GPT2Cache cache(gpt->options, 1, 24);
  const Tensor image = randn({1, 3, 64, 64}), token = zeros({1, 1}, TensorOptions(kLong));
  const auto run = [&] {
    resnet(image);
    cache.truncate(0);
    for (int i = 0; i < 24; ++i) gpt->forward(token, cache);
  };
  const int threads = get_num_threads();
  set_num_threads(1);  // when one of several gets its first task, which takes scratch memory, depends on the load
  run();
  run();
  const uint64_t before = cpu::system_allocations();
  const int64_t at_rest = memory_stats(Device(kCPU)).current_bytes;
  for (int i = 0; i < 5; ++i) run();
  if (kCachesMemory) CHECK_EQ(cpu::system_allocations(), before);
  CHECK_EQ(memory_stats(Device(kCPU)).current_bytes, at_rest);
  set_num_threads(threads);
}

TEST_CASE("impossible models and inputs are rejected") {
  CHECK_NE(error_of([] {
             ResNet(ResNetOptions(ResNetBlockKind::kBasic, {1, 1, 1}));
           }).find("4 elements"),
           std::string::npos);
  CHECK_NE(error_of([] {
             ResNet(ResNetOptions(ResNetBlockKind::kBasic, {1, 1, 1, 1}).groups(2));
           }).find("basic block"),
           std::string::npos);
  CHECK_NE(error_of([] { vgg_options(12); }).find("11, 13, 16 or 19"), std::string::npos);
  CHECK_NE(error_of([] { VGG(VGGOptions({0})); }).find("convolution"), std::string::npos);
  CHECK_NE(error_of([] { VisionTransformer(small_vit().patch_size(7)); }).find("divide"), std::string::npos);
  CHECK_NE(error_of([] {
             VisionTransformer(small_vit())->forward(zeros({1, 3, 30, 32}));
           }).find("32, 32]"),
           std::string::npos);
  CHECK_NE(error_of([] { GPT2LMHeadModel(small_gpt2().n_head(5)); }).find("divide"), std::string::npos);
  CHECK_NE(error_of([] {
             GPT2LMHeadModel(small_gpt2())->forward(zeros({1, 25}, TensorOptions(kLong)));
           }).find("T <= 24"),
           std::string::npos);
  CHECK_NE(error_of([] { lenet(LeNetOptions().height(13)); }).find("14 x 14"), std::string::npos);
  CHECK_NE(error_of([] { lenet(LeNetOptions().height(int64_t{1} << 60).width(int64_t{1} << 60)); }).find("too many"),
           std::string::npos);
}

TEST_CASE("fused models of images give the same in both layouts") {
  const NoGradGuard no_grad;
  manual_seed(3);
  const Tensor x = randn({2, 3, 64, 64});
  const auto check_model = [&](auto model) {
    model->eval();
    nn::fuse(model);
    const Tensor out = model->forward(x);
    int laid_out = 0;
    model->apply([&](nn::Module& module) {
      if (auto* conv = module.template as<nn::Conv2d>())
        laid_out += conv->layout == MemoryFormat::ChannelsLast, conv->layout = nullopt;
    });
    CHECK(laid_out > 7);
    CHECK(testing::identical(out, model->forward(x)));
  };
  check_model(models::resnet18(10));
  check_model(models::resnet50(10));
  check_model(models::mobilenet_v2(10));
  check_model(models::vgg11(10));
}
