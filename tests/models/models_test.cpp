// What the models compute and how they start; their values are compared with PyTorch's by torch_models.py.
#include "tandem/models/models.h"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/base/sanitizers.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/models/initialise.h"
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

// The networks once more, from their state dicts: what their papers and torchvision say.
struct Plain {
  explicit Plain(const nn::Module& model) : state(model.state_dict()) {}
  Tensor at(const std::string& name) const { return state[name]; }
  bool has(const std::string& name) const { return state.contains(name); }
  Tensor conv(const std::string& name, const Tensor& x, int64_t stride, int64_t padding, int64_t groups = 1) const {
    const Tensor bias = has(name + ".bias") ? at(name + ".bias") : Tensor();
    return conv2d(x, at(name + ".weight"), bias, {stride, stride}, {padding, padding}, {1, 1}, groups);
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    const auto channels = [&](const char* what) { return at(name + what).view({1, -1, 1, 1}); };
    return (x - channels(".running_mean")) / (channels(".running_var") + 1e-5).sqrt() * channels(".weight") +
           channels(".bias");
  }
  Tensor dense(const std::string& name, const Tensor& x) const {
    return matmul(x, at(name + ".weight").t()) + at(name + ".bias");
  }
  Tensor layer_norm(const std::string& name, const Tensor& x, double eps) const {
    const Tensor middle = x - x.mean(-1, true);
    return middle / (middle.square().mean(-1, true) + eps).sqrt() * at(name + ".weight") + at(name + ".bias");
  }
  // queries, keys, values: [N, T, E].
  static Tensor attention(const std::vector<Tensor>& parts, int64_t heads, bool causal) {
    const int64_t batch = parts[0].size(0), length = parts[0].size(1), width = parts[0].size(2);
    const auto split = [&](const Tensor& t) { return t.view({batch, length, heads, width / heads}).transpose(1, 2); };
    Tensor scores = matmul(split(parts[0].contiguous()), split(parts[1].contiguous()).transpose(2, 3)) /
                    std::sqrt(static_cast<double>(width / heads));
    if (causal) scores = scores.masked_fill(ones({length, length}).triu(1).to(kBool), -1e30);
    const Tensor weights = softmax(scores, -1);
    return matmul(weights, split(parts[2].contiguous())).transpose(1, 2).reshape({batch, length, width});
  }

