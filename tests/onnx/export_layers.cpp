// Exports every layer: export_layers FOLDER
//   --random COUNT SEED   random stacks of layers instead
//   --views COUNT SEED    random programs of views and writes into them
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tandem/tandem.h"
#include "tandem/tests/onnx/exported.h"

using namespace tandem;

namespace {

std::string folder;
int written = 0, refused = 0;

struct Input {
  std::vector<int64_t> sizes;
  ScalarType dtype = kFloat;
  int64_t high = 0;  ///< of integers
  bool positive = false;
};

Tensor draw(const Input& input, int64_t batch) {
  std::vector<int64_t> sizes = input.sizes;
  if (!sizes.empty() && batch > 0) sizes[0] = batch;
  if (input.dtype == kLong) return randint(0, input.high, sizes, kLong);
  const Tensor x = input.positive ? rand(sizes) * 0.8 + 0.1 : randn(sizes);
  return x.to(input.dtype);
}

void write(const std::string& name, nn::Module& module, const onnx::Forward& forward, const std::vector<Input>& inputs,
           bool dynamic = true) {
  const auto drawn = [&](int64_t batch) {
    test::Tensors list;
    for (const Input& input : inputs) list.push_back(draw(input, batch));
    return list;
  };
  std::vector<test::Tensors> more;
  if (dynamic) more = {drawn(1), drawn(7)};
  try {
    test::write_export(folder, name, module, forward, drawn(0), more, onnx::SaveOptions{.dynamic_batch = dynamic});
    ++written;
  } catch (const std::exception& error) {
    ++refused;
    std::printf("refused %s: %s\n", name.c_str(), error.what());
  }
}

template <class M>
void layer(const std::string& name, const nn::ModuleHolder<M>& module, const std::vector<Input>& inputs,
           bool dynamic = true) {
  write(
      name, *module.ptr(), [&](const test::Tensors& x) { return onnx::detail::call_with(*module.ptr(), x); }, inputs,
      dynamic);
}

// Statistics and parameters that are neither 0 nor 1.
template <class Holder>
Holder varied(Holder module) {
  NoGradGuard no_grad;
  for (const auto& p : module->named_parameters()) p.value().add_(rand_like(p.value()) * 0.2);
  for (const auto& b : module->named_buffers())
    if (b.value().is_floating_point()) b.value().add_(rand_like(b.value()) * 0.5);
  return module;
}

const Input kRow{{3, 6}}, kLine{{3, 4, 9}}, kImage{{3, 4, 8, 7}}, kVolume{{3, 4, 5, 6, 7}};

void activations() {
  using namespace nn;
  layer("Sigmoid", Sigmoid(), {kRow});
  layer("Tanh", Tanh(), {kRow});
  layer("SiLU", SiLU(), {kRow});
  layer("RReLU", RReLU(), {kRow});
  layer("Mish", Mish(), {kRow});
  layer("Softsign", Softsign(), {kRow});
  layer("LogSigmoid", LogSigmoid(), {kRow});
  layer("Hardswish", Hardswish(), {kRow});
  layer("Hardsigmoid", Hardsigmoid(), {kRow});
  layer("ReLU", ReLU(), {kRow});
  layer("ReLU6", ReLU6(), {kRow});
  layer("LeakyReLU", LeakyReLU(LeakyReLUOptions().negative_slope(0.2)), {kRow});
  layer("ELU", ELU(ELUOptions().alpha(0.7)), {kRow});
  layer("SELU", SELU(), {kRow});
  layer("CELU", CELU(CELUOptions().alpha(0.7)), {kRow});
  layer("GELU", GELU(), {kRow});
  layer("GELU_tanh", GELU(GELUOptions().approximate("tanh")), {kRow});
  layer("Hardtanh", Hardtanh(HardtanhOptions().min_val(-0.5).max_val(0.7)), {kRow});
  layer("Softplus", Softplus(), {kRow});
  layer("Softplus_beta", Softplus(SoftplusOptions().beta(2).threshold(1)), {kRow});
  layer("Softmax", Softmax(1), {kRow});
  layer("Softmin", Softmin(1), {kRow});
  layer("LogSoftmax", LogSoftmax(1), {kRow});
  layer("Softmax2d", Softmax2d(), {kImage});
  layer("Threshold", Threshold(0.1, 0.3), {kRow});
  layer("Hardshrink", Hardshrink(), {kRow});
  layer("Softshrink", Softshrink(), {kRow});
  layer("Tanhshrink", Tanhshrink(), {kRow});
  layer("GLU", GLU(1), {kRow});
  layer("PReLU", PReLU(), {kRow});
  layer("PReLU_channels", varied(PReLU(PReLUOptions().num_parameters(4))), {kImage});
}

void convolutions() {
  using namespace nn;
  layer("Conv1d", Conv1d(Conv1dOptions(4, 6, 3).stride(2).padding(1)), {kLine});
  layer("Conv1d_circular", Conv1d(Conv1dOptions(4, 6, 3).padding(2).padding_mode(kCircular)), {kLine});
  layer("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).stride(2).padding(1)), {kImage});
  layer("Conv2d_groups", Conv2d(Conv2dOptions(4, 8, {3, 2}).groups(2).dilation({1, 2}).bias(false)), {kImage});
  layer("Conv2d_depthwise", Conv2d(Conv2dOptions(4, 4, 3).groups(4)), {kImage});
  layer("Conv2d_same", Conv2d(Conv2dOptions(4, 6, 4).padding(kSame)), {kImage});
  layer("Conv2d_reflect", Conv2d(Conv2dOptions(4, 6, 3).padding(1).padding_mode(kReflect)), {kImage});
  layer("Conv2d_replicate", Conv2d(Conv2dOptions(4, 6, 3).padding(1).padding_mode(kReplicate)), {kImage});
  layer("Conv3d", Conv3d(Conv3dOptions(4, 6, 3).padding(1)), {kVolume});
  layer("Conv3d_stride", Conv3d(Conv3dOptions(4, 6, {3, 2, 2}).stride(2).groups(2)), {kVolume});
  layer("ConvTranspose1d", ConvTranspose1d(ConvTranspose1dOptions(4, 6, 3).stride(2).padding(1).output_padding(1)),
        {kLine});
  layer("ConvTranspose2d", ConvTranspose2d(ConvTranspose2dOptions(4, 6, 3).stride(2).padding(1).output_padding(1)),
        {kImage});
  layer("ConvTranspose2d_groups", ConvTranspose2d(ConvTranspose2dOptions(4, 6, {2, 3}).groups(2).dilation(2)),
        {kImage});
  layer("ConvTranspose3d", ConvTranspose3d(ConvTranspose3dOptions(4, 3, 2).stride(2)), {kVolume});
}

void pools() {
  using namespace nn;
  layer("AvgPool1d", AvgPool1d(AvgPool1dOptions(3).stride(2)), {kLine});
  layer("AvgPool2d", AvgPool2d(AvgPool2dOptions(3).stride(2).padding(1)), {kImage});
  layer("AvgPool2d_ceil", AvgPool2d(AvgPool2dOptions({2, 3}).stride(2).ceil_mode(true).count_include_pad(false)),
        {kImage});
  layer("AvgPool2d_divisor", AvgPool2d(AvgPool2dOptions(2).divisor_override(3)), {kImage});
  layer("AvgPool3d", AvgPool3d(AvgPool3dOptions(2)), {kVolume});
  layer("MaxPool1d", MaxPool1d(MaxPool1dOptions(3).stride(2)), {kLine});
  layer("MaxPool2d", MaxPool2d(MaxPool2dOptions(3).stride(2).padding(1)), {kImage});
  layer("MaxPool2d_ceil", MaxPool2d(MaxPool2dOptions(2).dilation(2).ceil_mode(true)), {kImage});
  layer("MaxPool3d", MaxPool3d(MaxPool3dOptions(2)), {kVolume});
  layer("AdaptiveAvgPool1d", AdaptiveAvgPool1d(4), {kLine});
  layer("AdaptiveAvgPool2d", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({3, 2})), {kImage});
  layer("AdaptiveAvgPool2d_1", AdaptiveAvgPool2d(1), {kImage});
  layer("AdaptiveAvgPool3d", AdaptiveAvgPool3d(AdaptiveAvgPool3dOptions({2, 3, 4})), {kVolume});
  layer("AdaptiveMaxPool1d", AdaptiveMaxPool1d(4), {kLine});
  layer("AdaptiveMaxPool2d", AdaptiveMaxPool2d(AdaptiveMaxPool2dOptions({3, 2})), {kImage});
  layer("AdaptiveMaxPool3d", AdaptiveMaxPool3d(AdaptiveMaxPool3dOptions({2, 3, 4})), {kVolume});
  layer("LPPool1d", LPPool1d(LPPool1dOptions(2, 3)), {{{3, 4, 9}, kFloat, 0, true}});
  layer("LPPool2d", LPPool2d(LPPool2dOptions(2, 2)), {{{3, 4, 8, 7}, kFloat, 0, true}});
  layer("LPPool3d", LPPool3d(LPPool3dOptions(2, 2)), {{{3, 4, 4, 4, 4}, kFloat, 0, true}});
}

void norms() {
  using namespace nn;
  layer("BatchNorm1d", varied(BatchNorm1d(6)), {kRow});
  layer("BatchNorm1d_line", varied(BatchNorm1d(4)), {kLine});
  layer("BatchNorm2d", varied(BatchNorm2d(4)), {kImage});
  layer("BatchNorm2d_plain", varied(BatchNorm2d(BatchNorm2dOptions(4).affine(false))), {kImage});
  layer("BatchNorm2d_untracked", BatchNorm2d(BatchNorm2dOptions(4).track_running_stats(false)), {kImage});
  layer("BatchNorm3d", varied(BatchNorm3d(4)), {kVolume});
  layer("InstanceNorm1d", InstanceNorm1d(4), {kLine});
  layer("InstanceNorm2d", varied(InstanceNorm2d(InstanceNorm2dOptions(4).affine(true))), {kImage});
  layer("InstanceNorm3d", InstanceNorm3d(4), {kVolume});
  layer("LayerNorm", varied(LayerNorm(LayerNormOptions({6}))), {kRow});
  layer("LayerNorm_plain", LayerNorm(LayerNormOptions({8, 7}).elementwise_affine(false)), {kImage});
  layer("RMSNorm", varied(RMSNorm(RMSNormOptions({6}))), {kRow});
  layer("GroupNorm", varied(GroupNorm(2, 4)), {kImage});
  layer("LocalResponseNorm", LocalResponseNorm(3), {kImage});
  layer("CrossMapLRN2d", CrossMapLRN2d(3), {kImage});
}

void others() {
  using namespace nn;
  layer("Linear", Linear(6, 5), {kRow});
  layer("Linear_plain", Linear(LinearOptions(9, 5).bias(false)), {kLine});
  layer("Bilinear", Bilinear(6, 5, 4), {kRow, {{3, 5}}});
  layer("Identity", Identity(), {kRow});
  layer("Flatten", Flatten(), {kImage});
  layer("Unflatten", Unflatten(UnflattenOptions(1, {2, 3})), {kRow});
  layer("Dropout", Dropout(0.5), {kRow});
  layer("Dropout2d", Dropout2d(0.5), {kImage});
  layer("AlphaDropout", AlphaDropout(0.5), {kRow});
  layer("Embedding", Embedding(10, 4), {{{3, 5}, kLong, 10}});
  layer("EmbeddingBag", EmbeddingBag(10, 4), {{{3, 5}, kLong, 10}});
  layer("PixelShuffle", PixelShuffle(2), {kImage});
  layer("PixelUnshuffle", PixelUnshuffle(2), {{{3, 2, 4, 6}}});
  layer("Unfold", Unfold(UnfoldOptions({2, 3}).padding(1)), {kImage});
  layer("Fold", Fold(FoldOptions({4, 5}, {2, 2})), {{{3, 8, 12}}});
  layer("CosineSimilarity", CosineSimilarity(), {kRow, kRow});
  layer("PairwiseDistance", PairwiseDistance(), {kRow, kRow});
  layer("ReflectionPad1d", ReflectionPad1d(2), {kLine});
  layer("ReflectionPad2d", ReflectionPad2d(ReflectionPad2dOptions({1, 2, 3, 1})), {kImage});
  layer("ReflectionPad3d", ReflectionPad3d(1), {kVolume});
  layer("ReplicationPad1d", ReplicationPad1d(2), {kLine});
  layer("ReplicationPad2d", ReplicationPad2d(2), {kImage});
  layer("ReplicationPad3d", ReplicationPad3d(1), {kVolume});
  layer("ZeroPad1d", ZeroPad1d(2), {kLine});
  layer("ZeroPad2d", ZeroPad2d(ZeroPad2dOptions({1, 2, 3, 0})), {kImage});
  layer("ConstantPad2d", ConstantPad2d(ConstantPad2dOptions(1, 0.5)), {kImage});
  layer("ConstantPad3d", ConstantPad3d(ConstantPad3dOptions(1, 0.5)), {kVolume});
  const auto size = [](double h, double w) { return std::vector<double>{h, w}; };
  layer("Upsample_nearest", Upsample(UpsampleOptions().scale_factor(size(2, 2)).mode(kNearest)), {kImage});
  layer("Upsample_bilinear",
        Upsample(UpsampleOptions().scale_factor(size(2, 1.5)).mode(kBilinear).align_corners(false)), {kImage});
  layer("Upsample_corners", Upsample(UpsampleOptions().scale_factor(size(2, 2)).mode(kBilinear).align_corners(true)),
        {kImage});
  layer("Upsample_bicubic", Upsample(UpsampleOptions().scale_factor(size(2, 2)).mode(kBicubic).align_corners(false)),
        {kImage});
}

void recurrent() {
  using namespace nn;
  layer("RNN", RNN(RNNOptions(4, 5).num_layers(2)), {{{6, 3, 4}}});
  layer("RNN_relu", RNN(RNNOptions(4, 5).nonlinearity(kReLU).bias(false)), {{{6, 3, 4}}});
  layer("LSTM", LSTM(LSTMOptions(4, 5).num_layers(2)), {{{6, 3, 4}}});
  layer("LSTM_both", LSTM(LSTMOptions(4, 5).num_layers(2).bidirectional(true).batch_first(true)), {{{3, 6, 4}}});
  layer("LSTM_projected", LSTM(LSTMOptions(4, 5).proj_size(3).batch_first(true)), {{{3, 6, 4}}});
  layer("LSTM_plain", LSTM(LSTMOptions(4, 5).bias(false).batch_first(true)), {{{3, 6, 4}}});
  layer("GRU", GRU(GRUOptions(4, 5).num_layers(2)), {{{6, 3, 4}}});
  layer("GRU_both", GRU(GRUOptions(4, 5).bidirectional(true).batch_first(true)), {{{3, 6, 4}}});
  layer("RNNCell", RNNCell(4, 5), {{{3, 4}}, {{3, 5}}});
  layer("LSTMCell", LSTMCell(4, 5), {{{3, 4}}});
  layer("GRUCell", GRUCell(4, 5), {{{3, 4}}, {{3, 5}}});
}

void transformers() {
  using namespace nn;
  layer("MultiheadAttention", MultiheadAttention(MultiheadAttentionOptions(8, 2)),
        {{{5, 3, 8}}, {{5, 3, 8}}, {{5, 3, 8}}});
  layer("TransformerEncoderLayer", TransformerEncoderLayer(TransformerEncoderLayerOptions(8, 2).dim_feedforward(16)),
        {{{5, 3, 8}}});
  layer("TransformerEncoder",
        TransformerEncoder(TransformerEncoderOptions(
            TransformerEncoderLayer(TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).activation(kGELU)), 2)),
        {{{5, 3, 8}}});
  layer("TransformerDecoderLayer", TransformerDecoderLayer(TransformerDecoderLayerOptions(8, 2).dim_feedforward(16)),
        {{{5, 3, 8}}, {{6, 3, 8}}}, false);
  layer("Transformer",
        Transformer(TransformerOptions(8, 2).num_encoder_layers(1).num_decoder_layers(1).dim_feedforward(16)),
        {{{5, 3, 8}}, {{6, 3, 8}}}, false);
}

