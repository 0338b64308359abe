// Prints modules, tensors and options. printed.txt holds what LibTorch prints; printed_test.py compares. Complex tensors
// are not among them: LibTorch prints their real parts alone.
#include <torch/torch.h>

#include <iostream>

namespace {

namespace nn = torch::nn;

template <class Module>
void module(const Module& m) {
  std::cout << m << '\n';
}

void linear_and_convolutions() {
  module(nn::Identity());
  module(nn::Linear(3, 4));
  module(nn::Linear(nn::LinearOptions(3, 4).bias(false)));
  module(nn::Bilinear(3, 2, 4));
  module(nn::Bilinear(nn::BilinearOptions(3, 2, 4).bias(false)));
  module(nn::Flatten());
  module(nn::Flatten(nn::FlattenOptions().start_dim(2).end_dim(4)));
  module(nn::Unflatten(nn::UnflattenOptions(0, {2, 2})));
  module(nn::Conv1d(3, 4, 5));
  module(nn::Conv2d(3, 4, 5));
  module(nn::Conv2d(nn::Conv2dOptions(3, 4, 5).stride(2)));
  module(nn::Conv2d(nn::Conv2dOptions(3, 4, {5, 6}).stride({1, 2}).padding(1).dilation(2).bias(false)));
  module(nn::Conv2d(nn::Conv2dOptions(4, 4, 3).groups(2).padding_mode(torch::kCircular)));
  module(nn::Conv2d(nn::Conv2dOptions(4, 4, 3).padding(torch::kSame)));
  module(nn::Conv1d(nn::Conv1dOptions(4, 4, 3).padding(torch::kValid)));
  module(nn::Conv3d(nn::Conv3dOptions(4, 4, {5, 6, 7}).stride({1, 2, 3}).padding(1).dilation(2).groups(2)));
  module(nn::ConvTranspose1d(3, 4, 5));
  module(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 4, 5).stride(2).padding(1).output_padding(1)));
  module(nn::ConvTranspose3d(nn::ConvTranspose3dOptions(4, 4, 5).dilation(2).groups(2).bias(false)));
  module(nn::Fold(nn::FoldOptions({2, 2}, {5, 5})));
  module(nn::Fold(nn::FoldOptions({8, 8}, {3, 3}).dilation(2).padding({2, 1}).stride(2)));
  module(nn::Unfold(torch::IntArrayRef({2, 4})));
  module(nn::Unfold(nn::UnfoldOptions({2, 4}).dilation(2).padding({2, 1}).stride(2)));
}

void pools() {
  module(nn::MaxPool1d(5));
  module(nn::MaxPool2d(5));
  module(nn::MaxPool2d(nn::MaxPool2dOptions(5).stride(2)));
  module(nn::MaxPool3d(nn::MaxPool3dOptions({5, 6, 7}).stride({1, 2, 3}).padding(1).dilation(2).ceil_mode(true)));
  module(nn::AvgPool1d(5));
  module(nn::AvgPool2d(nn::AvgPool2dOptions({5, 6}).stride({1, 2}).padding(1).ceil_mode(true)));
  module(nn::AvgPool3d(5));
  module(nn::AdaptiveMaxPool1d(5));
  module(nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({5, 6})));
  module(nn::AdaptiveMaxPool2d(1));
  module(nn::AdaptiveMaxPool3d(nn::AdaptiveMaxPool3dOptions({5, 6, torch::nullopt})));
  module(nn::AdaptiveAvgPool1d(5));
  module(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({torch::nullopt, 5})));
  module(nn::AdaptiveAvgPool3d(5));
  module(nn::MaxUnpool1d(5));
  module(nn::MaxUnpool2d(nn::MaxUnpool2dOptions(std::vector<int64_t>({5, 6})).stride({2, 3}).padding(1)));
  module(nn::MaxUnpool3d(5));
  module(nn::LPPool1d(2, 5));
  module(nn::LPPool2d(nn::LPPool2dOptions(1, {3, 4}).stride({5, 6}).ceil_mode(true)));
  module(nn::LPPool3d(2, 5));
  module(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(5).output_size(1)));
  module(nn::FractionalMaxPool3d(nn::FractionalMaxPool3dOptions(5).output_ratio(0.5)));
}

