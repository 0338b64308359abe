// A training step of layers of every kind and of networks can be captured, and its replays have the bits of eager steps.
#include <doctest/doctest.h>

#include <functional>

#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/step_device.h"

namespace tandem {
namespace {

// A module, and the loss of its result for inputs. Made twice with the same numbers.
struct Trained {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor(const Tensor&)> result;
};
struct Case {
  const char* name;
  std::vector<int64_t> sizes;  // of the input
  std::function<Trained()> make;
};

template <class Holder>
Trained trained(Holder module) {
  return {module.ptr(), [module](const Tensor& x) mutable { return module->forward(x); }};
}
template <class Holder, class Call>
Trained trained(Holder module, Call call) {
  return {module.ptr(), [module, call](const Tensor& x) mutable { return call(module, x); }};
}
template <class Call>
Trained function(Call call) {
  return trained(nn::Identity(), [call](nn::Identity&, const Tensor& x) { return call(x); });
}
#define LAYER(sizes, expression)                                                  \
  {                                                                               \
#expression, std::vector < int64_t> sizes, [] { return trained(expression); } \
  }
#define FUNCTION(sizes, expression)                                                                                \
  {                                                                                                                \
#expression, std::vector < int64_t> sizes, [] { return function([](const Tensor& x) { return expression; }); } \
  }
#define SIZES(...) \
  { __VA_ARGS__ }

class Run {
 public:
  Run(const Case& c, const Tensor& x) : trained_(made(c)), x_(x.clone().requires_grad_()) {
    trained_.module->to(kDevice);
    std::vector<Tensor> parameters = trained_.module->parameters();
    parameters.push_back(x_);
    sgd_ = std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.01));
  }
  Tensor step() {
    sgd_->zero_grad();
    const Tensor out = trained_.result(x_ * 1), loss = (out * out).mean();
    loss.backward();
    sgd_->step();
    return loss.detach();
  }
  std::vector<double> losses(bool captured, std::string* why) {
    CapturedStep replayed([this] { return step(); }, {sgd_.get()});
    std::vector<double> all;
    manual_seed(9);
    for (int i = 0; i < 5; ++i) all.push_back((captured ? replayed(std::vector<Tensor>())[0] : step()).item<double>());
    if (captured && !replayed.captured()) *why = replayed.message();
    return all;
  }
  const Tensor& x() const { return x_; }

 private:
  static Trained made(const Case& c) {
    manual_seed(2);
    return c.make();
  }
  Trained trained_;
  Tensor x_;
  std::unique_ptr<optim::SGD> sgd_;
};

void check_cases(const std::vector<Case>& cases) {
  globalContext().setBenchmarkCuDNN(false);
  for (const Case& c : cases) {
    manual_seed(1);
    const Tensor x = randn(c.sizes).to(kDevice);
    Run eager(c, x), captured(c, x);
    std::string why;
    const std::vector<double> expected = eager.losses(false, &why), got = captured.losses(true, &why);
    INFO(c.name, ": ", why);
    CHECK(why.empty());
    CHECK(testing::identical(tensor(got), tensor(expected)));
    CHECK(testing::identical(captured.x().detach().cpu(), eager.x().detach().cpu()));
  }
}

nn::RNNOptions rnn() { return nn::RNNOptions(6, 5).num_layers(2).dropout(0.2); }

}  // namespace