void losses() {
  using namespace nn;
  const Input probability{{3, 6}, kFloat, 0, true}, classes{{3}, kLong, 6};
  layer("CrossEntropyLoss", CrossEntropyLoss(), {kRow, classes});
  layer("CrossEntropyLoss_none", CrossEntropyLoss(CrossEntropyLossOptions().reduction(kNone).weight(rand({6}))),
        {kRow, classes});
  layer("CrossEntropyLoss_smooth", CrossEntropyLoss(CrossEntropyLossOptions().label_smoothing(0.1)), {kRow, classes});
  layer("NLLLoss", NLLLoss(), {kRow, classes});
  layer("MSELoss", MSELoss(), {kRow, kRow});
  layer("L1Loss", L1Loss(), {kRow, kRow});
  layer("SmoothL1Loss", SmoothL1Loss(), {kRow, kRow});
  layer("HuberLoss", HuberLoss(), {kRow, kRow});
  layer("BCELoss", BCELoss(), {probability, probability});
  layer("BCEWithLogitsLoss", BCEWithLogitsLoss(), {kRow, probability});
  layer("KLDivLoss", KLDivLoss(), {kRow, probability});
  layer("MarginRankingLoss", MarginRankingLoss(), {{{3}}, {{3}}, {{3}}});
  layer("HingeEmbeddingLoss", HingeEmbeddingLoss(), {kRow, kRow});
  layer("CosineEmbeddingLoss", CosineEmbeddingLoss(), {kRow, kRow, {{3}}});
  layer("TripletMarginLoss", TripletMarginLoss(), {kRow, kRow, kRow});
  layer("SoftMarginLoss", SoftMarginLoss(), {kRow, kRow});
  layer("MultiMarginLoss", MultiMarginLoss(), {kRow, classes});
  layer("MultiLabelSoftMarginLoss", MultiLabelSoftMarginLoss(), {kRow, probability});
  layer("PoissonNLLLoss", PoissonNLLLoss(), {kRow, probability});
}