  Tensor resnet(const Tensor& images, int64_t groups) const {
    Tensor x = max_pool2d(relu(norm("bn1", conv("conv1", images, 2, 3))), 3, 2, 1);
    for (int layer = 1; layer <= 4; ++layer)
      for (int i = 0; has(concat("layer", layer, ".", i, ".conv1.weight")); ++i) {
        const std::string block = concat("layer", layer, ".", i, ".");
        const int64_t stride = layer > 1 && i == 0 ? 2 : 1;
        Tensor y;
        if (has(block + "conv3.weight")) {
          y = relu(norm(block + "bn1", conv(block + "conv1", x, 1, 0)));
          y = relu(norm(block + "bn2", conv(block + "conv2", y, stride, 1, groups)));
          y = norm(block + "bn3", conv(block + "conv3", y, 1, 0));
        } else {
          y = relu(norm(block + "bn1", conv(block + "conv1", x, stride, 1)));
          y = norm(block + "bn2", conv(block + "conv2", y, 1, 1));
        }
        const bool same = !has(block + "downsample.0.weight");
        x = relu(y + (same ? x : norm(block + "downsample.1", conv(block + "downsample.0", x, stride, 0))));
      }
    return dense("fc", x.mean({2, 3}));
  }
  // channels: 0 is a pooling.
  Tensor vgg(const Tensor& images, const std::vector<int64_t>& channels, bool norms) const {
    Tensor x = images;
    int64_t place = 0;
    for (const int64_t count : channels) {
      const std::string name = concat("features.", place);
      if (count == 0) {
        x = max_pool2d(x, 2, 2);
        place += 1;
        continue;
      }
      x = conv(name, x, 1, 1);
      CHECK_EQ(x.size(1), count);
      if (norms) x = norm(concat("features.", place + 1), x);
      x = relu(x);
      place += norms ? 3 : 2;
    }
    x = relu(dense("classifier.0", adaptive_avg_pool2d(x, {7, 7}).flatten(1)));
    return dense("classifier.6", relu(dense("classifier.3", x)));
  }
  Tensor mobilenet(const Tensor& images) const {
    const auto relu6 = [](const Tensor& t) { return t.clamp(0, 6); };
    Tensor x = relu6(norm("features.0.1", conv("features.0.0", images, 2, 1)));
    const std::vector<int64_t> strides{1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const std::string block = concat("features.", i + 1, ".conv.");
      Tensor y = x;
      int place = 0;
      if (i > 0) {  // only the first block does not expand
        y = relu6(norm(block + "0.1", conv(block + "0.0", y, 1, 0)));
        place = 1;
      }
      y = relu6(norm(concat(block, place, ".1"), conv(concat(block, place, ".0"), y, strides[i], 1, y.size(1))));
      y = norm(concat(block, place + 2), conv(concat(block, place + 1), y, 1, 0));
      x = strides[i] == 1 && x.size(1) == y.size(1) ? x + y : y;
    }
    x = relu6(norm("features.18.1", conv("features.18.0", x, 1, 0)));
    return dense("classifier.1", x.mean({2, 3}));
  }
  Tensor vit(const Tensor& images, int64_t patch, int64_t heads) const {
    Tensor x = conv("conv_proj", images, patch, 0);  // [N, E, rows, columns]
    x = x.reshape({x.size(0), x.size(1), -1}).transpose(1, 2);
    x = cat({at("class_token").expand({x.size(0), 1, x.size(2)}), x}, 1) + at("encoder.pos_embedding");
    for (int i = 0; has(concat("encoder.layers.encoder_layer_", i, ".ln_1.weight")); ++i) {
      const std::string block = concat("encoder.layers.encoder_layer_", i, "."), inside = block + "self_attention.";
      const Tensor h = layer_norm(block + "ln_1", x, 1e-6);
      const Tensor joined = matmul(h, at(inside + "in_proj_weight").t()) + at(inside + "in_proj_bias");
      x = x + dense(inside + "out_proj", attention(joined.chunk(3, -1), heads, false));
      const Tensor wide = dense(block + "mlp.0", layer_norm(block + "ln_2", x, 1e-6));
      x = x + dense(block + "mlp.3", wide * 0.5 * (1 + erf(wide * std::sqrt(0.5))));
    }
    return dense("heads.head", layer_norm("encoder.ln", x, 1e-6).select(1, 0));
  }
  Tensor gpt2(const Tensor& tokens, int64_t heads, double eps) const {
    const auto turned = [&](const std::string& name, const Tensor& x) {
      return matmul(x, at(name + ".weight")) + at(name + ".bias");
    };
    Tensor x =
        at("transformer.wte.weight").index_select(0, tokens.flatten()).view({tokens.size(0), tokens.size(1), -1}) +
        at("transformer.wpe.weight").slice(0, 0, tokens.size(1));
    for (int i = 0; has(concat("transformer.h.", i, ".ln_1.weight")); ++i) {
      const std::string block = concat("transformer.h.", i, ".");
      const Tensor joined = turned(block + "attn.c_attn", layer_norm(block + "ln_1", x, eps));
      x = x + turned(block + "attn.c_proj", attention(joined.chunk(3, -1), heads, true));
      const Tensor wide = turned(block + "mlp.c_fc", layer_norm(block + "ln_2", x, eps));
      const Tensor inner = std::sqrt(2 / std::acos(-1.0)) * (wide + 0.044715 * wide.pow(3));
      x = x + turned(block + "mlp.c_proj", 0.5 * wide * (1 + inner.tanh()));
    }
    return matmul(layer_norm("transformer.ln_f", x, eps), at("lm_head.weight").t());
  }

  OrderedDict<std::string, Tensor> state;
};

// Values under which every parameter and statistic counts; in evaluation mode.
template <class Model>
Plain drawn(Model& model) {
  const NoGradGuard no_grad;
  for (const auto& item : model->state_dict()) {
    const Tensor t = item.value();
    if (item.key().ends_with("running_var")) Tensor(t).uniform_(0.5, 2);
    if (item.key().ends_with("running_mean") || item.key().ends_with("bias")) Tensor(t).uniform_(-0.5, 0.5);
    if (item.key().ends_with("weight") && t.dim() == 1) Tensor(t).uniform_(0.5, 1.5);
    if (item.key().ends_with("class_token") || item.key().ends_with("head.weight")) Tensor(t).uniform_(-0.5, 0.5);
  }
  model->eval();
  return Plain(*model);
}

}  // namespace

