#include "networks.h"

#include "tandem/tandem.h"

namespace networks {
namespace {

using namespace tandem;

struct GanImpl : nn::Module {
  nn::Sequential generator{nullptr}, discriminator{nullptr};
  GanImpl() {
    const auto up = [](int64_t in, int64_t out, int64_t stride, int64_t padding) {
      return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(in, out, 4).stride(stride).padding(padding).bias(false));
    };
    const auto down = [](int64_t in, int64_t out) {
      return nn::Conv2d(nn::Conv2dOptions(in, out, 4).stride(2).padding(1).bias(false));
    };
    generator = register_module(
        "generator",
        nn::Sequential(up(100, 256, 1, 0), nn::BatchNorm2d(256), nn::ReLU(), up(256, 128, 2, 1), nn::BatchNorm2d(128),
                       nn::ReLU(), up(128, 64, 2, 1), nn::BatchNorm2d(64), nn::ReLU(), up(64, 3, 2, 1), nn::Tanh()));
    const nn::LeakyReLU leaky(nn::LeakyReLUOptions().negative_slope(0.2));
    discriminator = register_module(
        "discriminator", nn::Sequential(down(3, 64), leaky, down(64, 128), nn::BatchNorm2d(128), leaky, down(128, 256),
                                        nn::BatchNorm2d(256), leaky, nn::Flatten(), nn::Linear(4096, 2)));
  }
  Tensor forward(const Tensor& z) { return discriminator->forward(generator->forward(z)); }
};
TANDEM_MODULE(Gan);

nn::Sequential video() {
  nn::Sequential net;
  int64_t in = 3;
  for (const int64_t out : {32, 64, 128}) {
    net->push_back(nn::Conv3d(nn::Conv3dOptions(in, out, 3).padding(1).bias(false)));
    net->push_back(nn::BatchNorm3d(out));
    net->push_back(nn::ReLU());
    net->push_back(nn::MaxPool3d(nn::MaxPool3dOptions({1, 2, 2})));
    in = out;
  }
  net->push_back(nn::AdaptiveAvgPool3d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(in, 10));
  return net;
}

struct LanguageModelImpl : nn::Module {
  nn::Embedding words = register_module("words", nn::Embedding(10000, 512));
  nn::LSTM layers = register_module("layers", nn::LSTM(nn::LSTMOptions(512, 512).num_layers(2).batch_first(true)));
  nn::Linear head = register_module("head", nn::Linear(512, 10000));
  Tensor forward(const Tensor& text) { return head->forward(std::get<0>(layers->forward(words->forward(text)))); }
};
TANDEM_MODULE(LanguageModel);

struct AttentionBlockImpl : nn::Module {
  nn::LayerNorm first = register_module("first", nn::LayerNorm(nn::LayerNormOptions({256})));
  nn::LayerNorm second = register_module("second", nn::LayerNorm(nn::LayerNormOptions({256})));
  nn::Linear qkv = register_module("qkv", nn::Linear(256, 768));
  nn::Linear out = register_module("out", nn::Linear(256, 256));
  nn::Linear up = register_module("up", nn::Linear(256, 1024));
  nn::Linear down = register_module("down", nn::Linear(1024, 256));
  Tensor forward(const Tensor& x, const Tensor& mask) {
    const int64_t n = x.size(0), t = x.size(1);
    const auto parts = qkv->forward(first->forward(x)).reshape({n, t, 3, 8, 32}).permute({2, 0, 3, 1, 4}).unbind(0);
    const Tensor scores = matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(32.0);
    const Tensor weights = softmax(scores.masked_fill(mask, -1e9), -1);
    const Tensor heads = matmul(weights, parts[2]).transpose(1, 2).reshape({n, t, 256});
    const Tensor y = x + out->forward(heads);
    return y + down->forward(relu(up->forward(second->forward(y))));
  }
};
TANDEM_MODULE(AttentionBlock);

struct AttentionImpl : nn::Module {
  nn::Embedding words = register_module("words", nn::Embedding(1000, 256));
  nn::Embedding places = register_module("places", nn::Embedding(128, 256));
  std::vector<AttentionBlock> blocks;
  nn::Linear head{nullptr};
  AttentionImpl() {
    for (int i = 0; i < 4; ++i) blocks.push_back(register_module("block" + std::to_string(i), AttentionBlock()));
    head = register_module("head", nn::Linear(256, 1000));
  }
  Tensor forward(const Tensor& text) {
    const int64_t t = text.size(1);
    const Tensor mask = ones({t, t}, kBool).triu(1);
    Tensor x = words->forward(text) + places->forward(arange(t));
    for (auto& block : blocks) x = block->forward(x, mask);
    return head->forward(x);
  }
};
TANDEM_MODULE(Attention);

struct GatedImpl : nn::Module {
  nn::Conv1d filter{nullptr}, gate{nullptr}, mix{nullptr};
  GatedImpl(int64_t channels, int64_t dilation) {
    const auto options = nn::Conv1dOptions(channels, channels, 3).padding(dilation).dilation(dilation);
    filter = register_module("filter", nn::Conv1d(options));
    gate = register_module("gate", nn::Conv1d(options));
    mix = register_module("mix", nn::Conv1d(channels, channels, 1));
  }
  Tensor forward(const Tensor& x) { return x + mix->forward(tanh(filter->forward(x)) * sigmoid(gate->forward(x))); }
};
TANDEM_MODULE(Gated);

struct TcnImpl : nn::Module {
  nn::Sequential layers;
  TcnImpl() {
    layers->push_back(nn::Conv1d(1, 64, 1));
    for (const int64_t dilation : {1, 2, 4, 8}) layers->push_back(Gated(64, dilation));
    layers->push_back(nn::Conv1d(64, 128, 1));
    for (const int64_t dilation : {16, 32, 64, 128}) layers->push_back(Gated(128, dilation));
    layers->push_back(nn::Conv1d(128, 16, 1));
    register_module("layers", layers);
  }
  Tensor forward(const Tensor& x) { return layers->forward(x); }
};
TANDEM_MODULE(Tcn);

nn::Sequential twice(int64_t in, int64_t out) {
  const auto conv = [](int64_t from, int64_t to) {
    return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1).bias(false));
  };
  return nn::Sequential(conv(in, out), nn::BatchNorm2d(out), nn::ReLU(), conv(out, out), nn::BatchNorm2d(out),
                        nn::ReLU());
}