// In float16. (NumPy has no bfloat16: see save_test.cpp.)
void halves() {
  using namespace nn;
  const auto half = [](auto module) {
    module->to(kHalf);
    return module;
  };
  const Input row{{3, 6}, kHalf}, image{{3, 4, 8, 7}, kHalf}, sequence{{5, 3, 8}, kHalf};
  layer("half_Linear", half(Linear(6, 5)), {row});
  layer("half_Conv2d", half(Conv2d(Conv2dOptions(4, 6, 3).padding(1))), {image});
  layer("half_BatchNorm2d", half(varied(BatchNorm2d(4))), {image});
  layer("half_LayerNorm", half(varied(LayerNorm(LayerNormOptions({6})))), {row});
  layer("half_GELU", half(GELU()), {row});
  layer("half_SiLU", half(SiLU()), {row});
  layer("half_Softmax", half(Softmax(1)), {row});
  layer("half_numbers", Sequential([](const Tensor& x) { return ((x * 0.1 + 0.3).clamp(-0.7, 0.7) - x) / 3; }), {row});
  layer("half_GroupNorm", half(varied(GroupNorm(2, 4))), {image});
  layer("half_Encoder", half(TransformerEncoderLayer(TransformerEncoderLayerOptions(8, 2).dim_feedforward(16))),
        {sequence});
  layer("half_LSTM", half(LSTM(LSTMOptions(8, 5))), {sequence});
}