TEST_CASE("networks compute what a plain computation from their state dicts gives") {
  manual_seed(4);
  const NoGradGuard no_grad;
  const Tensor images = randn({2, 3, 64, 64});
  const auto near = [](const Tensor& found, const Tensor& expected) {
    CHECK_EQ(found.sizes(), expected.sizes());
    CHECK_LT((found - expected).abs().max().item<double>(), 2e-5 * expected.abs().max().item<double>());
  };
  for (const auto& options :
       {ResNetOptions(ResNetBlockKind::kBasic, {2, 1, 1, 2}), ResNetOptions(ResNetBlockKind::kBottleneck, {1, 2, 1, 1}),
        ResNetOptions(ResNetBlockKind::kBottleneck, {1, 1, 1, 1}).groups(4).width_per_group(24)}) {
    ResNet net(ResNetOptions(options).num_classes(7));
    const Plain plain = drawn(net);
    near(net(images), plain.resnet(images, options.groups()));
  }
  for (const bool norms : {false, true}) {
    const std::vector<int64_t> layers{8, 0, 16, 8, 0};
    VGG net(VGGOptions(layers).batch_norm(norms).num_classes(7));
    const Plain plain = drawn(net);
    near(net(images), plain.vgg(images, layers, norms));
  }
  for (const double factor : {1.0, 0.35}) {
    MobileNetV2 net(MobileNetV2Options(7).width_mult(factor));
    const Plain plain = drawn(net);
    near(net(images), plain.mobilenet(images));
  }
  VisionTransformer vit(small_vit());
  const Plain plain_vit = drawn(vit);
  const Tensor small = images.slice(2, 0, 32).slice(3, 0, 32);
  near(vit(small), plain_vit.vit(small, 8, 2));
  GPT2LMHeadModel gpt(small_gpt2().layer_norm_epsilon(0.1).initializer_range(0.3));
  const Tensor tokens = randint(0, 100, {2, 9}, TensorOptions(kLong));
  const Plain plain_gpt = drawn(gpt);
  near(gpt(tokens), plain_gpt.gpt2(tokens, 4, 0.1));
  gpt->train();  // without dropout
  near(gpt(tokens), Plain(*gpt).gpt2(tokens, 4, 0.1));
}