void norms_and_dropout() {
  module(nn::BatchNorm1d(5));
  module(nn::BatchNorm2d(nn::BatchNorm2dOptions(5).eps(1e-3).momentum(0.25).affine(false).track_running_stats(false)));
  module(nn::BatchNorm3d(nn::BatchNorm3dOptions(5).momentum(torch::nullopt)));
  module(nn::InstanceNorm1d(5));
  module(nn::InstanceNorm2d(nn::InstanceNorm2dOptions(5).affine(true)));
  module(nn::InstanceNorm3d(5));
  module(nn::LayerNorm(nn::LayerNormOptions({2, 2})));
  module(nn::LayerNorm(nn::LayerNormOptions({5}).eps(1e-3).elementwise_affine(false)));
  module(nn::GroupNorm(nn::GroupNormOptions(2, 4)));
  module(nn::GroupNorm(nn::GroupNormOptions(2, 4).eps(1e-3).affine(false)));
  module(nn::LocalResponseNorm(nn::LocalResponseNormOptions(4)));
  module(nn::LocalResponseNorm(nn::LocalResponseNormOptions(2).alpha(0.0002).beta(0.85).k(2)));
  module(nn::CrossMapLRN2d(4));
  module(nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(2).alpha(1e-5).beta(0.1).k(10)));
  module(nn::Dropout());
  module(nn::Dropout(0.25));
  module(nn::Dropout(nn::DropoutOptions(0.42).inplace(true)));
  module(nn::Dropout2d(0.42));
  module(nn::Dropout3d(0.42));
  module(nn::AlphaDropout(nn::AlphaDropoutOptions(0.42).inplace(true)));
  module(nn::FeatureAlphaDropout(0.42));
}

void activations() {
  module(nn::ELU());
  module(nn::ELU(nn::ELUOptions().alpha(42.42).inplace(true)));
  module(nn::SELU());
  module(nn::SELU(nn::SELUOptions().inplace(true)));
  module(nn::Hardshrink());
  module(nn::Hardshrink(nn::HardshrinkOptions(42.42)));
  module(nn::Hardtanh());
  module(nn::Hardtanh(nn::HardtanhOptions().min_val(-42.42).max_val(0.42).inplace(true)));
  module(nn::LeakyReLU());
  module(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.42).inplace(true)));
  module(nn::LogSigmoid());
  module(nn::Softmax(1));
  module(nn::Softmin(1));
  module(nn::LogSoftmax(1));
  module(nn::Softmax2d());
  module(nn::PReLU());
  module(nn::PReLU(nn::PReLUOptions().num_parameters(42)));
  module(nn::ReLU());
  module(nn::ReLU(true));
  module(nn::ReLU6());
  module(nn::ReLU6(nn::ReLU6Options().inplace(true)));
  module(nn::RReLU());
  module(nn::RReLU(nn::RReLUOptions().lower(0.24).upper(0.42).inplace(true)));
  module(nn::CELU());
  module(nn::CELU(nn::CELUOptions().alpha(42.42).inplace(true)));
  module(nn::GLU());
  module(nn::GLU(1));
  module(nn::GELU());
  module(nn::GELU(nn::GELUOptions().approximate("tanh")));
  module(nn::SiLU());
  module(nn::Mish());
  module(nn::Sigmoid());
  module(nn::Softplus());
  module(nn::Softplus(nn::SoftplusOptions().beta(0.24).threshold(42.42)));
  module(nn::Softshrink());
  module(nn::Softshrink(nn::SoftshrinkOptions(42.42)));
  module(nn::Softsign());
  module(nn::Tanh());
  module(nn::Tanhshrink());
  module(nn::Threshold(24.24, 42.42));
  module(nn::Threshold(nn::ThresholdOptions(42.42, 24.24).inplace(true)));
}

void losses() {
  module(nn::L1Loss());
  module(nn::L1Loss(nn::L1LossOptions().reduction(torch::kSum)));
  module(nn::KLDivLoss());
  module(nn::MSELoss());
  module(nn::BCELoss());
  module(nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(4)));
  module(nn::MultiMarginLoss());
  module(nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2).margin(0.5)));
  module(nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.25)));
  module(nn::SmoothL1Loss());
  module(nn::HuberLoss());
  module(nn::HuberLoss(nn::HuberLossOptions().delta(0.5)));
  module(nn::MultiLabelMarginLoss());
  module(nn::SoftMarginLoss());
  module(nn::MultiLabelSoftMarginLoss());
  module(nn::TripletMarginLoss(nn::TripletMarginLossOptions().margin(3).p(2).eps(1e-06).swap(false)));
  module(nn::TripletMarginWithDistanceLoss(nn::TripletMarginWithDistanceLossOptions().margin(2).swap(true)));
  module(nn::CTCLoss());
  module(nn::PoissonNLLLoss());
  module(nn::MarginRankingLoss());
  module(nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.5)));
  module(nn::NLLLoss());
  module(nn::CrossEntropyLoss());
  module(nn::BCEWithLogitsLoss());
  module(nn::CosineSimilarity());
  module(nn::CosineSimilarity(nn::CosineSimilarityOptions().dim(0).eps(0.5)));
  module(nn::PairwiseDistance());
  module(nn::PairwiseDistance(nn::PairwiseDistanceOptions().p(3).eps(0.5).keepdim(true)));
}