// ---- random stacks

class Stack {
 public:
  explicit Stack(uint64_t seed) : random_(seed) {}
  nn::Sequential images() {
    channels_ = pick(1, 3) * 2;
    in_ = channels_;
    const int64_t layers = pick(2, 8);
    for (int64_t i = 0; i < layers; ++i) image_layer();
    if (pick(0, 2) > 0) head();
    return net_;
  }
  int64_t in_channels() const { return in_; }

 private:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  void activation() {
    switch (pick(0, 13)) {
      case 0:
        return net_->push_back(nn::ReLU());
      case 1:
        return net_->push_back(nn::GELU());
      case 2:
        return net_->push_back(nn::SiLU());
      case 3:
        return net_->push_back(nn::Tanh());
      case 4:
        return net_->push_back(nn::LeakyReLU());
      case 5:
        return net_->push_back(nn::ELU());
      case 6:
        return net_->push_back(nn::Hardswish());
      case 7:
        return net_->push_back(nn::Mish());
      case 8:
        return net_->push_back(nn::Softplus());
      case 9:
        return net_->push_back(nn::ReLU6());
      case 10:
        return net_->push_back(nn::Sigmoid());
      case 11:
        return net_->push_back(nn::SELU());
      case 12:
        return net_->push_back(nn::Hardsigmoid());
      default:
        return net_->push_back(nn::PReLU());
    }
  }
  void norm() {
    switch (pick(0, 2)) {
      case 0:
        return net_->push_back(varied(nn::BatchNorm2d(channels_)));
      case 1:
        return net_->push_back(nn::GroupNorm(2, channels_));
      default:
        return net_->push_back(nn::InstanceNorm2d(channels_));
    }
  }
  void convolution() {
    const int64_t out = pick(1, 4) * 2, kernel = pick(1, 3), groups = pick(0, 2) == 0 ? 2 : 1;
    if (pick(0, 4) == 0) {
      net_->push_back(
          nn::ConvTranspose2d(nn::ConvTranspose2dOptions(channels_, out, kernel).stride(pick(1, 2)).groups(groups)));
    } else {
      net_->push_back(nn::Conv2d(nn::Conv2dOptions(channels_, out, kernel)
                                     .stride(pick(1, 2))
                                     .padding(pick(0, kernel / 2 + 1))
                                     .groups(groups)
                                     .bias(pick(0, 3) > 0)));
    }
    channels_ = out;
  }
  void function() {
    switch (pick(0, 7)) {
      case 0:
        return net_->push_back([](const Tensor& x) { return cat({x, x.flip(3)}, 2); });
      case 1:
        return net_->push_back([](const Tensor& x) { return x + x.mean({2, 3}, true); });
      case 2:
        return net_->push_back([](const Tensor& x) { return x.transpose(2, 3).contiguous(); });
      case 3:
        return net_->push_back([](const Tensor& x) { return x.narrow(2, 0, (x.size(2) + 1) / 2).clamp(-1, 1); });
      case 4:
        return net_->push_back([](const Tensor& x) {
          const std::vector<Tensor> halves = x.chunk(2, 1);
          return cat({halves[1] * 2, halves[0].sigmoid()}, 1);
        });
      case 5:
        return net_->push_back([](const Tensor& x) { return x.permute({0, 1, 3, 2}).softmax(-1) * x.transpose(2, 3); });
      case 6:
        return net_->push_back([](const Tensor& x) {
          const int64_t c = x.size(1);
          return x.view({-1, 2, c / 2, x.size(2), x.size(3)}).transpose(1, 2).reshape({-1, c, x.size(2), x.size(3)});
        });
      default:
        return net_->push_back([](const Tensor& x) {
          const Tensor y = x.clone();
          y.select(1, 0).mul_(0.5);
          return y;
        });
    }
  }
  void image_layer() {
    switch (pick(0, 8)) {
      case 0:
      case 1:
      case 2:
        return convolution();
      case 3:
      case 4:
        return activation();
      case 5:
        return norm();
      case 6:
        return function();
      case 7:
        if (pick(0, 1) == 0) return net_->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(1).padding(1)));
        return net_->push_back(nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(1).padding(1)));
      default:
        return net_->push_back(nn::ReplicationPad2d(1));
    }
  }
  void head() {
    net_->push_back(nn::AdaptiveAvgPool2d(pick(1, 2)));
    net_->push_back(nn::Flatten());
    if (pick(0, 1) == 0)
      net_->push_back([](const Tensor& x) { return layer_norm(x, {x.size(1)}); });
    else
      net_->push_back([](const Tensor& x) { return x / x.norm(2, {1}, true).clamp_min(1e-3); });
    activation();
    net_->push_back(nn::Softmax(1));
  }

  std::mt19937_64 random_;
  nn::Sequential net_;
  int64_t channels_ = 0, in_ = 0;
};