TEST_CASE("options of models reach their layers") {
  const auto dropouts = [](auto model) {
    std::vector<double> rates;
    model->apply([&](nn::Module& module) {
      if (auto* dropout = module.template as<nn::Dropout>()) rates.push_back(dropout->options.p());
    });
    return rates;
  };
  CHECK_EQ(dropouts(VGG(VGGOptions({8, 0}))), std::vector<double>{0.5, 0.5});
  CHECK_EQ(dropouts(VGG(VGGOptions({8, 0}).dropout(0.25))), std::vector<double>{0.25, 0.25});
  CHECK_EQ(dropouts(mobilenet_v2(7)), std::vector<double>{0.2});
  CHECK_EQ(dropouts(MobileNetV2(MobileNetV2Options(7).dropout(0.25))), std::vector<double>{0.25});
  CHECK_EQ(dropouts(VisionTransformer(small_vit().num_layers(1))), std::vector<double>{0, 0, 0, 0});
  CHECK_EQ(dropouts(VisionTransformer(small_vit().num_layers(1).dropout(0.25))),
           std::vector<double>{0.25, 0.25, 0.25, 0.25});
  const GPT2Options plain = GPT2Options().n_layer(1).n_embd(8).n_head(2).vocab_size(9).n_positions(5);
  CHECK_EQ(dropouts(GPT2LMHeadModel(plain)), std::vector<double>{0.1, 0.1, 0.1});
  CHECK_EQ(dropouts(GPT2LMHeadModel(GPT2Options(plain).embd_pdrop(0.25).resid_pdrop(0.5))),
           std::vector<double>{0.25, 0.5, 0.5});
  CHECK_EQ(plain.attn_pdrop(), 0.1);
  CHECK_EQ(plain.layer_norm_epsilon(), 1e-5);
  CHECK_EQ(plain.initializer_range(), 0.02);
  const auto inner = [&](int64_t n_inner) {
    const GPT2LMHeadModel net(GPT2Options(plain).n_inner(n_inner));
    return net->state_dict()["transformer.h.0.mlp.c_fc.weight"].size(1);
  };
  CHECK_EQ(inner(0), 32);
  CHECK_EQ(inner(1), 1);
  CHECK_EQ(inner(12), 12);
  // Channels are multiples of 8, and not more than a tenth below the factor times torchvision's.
  const auto width = [](double factor, const char* name) {
    const nn::init::SkipGuard no_values;
    return MobileNetV2(MobileNetV2Options(1).width_mult(factor))->state_dict()[name].size(0);
  };
  CHECK_EQ(width(0.1, "features.0.0.weight"), 8);    // 3.2
  CHECK_EQ(width(0.35, "features.0.0.weight"), 16);  // 11.2: 8 would be too few
  CHECK_EQ(width(0.5, "features.0.0.weight"), 16);
  CHECK_EQ(width(0.6, "features.0.0.weight"), 24);   // 19.2: 16 would be too few
  CHECK_EQ(width(0.55, "features.0.0.weight"), 16);  // 17.6
  CHECK_EQ(width(1.4, "features.0.0.weight"), 48);   // 44.8, in the middle goes up
  CHECK_EQ(width(0.5, "features.18.0.weight"), 1280);
  CHECK_EQ(width(1.5, "features.18.0.weight"), 1920);
  const std::vector<std::pair<int, int64_t>> stages{{1, 8}, {3, 16}, {6, 16}, {10, 32}, {13, 48}, {16, 80}, {17, 160}};
  for (const auto& [block, channels] : stages)
    CHECK_EQ(width(0.5, concat("features.", block, ".conv.", block == 1 ? 1 : 2, ".weight").c_str()), channels);
  // Images that LeNet takes, and the pixels that remain: ((n - 2) / 2 - 4) / 2, rounded down at each division.
  struct Size {
    int64_t height, width, features;
  };
  for (const Size& size : std::vector<Size>{{28, 28, 800}, {14, 14, 50}, {17, 14, 50}, {18, 14, 100}, {20, 30, 500}}) {
    CHECK_EQ(lenet_features(LeNetOptions().height(size.height).width(size.width)), size.features);
    nn::Sequential net = lenet(LeNetOptions(6).channels(2).height(size.height).width(size.width));
    CHECK_EQ(net->forward(zeros({1, 2, size.height, size.width})).sizes(), IntArrayRef({1, 6}));
    const auto state = net->state_dict();
    const std::vector<std::string> names{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                         "fc1.weight",   "fc1.bias",   "fc2.weight",   "fc2.bias"};
    CHECK_EQ(state.keys(), names);
    CHECK_EQ(state["conv1.weight"].sizes(), IntArrayRef({20, 2, 3, 3}));
    CHECK_EQ(state["conv2.weight"].sizes(), IntArrayRef({50, 20, 5, 5}));
    CHECK_EQ(state["fc1.weight"].sizes(), IntArrayRef({128, size.features}));
    CHECK_EQ(state["fc2.weight"].sizes(), IntArrayRef({6, 128}));
  }
  CHECK_EQ(lenet_features({}), 800);
  CHECK_EQ(LeNetOptions().height(), 28);
  CHECK_EQ(LeNetOptions().width(), 28);
  CHECK_EQ(lenet()->state_dict()["conv1.weight"].size(1), 1);
  CHECK_EQ(lenet()->state_dict()["fc2.weight"].size(0), 10);
}