void padding_and_images() {
  module(nn::ReflectionPad1d(nn::ReflectionPad1dOptions({3, 1})));
  module(nn::ReflectionPad2d(nn::ReflectionPad2dOptions({1, 1, 2, 0})));
  module(nn::ReplicationPad1d(2));
  module(nn::ReplicationPad2d(nn::ReplicationPad2dOptions({1, 2, 2, 1})));
  module(nn::ReplicationPad3d(1));
  module(nn::ZeroPad2d(nn::ZeroPad2dOptions({1, 1, 2, 0})));
  module(nn::ConstantPad1d(nn::ConstantPad1dOptions(2, 3.5)));
  module(nn::ConstantPad2d(nn::ConstantPad2dOptions({3, 0, 2, 1}, 3.5)));
  module(nn::ConstantPad3d(nn::ConstantPad3dOptions({1, 2, 1, 2, 1, 2}, 3.5)));
  module(nn::PixelShuffle(5));
  module(nn::PixelUnshuffle(5));
  module(nn::Upsample(nn::UpsampleOptions().size(std::vector<int64_t>({2, 4, 4}))));
  module(nn::Upsample(
      nn::UpsampleOptions().scale_factor(std::vector<double>({0.5, 1.5})).mode(torch::kBilinear).align_corners(true)));
}

void recurrent_and_attention() {
  module(nn::Embedding(10, 2));
  module(nn::Embedding(nn::EmbeddingOptions(10, 2).padding_idx(3).max_norm(2)));
  module(nn::Embedding(
      nn::EmbeddingOptions(10, 2).padding_idx(3).max_norm(2).norm_type(2.5).scale_grad_by_freq(true).sparse(true)));
  module(nn::EmbeddingBag(10, 2));
  module(nn::EmbeddingBag(nn::EmbeddingBagOptions(10, 2).max_norm(2).norm_type(2.5).mode(torch::kSum)));
  module(nn::EmbeddingBag(nn::EmbeddingBagOptions(10, 2).scale_grad_by_freq(true).include_last_offset(true)));
  module(nn::RNN(nn::RNNOptions(128, 64).num_layers(3).dropout(0.2).nonlinearity(torch::kTanh)));
  module(nn::LSTM(nn::LSTMOptions(128, 64).num_layers(3).dropout(0.2)));
  module(nn::LSTM(nn::LSTMOptions(128, 64).batch_first(true).bidirectional(true).bias(false)));
  module(nn::GRU(nn::GRUOptions(128, 64).num_layers(3).dropout(0.5)));
  module(nn::RNNCell(20, 10));
  module(nn::RNNCell(nn::RNNCellOptions(20, 10).bias(false).nonlinearity(torch::kTanh)));
  module(nn::RNNCell(nn::RNNCellOptions(20, 10).bias(false).nonlinearity(torch::kReLU)));
  module(nn::LSTMCell(20, 10));
  module(nn::LSTMCell(nn::LSTMCellOptions(20, 10).bias(false)));
  module(nn::GRUCell(20, 10));
  module(nn::GRUCell(nn::GRUCellOptions(20, 10).bias(false)));
  module(nn::MultiheadAttention(20, 10));
  module(nn::MultiheadAttention(nn::MultiheadAttentionOptions(20, 10).bias(false)));
  module(nn::TransformerEncoderLayer(4, 2));
  module(nn::TransformerDecoderLayer(4, 2));
  module(nn::TransformerEncoder(nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(4, 2), 2)));
  module(nn::Transformer(nn::TransformerOptions(4, 2).num_encoder_layers(1).num_decoder_layers(1)));
  module(nn::AdaptiveLogSoftmaxWithLoss(nn::AdaptiveLogSoftmaxWithLossOptions(8, 10, {4, 8}).div_value(2.)));
}

void containers() {
  module(nn::Sequential(nn::Conv2d(1, 2, 3), nn::ReLU(), nn::Dropout(0.5), nn::Linear(4, 4)));
  module(nn::ModuleList(nn::Linear(1, 2), nn::Linear(2, 3)));
  nn::ParameterList list;
  list->append(torch::zeros({2, 3}));
  list->append(torch::zeros({}));
  module(list);
  nn::ParameterDict dict;
  dict->insert("weight", torch::zeros({2, 3}));
  dict->insert("bias", torch::zeros({3}));
  module(dict);
  const std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>> named{{"linear", nn::Linear(1, 2).ptr()},
                                                                               {"relu", nn::ReLU().ptr()}};
  module(nn::ModuleDict(named));
}

void show(const std::string& what, const torch::Tensor& t) { std::cout << what << '\n' << t << '\n'; }