void random_stacks(int64_t count, uint64_t seed) {
  for (int64_t i = 0; i < count; ++i) {
    Stack stack(seed + static_cast<uint64_t>(i));
    nn::Sequential net = stack.images();
    layer(concat("random_", seed + static_cast<uint64_t>(i)), net, {{{3, stack.in_channels(), 12, 12}}});
  }
}

// ---- random programs of views and writes into them

// Dimensions before `first` stay as they are: 1 with a batch of any size.
Tensor view_program(const Tensor& x, uint64_t seed, int64_t first) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const Tensor base = x.clone();
  std::vector<Tensor> views{base};
  for (int64_t step = pick(3, 9); step > 0; --step) {
    const Tensor v = views[static_cast<std::size_t>(pick(0, static_cast<int64_t>(views.size()) - 1))];
    if (v.dim() <= first) continue;
    const int64_t d = pick(first, v.dim() - 1), e = pick(first, v.dim() - 1), n = v.size(d);
    switch (pick(0, 13)) {
      case 0:
        views.push_back(v.transpose(d, e));
        break;
      case 1: {
        const int64_t start = pick(0, n - 1);
        views.push_back(v.narrow(d, start, pick(1, n - start)));
        break;
      }
      case 2:
        views.push_back(v.slice(d, pick(0, n - 1), nullopt, pick(2, 3)));
        break;
      case 3:
        if (v.dim() > first + 1) views.push_back(v.select(d, pick(0, n - 1)));
        break;
      case 4:
        if (v.dim() < 6) views.push_back(v.unsqueeze(pick(first, v.dim())));
        break;
      case 5:
        views.push_back(v.flip(d));
        break;
      case 6:
        if (v.dim() > first + 1) views.push_back(v.flatten(first + (v.dim() - first) / 2 - 1));
        break;
      case 7:
        if (v.dim() < 6) views.push_back(v.unfold(d, pick(1, std::min<int64_t>(n, 3)), pick(1, 2)));
        break;
      case 8:
        if (d != e && v.dim() > first + 1) views.push_back(v.diagonal(pick(-1, 0), d, e));
        break;
      case 9:
        views.push_back(v.exp());
        break;
      default: {
        Dims sizes(v.sizes()), strides(v.strides());
        if (v.numel() == 0 || overlaps_itself(sizes, strides)) break;
        const int64_t kind = pick(0, 3);
        if (kind == 0) v.mul_(1.5);
        if (kind == 1) v.fill_(2);
        if (kind == 2) v.copy_(v.flip(d) * 0.5);
        if (kind == 3) v.sub_(v.mean(d, true));
      }
    }
    if (views.back().numel() == 0) views.pop_back();
  }
  Tensor sum = base.flatten(first == 0 ? 0 : 1).sum(-1);
  if (first == 0) sum = sum.reshape({1});
  for (const Tensor& v : views) {
    const Tensor rows = first == 0 ? v.reshape({1, -1}) : v.flatten(1);
    sum = sum + (rows * (arange(rows.size(1), kFloat) * 0.01 + 1)).sum(1);
  }
  return sum;
}