TEST_CASE("initial values that models share") {
  // Truncated at one deviation, a normal variable keeps 0.2911 of its variance; at ten, all of it.
  for (const auto& [std, kept] : {std::pair<double, double>{2, 0.291125}, {0.2, 1}}) {
    manual_seed(1);
    const Tensor t = models::detail::trunc_normal_(empty({20000}), std);
    CHECK_LE(t.abs().max().item<double>(), 2);
    CHECK_EQ(deviation(t), doctest::Approx(std * std::sqrt(kept)).epsilon(0.03));
    CHECK_LT(std::fabs(t.mean().item<double>()), 0.03 * std);
  }
  const Tensor kept = full({3}, 7.0);
  {
    const nn::init::SkipGuard no_values;
    CHECK(models::detail::trunc_normal_(kept, 1).is_same(kept));
  }
  CHECK(kept.eq(7).all().item<bool>());
  CHECK(models::detail::trunc_normal_(ones({3}).requires_grad_(), 1).is_leaf());
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(8, 64, 3)), nn::Conv2d(nn::Conv2dOptions(8, 64, 3).bias(false)),
                     nn::Linear(100, 100), nn::Linear(nn::LinearOptions(100, 100).bias(false)));
  models::detail::initialise_convolutions(*net);
  CHECK_GT(net->at<nn::LinearImpl>(2).bias.abs().max().item<double>(), 0);
  models::detail::initialise_linears(*net, 0.3);
  for (const std::size_t i : {0, 1})  // the fan-out is 64 * 9
    CHECK_EQ(deviation(net->at<nn::Conv2dImpl>(i).weight), doctest::Approx(std::sqrt(2.0 / 576)).epsilon(0.05));
  for (const std::size_t i : {2, 3})
    CHECK_EQ(deviation(net->at<nn::LinearImpl>(i).weight), doctest::Approx(0.3).epsilon(0.05));
  CHECK_EQ(net->at<nn::Conv2dImpl>(0).bias.abs().max().item<double>(), 0);
  CHECK_EQ(net->at<nn::LinearImpl>(2).bias.abs().max().item<double>(), 0);
  VGG vgg(VGGOptions({32, 64, 0}));
  CHECK_EQ(deviation(vgg->features->at<nn::Conv2dImpl>(2).weight), doctest::Approx(std::sqrt(2.0 / 576)).epsilon(0.05));
  CHECK_EQ(vgg->features->at<nn::Conv2dImpl>(2).bias.abs().max().item<double>(), 0);
  CHECK_EQ(deviation(vgg->classifier->at<nn::LinearImpl>(3).weight), doctest::Approx(0.01).epsilon(0.02));
  CHECK_EQ(vgg->classifier->at<nn::LinearImpl>(3).bias.abs().max().item<double>(), 0);
  MobileNetV2 mobile = mobilenet_v2(10);
  const Tensor last = mobile->state_dict()["features.18.0.weight"];
  CHECK_EQ(deviation(last), doctest::Approx(std::sqrt(2.0 / 1280)).epsilon(0.02));
  CHECK_EQ(mobile->classifier->at<nn::LinearImpl>(1).bias.abs().max().item<double>(), 0);
  ResNet zero(ResNetOptions(ResNetBlockKind::kBottleneck, {1, 1, 1, 1}).zero_init_residual(true));
  CHECK_EQ(zero->layer4->at<ResNetBlockImpl>(0).bn3->weight.abs().max().item<double>(), 0);
  CHECK_EQ(zero->layer4->at<ResNetBlockImpl>(0).bn2->weight.min().item<double>(), 1);
  ResNet plain(ResNetOptions(ResNetBlockKind::kBottleneck, {1, 1, 1, 1}));
  CHECK_EQ(plain->layer4->at<ResNetBlockImpl>(0).bn3->weight.min().item<double>(), 1);
  VisionTransformer vit(small_vit().hidden_dim(64).mlp_dim(256));
  const Tensor wide = vit->state_dict()["encoder.layers.encoder_layer_0.mlp.0.weight"],
               bias = vit->state_dict()["encoder.layers.encoder_layer_1.mlp.3.bias"];
  CHECK_LE(wide.abs().max().item<double>(), std::sqrt(6.0 / 320));
  CHECK_GT(wide.abs().max().item<double>(), 0.99 * std::sqrt(6.0 / 320));
  CHECK_GT(bias.abs().max().item<double>(), 1e-6);
  CHECK_LT(bias.abs().max().item<double>(), 6e-6);
  CHECK_EQ(vit->conv_proj->bias.abs().max().item<double>(), 0);
  CHECK_EQ(vit->heads->at<nn::LinearImpl>(0).bias.abs().max().item<double>(), 0);
  GPT2LMHeadModel gpt(small_gpt2().n_layer(8).initializer_range(0.4));
  const auto state = gpt->state_dict();
  for (const char* name : {"wte", "wpe", "h.7.attn.c_attn", "h.0.mlp.c_fc"})
    CHECK_EQ(deviation(state[concat("transformer.", name, ".weight")]), doctest::Approx(0.4).epsilon(0.1));
  for (const char* name : {"h.7.attn.c_proj", "h.0.mlp.c_proj"})
    CHECK_EQ(deviation(state[concat("transformer.", name, ".weight")]), doctest::Approx(0.1).epsilon(0.1));
}

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