TEST_CASE("a step of layers of every kind can be captured") {
  if (!has_step_device()) return;
  const auto rows = [] { return (arange(4, TensorOptions(kLong).device(kDevice)) % 3); };
  check_cases({
      LAYER(SIZES(4, 6), nn::Linear(6, 5)),
      LAYER(SIZES(4, 6), nn::Sequential(nn::Linear(6, 5), nn::PReLU(), nn::LayerNorm(nn::LayerNormOptions({5})))),
      {"nn::Bilinear", {4, 6}, [] { return trained(nn::Bilinear(6, 6, 3), [](auto& m, const Tensor& x) { return m(x, x); }); }},
      LAYER(SIZES(2, 3, 9), nn::Conv1d(nn::Conv1dOptions(3, 4, 3).padding(1).padding_mode(kReflect))),
      LAYER(SIZES(2, 3, 7, 7), nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1).padding_mode(kCircular))),
      LAYER(SIZES(1, 2, 5, 5, 5), nn::Conv3d(nn::Conv3dOptions(2, 3, 3).padding(1).padding_mode(kReplicate))),
      LAYER(SIZES(2, 3, 9), nn::ConvTranspose1d(3, 4, 3)),
      LAYER(SIZES(2, 3, 5, 5), nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 4, 3).stride(2))),
      LAYER(SIZES(1, 2, 3, 3, 3), nn::ConvTranspose3d(2, 3, 2)),
      LAYER(SIZES(4, 3, 6), nn::BatchNorm1d(3)),
      LAYER(SIZES(4, 3, 5, 5), nn::BatchNorm2d(3)),
      LAYER(SIZES(4, 3, 2, 3, 3), nn::BatchNorm3d(3)),
      LAYER(SIZES(2, 3, 5, 5), nn::InstanceNorm2d(nn::InstanceNorm2dOptions(3).affine(true))),
      LAYER(SIZES(2, 4, 5, 5), nn::GroupNorm(2, 4)),
      LAYER(SIZES(2, 4, 5), nn::LocalResponseNorm(2)),
      LAYER(SIZES(4, 6), nn::RMSNorm(nn::RMSNormOptions({6}))),
      LAYER(SIZES(2, 3, 8), nn::AvgPool1d(2)),
      LAYER(SIZES(2, 3, 8), nn::MaxPool1d(2)),
      LAYER(SIZES(2, 3, 8, 8), nn::MaxPool2d(2)),
      LAYER(SIZES(1, 2, 4, 4, 4), nn::MaxPool3d(2)),
      LAYER(SIZES(1, 2, 4, 4, 4), nn::AvgPool3d(2)),
      LAYER(SIZES(2, 3, 7, 7), nn::AdaptiveAvgPool2d(3)),
      LAYER(SIZES(2, 3, 7), nn::AdaptiveMaxPool1d(3)),
      LAYER(SIZES(2, 3, 7, 7), nn::AdaptiveMaxPool2d(3)),
      LAYER(SIZES(1, 2, 5, 5, 5), nn::AdaptiveAvgPool3d(2)),
      LAYER(SIZES(1, 2, 5, 5, 5), nn::AdaptiveMaxPool3d(2)),
      LAYER(SIZES(2, 3, 8, 8), nn::LPPool2d(2, 2)),
      LAYER(SIZES(2, 3, 8, 8), nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_size(3))),
      {"nn::MaxUnpool2d",
       {2, 3, 8, 8},
       [] {
         return function([](const Tensor& x) {
           const auto [maxima, at] = max_pool2d_with_indices(x, 2);
           return nn::MaxUnpool2d(2)(maxima, at);
         });
       }},
      LAYER(SIZES(2, 3, 6), nn::ReflectionPad1d(2)),
      LAYER(SIZES(2, 3, 6, 6), nn::ReplicationPad2d(2)),
      LAYER(SIZES(2, 3, 6, 6), nn::ZeroPad2d(2)),
      LAYER(SIZES(2, 3, 6, 6), nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(kNearest))),
      LAYER(SIZES(2, 3, 6, 6),
            nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{1.5, 2}).mode(kBilinear).align_corners(false))),
      LAYER(SIZES(2, 3, 6, 6),
            nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(kBicubic).align_corners(true))),
      LAYER(SIZES(2, 8, 3, 3), nn::PixelShuffle(2)),
      LAYER(SIZES(2, 3, 5, 5), nn::Unfold(2)),
      LAYER(SIZES(2, 12, 4), nn::Fold(nn::FoldOptions({3, 3}, {2, 2}))),
      LAYER(SIZES(4, 6), nn::Sequential(nn::Dropout(0.3), nn::AlphaDropout(0.2))),
      LAYER(SIZES(2, 4, 3, 3), nn::Sequential(nn::Dropout2d(0.3), nn::FeatureAlphaDropout(0.2))),
      LAYER(SIZES(4, 6), nn::Sequential(nn::RReLU(), nn::GELU(), nn::Mish(), nn::Hardswish(), nn::Softmax(1))),
      LAYER(SIZES(4, 6), nn::Sequential(nn::GLU(), nn::Softmin(1), nn::LogSoftmax(1), nn::Softplus(), nn::CELU())),
      {"nn::RNN", {3, 2, 6}, [] { return trained(nn::RNN(rnn()), [](auto& m, const Tensor& x) { return std::get<0>(m(x)); }); }},
      {"nn::LSTM",
       {3, 2, 6},
       [] {
         return trained(nn::LSTM(nn::LSTMOptions(6, 5).bidirectional(true)),
                        [](auto& m, const Tensor& x) { return std::get<0>(m(x)); });
       }},
      {"nn::GRU", {3, 2, 6}, [] { return trained(nn::GRU(6, 5), [](auto& m, const Tensor& x) { return std::get<0>(m(x)); }); }},
      LAYER(SIZES(4, 6), nn::GRUCell(6, 5)),
      {"nn::LSTMCell", {4, 6}, [] { return trained(nn::LSTMCell(6, 5), [](auto& m, const Tensor& x) { return std::get<0>(m(x)); }); }},
      {"nn::Embedding",
       {4, 5},
       [rows] { return trained(nn::Embedding(3, 5), [rows](auto& m, const Tensor& x) { return m(rows()) * x; }); }},
      LAYER(SIZES(3, 2, 8), nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16))),
      {"nn::Transformer",
       {3, 2, 8},
       [] {
         return trained(nn::Transformer(nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(16)),
                        [](auto& m, const Tensor& x) { return m(x, x); });
       }},
      FUNCTION(SIZES(4, 6), cosine_similarity(x, x.flip(0))),
      FUNCTION(SIZES(4, 6), pdist(x)),
      FUNCTION(SIZES(4, 6), binary_cross_entropy_with_logits(x, ones_like(x))),
      FUNCTION(SIZES(4, 6), smooth_l1_loss(x, x.detach().flip(0))),
      FUNCTION(SIZES(4, 6), kl_div(log_softmax(x, 1), softmax(x.detach().flip(0), 1))),
      FUNCTION(SIZES(2, 3, 6, 6), nn::functional::grid_sample(x, nn::functional::affine_grid(eye(2, 3, x.options()).expand({2, 2, 3}), {2, 3, 4, 4}))),
      FUNCTION(SIZES(4, 6), x * linspace(0, 1, 6, x.options()) + arange(6, x.options()) + eye(4, 6, x.options())),
      FUNCTION(SIZES(4, 6), x * hann_window(6, x.options())),
      {"cross_entropy_loss", {4, 3}, [rows] { return function([rows](const Tensor& x) { return cross_entropy_loss(x, rows()); }); }},
      {"nll_loss", {4, 3}, [rows] { return function([rows](const Tensor& x) { return nll_loss(log_softmax(x, 1), rows()); }); }},
      {"multi_margin_loss", {4, 3}, [rows] { return function([rows](const Tensor& x) { return multi_margin_loss(x, rows()); }); }},
  });
}