struct UNetImpl : nn::Module {
  std::vector<nn::Sequential> down, up;
  std::vector<nn::ConvTranspose2d> wider;
  nn::Conv2d head{nullptr};
  UNetImpl() {
    int64_t in = 3;
    for (const int64_t out : {32, 64, 128, 256}) {
      down.push_back(register_module("down" + std::to_string(out), twice(in, out)));
      in = out;
    }
    for (const int64_t out : {128, 64, 32}) {
      wider.push_back(register_module("wider" + std::to_string(out),
                                      nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2 * out, out, 2).stride(2))));
      up.push_back(register_module("up" + std::to_string(out), twice(2 * out, out)));
    }
    head = register_module("head", nn::Conv2d(32, 4, 1));
  }
  Tensor forward(Tensor x) {
    std::vector<Tensor> kept;
    for (std::size_t i = 0; i < down.size(); ++i) {
      x = down[i]->forward(i == 0 ? x : max_pool2d(x, 2));
      kept.push_back(x);
    }
    for (std::size_t i = 0; i < up.size(); ++i)
      x = up[i]->forward(cat({kept[kept.size() - 2 - i], wider[i]->forward(x)}, 1));
    return head->forward(x);
  }
};
TANDEM_MODULE(UNet);

}  // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> all{"gan", "video", "lm", "attention", "tcn", "unet"};
  return all;
}

Network make(const std::string& name, int64_t batch) {
  const auto text = [&](nn::AnyModule model, int64_t words, int64_t length) -> Network {
    const Tensor input = randint(words, {batch, length}, kLong);
    return {std::move(model), input, input.roll(-1, 1), true};
  };
  if (name == "gan") return {nn::AnyModule(Gan()), randn({batch, 100, 1, 1}), randint(2, {batch}, kLong), true};
  if (name == "video")
    return {nn::AnyModule(video()), randn({batch, 3, 8, 56, 56}), randint(10, {batch}, kLong), false};
  if (name == "lm") return text(nn::AnyModule(LanguageModel()), 10000, 32);
  if (name == "attention") return text(nn::AnyModule(Attention()), 1000, 128);
  if (name == "tcn") return {nn::AnyModule(Tcn()), randn({batch, 1, 2048}), randint(16, {batch, 2048}, kLong), true};
  if (name == "unet")
    return {nn::AnyModule(UNet()), randn({batch, 3, 128, 128}), randint(4, {batch, 128, 128}, kLong), false};
  throw Error(concat("no network is named \"", name, '"'));
}

}  // namespace networks