TEST_CASE("what models refuse, with the numbers") {
  const auto resnet = [](const ResNetOptions& options) { return error_of([&] { const ResNet made(options); }); };
  const ResNetBlockKind basic = ResNetBlockKind::kBasic, bottleneck = ResNetBlockKind::kBottleneck;
  for (const std::vector<int64_t>& layers : {std::vector<int64_t>{1, 1, 1}, {1, 1, 1, 1, 1}, {}})
    CHECK_EQ(resnet(ResNetOptions(basic, layers)), concat("ResNet: layers must have 4 elements, got ", layers.size()));
  CHECK_EQ(resnet(ResNetOptions(basic, {1, 1, 0, 1})), "ResNet: a stage must have a block, got 0");
  CHECK_EQ(resnet(ResNetOptions(basic, {1, 1, 1, -1})), "ResNet: a stage must have a block, got -1");
  for (const auto& [groups, width] : {std::pair<int64_t, int64_t>{2, 64}, {1, 128}, {2, 32}}) {
    CHECK_EQ(
        resnet(ResNetOptions(basic, {1, 1, 1, 1}).groups(groups).width_per_group(width)),
        concat("ResNetBlock: a basic block has groups = 1 and width_per_group = 64, got ", groups, " and ", width));
    CHECK_EQ(resnet(ResNetOptions(bottleneck, {1, 1, 1, 1}).groups(groups).width_per_group(width)), "");
  }
  for (const int64_t depth : {10, 12, 20})
    CHECK_EQ(error_of([&] { vgg_options(depth); }),
             concat("vgg_options: the depth must be 11, 13, 16 or 19, got ", depth));
  for (const std::vector<int64_t>& layers : {std::vector<int64_t>{}, {0}, {0, 0}})
    CHECK_EQ(error_of([&] { const VGG made{VGGOptions(layers)}; }), "VGG: layers must have a convolution");
  for (const double factor : {0.0, -1.0, 1000.0, std::nan("")})
    CHECK_EQ(error_of([&] { const MobileNetV2 made(MobileNetV2Options(7).width_mult(factor)); }),
             concat("MobileNetV2: width_mult must be between 0 and 1000, got ", factor));
  for (const int64_t stride : {0, 3})
    CHECK_EQ(error_of([&] { InvertedResidualImpl(8, 8, stride, 1); }),
             concat("InvertedResidual: stride must be 1 or 2, got ", stride));
  CHECK_EQ(error_of([&] { InvertedResidualImpl(8, 8, 1, 0); }),
           "InvertedResidual: expand_ratio must be at least 1, got 0");
  const auto vit = [](const VisionTransformerOptions& options) {
    return error_of([&] { const VisionTransformer made(options); });
  };
  for (const auto& [patch, side] : {std::pair<int64_t, int64_t>{7, 32}, {0, 32}, {-8, 32}, {8, 0}, {8, -8}})
    CHECK_EQ(vit(small_vit().patch_size(patch).image_size(side)),
             concat("VisionTransformer: patch_size must divide image_size, got ", patch, " and ", side));
  for (const int64_t layers : {0, -1})
    CHECK_EQ(vit(small_vit().num_layers(layers)),
             concat("VisionTransformer: num_layers must be positive, got ", layers));
  CHECK_EQ(vit(small_vit().num_layers(1)), "");
  VisionTransformer small(small_vit().num_layers(1));
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{1, 3, 32, 24}, {1, 3, 24, 32}, {3, 32, 32}, {1, 1, 3, 32, 32}})
    CHECK_EQ(error_of([&] { small->forward(zeros(sizes)); }),
             concat("VisionTransformer: images must be [N, 3, 32, 32], got ", zeros(sizes)));
  for (const int64_t heads : {-4, 0, 5})
    CHECK_NE(error_of([&] {
               const GPT2LMHeadModel made(small_gpt2().n_head(heads));
             }).find(concat("GPT2: n_head = ", heads, " must be positive and divide n_embd = 32")),
             std::string::npos);
  GPT2LMHeadModel gpt(small_gpt2());
  CHECK_EQ(gpt->forward(zeros({1, 24}, TensorOptions(kLong))).sizes(), IntArrayRef({1, 24, 100}));
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{1, 25}, {24}, {1, 1, 4}})
    CHECK_NE(error_of([&] {
               gpt->forward(zeros(sizes, TensorOptions(kLong)));
             }).find(concat("GPT2: input_ids must be [N, T] with T <= 24, got ", zeros(sizes, TensorOptions(kLong)))),
             std::string::npos);
  for (const auto& size : {std::pair<int64_t, int64_t>{13, 28}, {28, 13}, {0, 0}})
    CHECK_EQ(error_of([&] { lenet(LeNetOptions().height(size.first).width(size.second)); }),
             concat("lenet: images must have at least 14 x 14 pixels, got ", size.first, " x ", size.second));
}