// Small ones: VGG and the whole of ResNet have nothing else.
TEST_CASE("a step of the networks can be captured") {
  if (!has_step_device()) return;
  check_cases({
      LAYER(SIZES(2, 1, 28, 28), models::lenet()),
      LAYER(SIZES(2, 8, 8, 8),
            models::ResNetBlock(models::ResNetBlockOptions(models::ResNetBlockKind::kBottleneck, 8, 4).stride(2))),
      LAYER(SIZES(2, 3, 32, 32), models::MobileNetV2(models::MobileNetV2Options(4).width_mult(0.1))),
      LAYER(SIZES(1, 3, 16, 16), models::VisionTransformer(models::VisionTransformerOptions()
                                                               .image_size(16)
                                                               .patch_size(8)
                                                               .num_layers(1)
                                                               .num_heads(2)
                                                               .hidden_dim(16)
                                                               .mlp_dim(16)
                                                               .num_classes(4)
                                                               .dropout(0.1)
                                                               .attention_dropout(0.1))),
      {"models::GPT2LMHeadModel",
       {2, 6, 16},
       [] {
         models::GPT2LMHeadModel net(
             models::GPT2Options().vocab_size(16).n_positions(8).n_embd(8).n_layer(1).n_head(2));
         return trained(net, [](auto& m, const Tensor& x) { return m(x.detach().argmax(-1)) * x; });
       }},
  });
}

}  // namespace tandem