void random_views(int64_t count, uint64_t seed) {
  nn::Module module;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = i % 2;
    const uint64_t each = seed + static_cast<uint64_t>(i);
    write(
        concat("views_", each), module,
        [&](const test::Tensors& x) { return test::Tensors{view_program(x[0], each, first)}; },
        {first == 0 ? Input{{2, 3, 4, 5}} : Input{{3, 4, 5, 3}}}, first == 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("usage: export_layers FOLDER [--random|--views COUNT SEED]\n"), 2;
  folder = argv[1];
  manual_seed(1);
  if (argc == 5 && std::strcmp(argv[2], "--views") == 0) {
    random_views(std::atoll(argv[3]), static_cast<uint64_t>(std::atoll(argv[4])));
  } else if (argc == 5 && std::strcmp(argv[2], "--random") == 0) {
    random_stacks(std::atoll(argv[3]), static_cast<uint64_t>(std::atoll(argv[4])));
  } else {
    activations();
    convolutions();
    pools();
    norms();
    others();
    recurrent();
    transformers();
    losses();
    halves();
  }
  std::printf("%d exported, %d refused\n", written, refused);
  std::printf("%d have the same bits after they have been read, %d have not\n", test::same, test::others);
  // Sums depend on strides, which a file does not have.
  const bool views = argc > 2 && std::strcmp(argv[2], "--views") == 0;
  return test::others != 0 && !views;
}