TEST_CASE("GPT-2 is printed with its own names, and keeps its modes and entries in copies and state dicts") {
  GPT2LMHeadModel model(small_gpt2().n_layer(1));
  std::ostringstream out;
  out << *model;
  CHECK_NE(out.str().find("(c_attn): tandem::models::Conv1D\n"), std::string::npos);
  CHECK_NE(out.str().find("(lm_head): tandem::models::GPT2Head\n"), std::string::npos);
  for (const bool training : {true, false}) {
    model->train(training);
    model->lm_head->train(!training);
    const auto copy = std::dynamic_pointer_cast<GPT2LMHeadModelImpl>(model->clone());
    CHECK_EQ(copy->is_training(), training);
    CHECK_EQ(copy->transformer->wte->is_training(), training);
    CHECK_EQ(copy->lm_head->is_training(), !training);
  }
  const auto keys = [](const std::vector<std::string>& names) {
    OrderedDict<std::string, Tensor> state;
    for (const std::string& name : names) state.insert(name, ones({1}));
    return gpt2_state_dict(state).keys();
  };
  using Names = std::vector<std::string>;
  CHECK_EQ(keys({"h.0.attn.bias", "h.0.attn.masked_bias", "transformer.h.0.attn.bias", "h.0.attn.c_attn.bias"}),
           Names{"transformer.h.0.attn.c_attn.bias"});
  CHECK_EQ(keys({"transformer.wpe.weight", "wte.weight"}),
           Names{"transformer.wpe.weight", "transformer.wte.weight", "lm_head.weight"});
  CHECK_EQ(keys({"lm_head.weight", "wte.weight"}), Names{"lm_head.weight", "transformer.wte.weight"});
  CHECK_EQ(keys({"wte.weight_int8", "wte.weight_scale"}),
           Names{"transformer.wte.weight_int8", "transformer.wte.weight_scale", "lm_head.weight_int8",
                 "lm_head.weight_scale"});
}

TEST_CASE("hooks see the layers of a fused block, which then computes as before") {
  manual_seed(1);
  const NoGradGuard no_grad;
  const Tensor x = randn({2, 8, 6, 6});
  for (const char* watched : {"conv2", "bn2", "relu", ""}) {
    CAPTURE(watched);
    ResNetBlock block(ResNetBlockOptions(ResNetBlockKind::kBasic, 8, 8));
    const Plain plain = drawn(block);
    const Tensor y = relu(plain.norm("bn1", plain.conv("conv1", x, 1, 1)));
    const Tensor expected = relu(plain.norm("bn2", plain.conv("conv2", y, 1, 1)) + x);
    CHECK_EQ(nn::fuse(block).norms, 2);
    int calls = 0;
    for (const auto& child : block->named_children())
      if (child.key() == watched)
        child.value()->register_forward_hook([&](nn::Module&, const std::vector<Tensor>&, const Tensor&) { ++calls; });
    CHECK_LT((block(x) - expected).abs().max().item<double>(), 1e-5 * expected.abs().max().item<double>());
    CHECK_EQ(calls, std::string(watched).empty() ? 0 : 1);
  }
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