// Numbers of many magnitudes, the same in both libraries: exact in float64.
torch::Tensor numbers(int64_t count, int64_t kind) {
  std::vector<double> out;
  uint64_t state = 88172645463325252ULL + static_cast<uint64_t>(kind);
  for (int64_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const auto small = static_cast<double>(state % 2000) - 1000;
    const double scales[] = {1, 0.25, 1.0 / 1024, 1024, 1048576, 1.0 / 1073741824};
    double value = small;
    if (kind == 1) value = static_cast<double>(state % 10);
    if (kind >= 2 && kind <= 7) value = small * scales[kind - 2];
    if (kind == 8) value = small * scales[state / 4096 % 6];
    if (kind == 9) value = state % 7 == 0 ? NAN : state % 7 == 1 ? INFINITY : state % 7 == 2 ? -INFINITY : small;
    if (kind == 10) value = state % 3 == 0 ? NAN : 0.5;
    out.push_back(value);
  }
  return torch::tensor(out, torch::kDouble);
}

void tensors() {
  const std::vector<std::vector<int64_t>> shapes{
      {}, {1}, {5}, {0}, {2, 3}, {1, 1}, {3, 0}, {1, 5}, {1, 2, 5}, {2, 2, 3}, {0, 2, 3}, {1, 1, 1, 1}, {2, 1, 2, 3}};
  for (int64_t kind = 0; kind <= 10; ++kind)
    for (const auto& shape : shapes) {
      int64_t count = 1;
      for (const int64_t size : shape) count *= size;
      const std::string what = "kind " + std::to_string(kind);
      show(what, numbers(count, kind).view(shape).to(torch::kFloat));
      if (shape.size() <= 2) show(what + " double", numbers(count, kind).view(shape));
    }
  for (const auto type : {torch::kByte, torch::kChar, torch::kShort, torch::kInt, torch::kLong, torch::kBool,
                          torch::kHalf, torch::kBFloat16})
    for (const auto& shape : shapes) {
      int64_t count = 1;
      for (const int64_t size : shape) count *= size;
      show("dtype", numbers(count, 1).view(shape).to(type));
      if (type != torch::kByte && type != torch::kChar) show("dtype", numbers(count, 0).view(shape).to(type));
    }
  for (const int64_t width : {20, 40, 100}) {
    show("wide", numbers(2 * width, 0).view({2, width}).to(torch::kFloat));
    show("wide", numbers(width, 0).view({1, 1, width}));
    show("wide", numbers(2 * width, 1).view({2, width}).to(torch::kLong));
    show("wide", numbers(2 * width, 8).view({2, width}));
  }
  show("0-d", torch::tensor(1.2625409364700317));
  show("0-d", torch::tensor(1.0 / 3));
  show("0-d", torch::tensor(12345679.0, torch::kDouble));
  show("0-d", torch::tensor(12345678901234567.0, torch::kDouble));
  show("0-d", torch::tensor(1e-20, torch::kDouble));
  show("0-d", torch::tensor(1e20));
  show("0-d", torch::tensor(3));
  show("0-d", torch::tensor(true));
  show("0-d", torch::tensor(0.1).to(torch::kHalf));
  show("undefined", torch::Tensor());
}

void options() {
  std::cout << torch::TensorOptions() << '\n';
  std::cout << torch::TensorOptions(torch::kDouble).requires_grad(true).device(torch::kCPU) << '\n';
  std::cout << torch::TensorOptions(torch::kLong).memory_format(torch::MemoryFormat::ChannelsLast) << '\n';
  std::cout << torch::zeros({2}).options() << '\n';
  for (const auto type :
       {torch::kByte, torch::kChar, torch::kShort, torch::kInt, torch::kLong, torch::kBool, torch::kHalf,
        torch::kBFloat16, torch::kFloat, torch::kDouble, torch::kComplexFloat, torch::kComplexDouble})
    std::cout << type << ' ' << torch::zeros({1}, type).dtype() << '\n';
  std::cout << torch::Device(torch::kCPU) << ' ' << torch::Device("cuda:1") << ' ' << torch::kCUDA << '\n';
  std::cout << torch::kStrided << ' ' << torch::MemoryFormat::Contiguous << ' ' << torch::MemoryFormat::ChannelsLast
            << '\n';
  std::cout << torch::zeros({2, 3}).sizes() << torch::zeros({}).sizes() << '\n';
  std::cout << torch::Scalar(2) << ' ' << torch::Scalar(2.5) << ' ' << torch::Scalar(true) << '\n';
}

}  // namespace

int main() {
  torch::manual_seed(0);
  linear_and_convolutions();
  pools();
  norms_and_dropout();
  activations();
  losses();
  padding_and_images();
  recurrent_and_attention();
  containers();
  tensors();
  options();
}
