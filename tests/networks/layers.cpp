// The layers of random networks, with PyTorch's names of their options.
#include "tandem/tests/networks/network.h"

namespace tandem::testing {
namespace {

/// Options by name. Each use of one that is missing throws.
class Given {
 public:
  explicit Given(const Keywords& options) : options_(options) {}
  int64_t whole(const char* name) const { return std::stoll(text(name)); }
  double number(const char* name) const { return std::strtod(text(name).c_str(), nullptr); }
  bool flag(const char* name) const { return text(name) == "True"; }
  std::vector<int64_t> list(const char* name) const { return read_word<std::vector<int64_t>>("l" + text(name), {}); }
  const std::string& text(const char* name) const { return options_.at(name); }

 private:
  const Keywords& options_;
};

template <class M>
Layer simple(const nn::ModuleHolder<M>& module) {
  return {module.ptr(), [m = module.ptr()](const Tensors& x) { return Tensors{m->forward(x.at(0))}; }};
}

nn::PaddingMode mode_named(const std::string& name) {
  if (name == "reflect") return kReflect;
  if (name == "replicate") return kReplicate;
  if (name == "circular") return kCircular;
  return kZeros;
}

template <class Module, std::size_t D>
Module convolution(const Given& o) {
  nn::ConvOptions<D> options(o.whole("in_channels"), o.whole("out_channels"), o.list("kernel_size"));
  options.stride(o.list("stride")).padding(o.list("padding")).dilation(o.list("dilation"));
  return Module(
      options.groups(o.whole("groups")).bias(o.flag("bias")).padding_mode(mode_named(o.text("padding_mode"))));
}

template <class Module, std::size_t D>
Module transposed(const Given& o) {
  nn::ConvTransposeOptions<D> options(o.whole("in_channels"), o.whole("out_channels"), o.list("kernel_size"));
  options.stride(o.list("stride")).padding(o.list("padding")).output_padding(o.list("output_padding"));
  return Module(options.dilation(o.list("dilation")).groups(o.whole("groups")).bias(o.flag("bias")));
}

template <class Module>
Module batch_norm(const Given& o) {
  nn::BatchNormOptions options(o.whole("num_features"));
  return Module(options.momentum(o.number("momentum")).affine(o.flag("affine")).eps(o.number("eps")));
}

template <class Module>
Module instance_norm(const Given& o) {
  nn::InstanceNormOptions options(o.whole("num_features"));
  return Module(options.affine(o.flag("affine")).track_running_stats(o.flag("track_running_stats")));
}

/// A convolution, its normalisation and an activation: what nn::fuse merges.
template <class Conv, class Norm, std::size_t D>
Layer block(const Given& o) {
  nn::Sequential all(Conv(nn::ConvOptions<D>(o.whole("in_channels"), o.whole("out_channels"), o.whole("kernel_size"))
                              .padding(o.whole("padding"))),
                     Norm(o.whole("out_channels")));
  if (o.text("activation") == "relu") all->push_back(nn::ReLU());
  if (o.text("activation") == "relu6") all->push_back(nn::ReLU6());
  return {all.ptr(), [m = all.ptr()](const Tensors& x) { return Tensors{m->forward(x.at(0))}; }};
}

template <class Options>
Options recurrent(const Given& o) {
  Options options(o.whole("input_size"), o.whole("hidden_size"));
  return options.num_layers(o.whole("num_layers"))
      .bias(o.flag("bias"))
      .bidirectional(o.flag("bidirectional"))
      .batch_first(true);
}

/// The examples of a state [layers, examples, features] first.
Tensor examples_first(const Tensor& state) { return state.transpose(0, 1); }

template <class Module>
Layer recurrent_layer(const Module& module) {
  return {module.ptr(), [m = module.ptr()](const Tensors& x) {
            const auto [y, h] = m->forward(x.at(0));
            return Tensors{y, examples_first(h)};
          }};
}

Layer lstm(const Given& o) {
  const nn::LSTM module(recurrent<nn::LSTMOptions>(o).proj_size(o.whole("proj_size")));
  return {module.ptr(), [m = module.ptr()](const Tensors& x) {
            const auto [y, states] = m->forward(x.at(0));
            return Tensors{y, examples_first(std::get<0>(states)), examples_first(std::get<1>(states))};
          }};
}

Layer lstm_cell(const Given& o) {
  const nn::LSTMCell module(nn::LSTMCellOptions(o.whole("input_size"), o.whole("hidden_size")).bias(o.flag("bias")));
  return {module.ptr(), [m = module.ptr()](const Tensors& x) {
            const auto [h, c] = m->forward(x.at(0));
            return Tensors{h, c};
          }};
}

/// Attention of [examples, steps, features] to itself, or of x[0] to x[1].
Layer attention(const Given& o) {
  const nn::MultiheadAttention module(
      nn::MultiheadAttentionOptions(o.whole("embed_dim"), o.whole("num_heads")).bias(o.flag("bias")));
  return {module.ptr(), [m = module.ptr()](const Tensors& x) {
            const Tensor query = examples_first(x.at(0)), key = examples_first(x.back());
            const auto [y, weights] = m->forward(query, key, key);
            return Tensors{examples_first(y), weights};
          }};
}

Layer encoder(const Given& o) {
  nn::TransformerEncoderLayerOptions options(o.whole("d_model"), o.whole("nhead"));
  options.dim_feedforward(o.whole("dim_feedforward")).dropout(0);
  if (o.text("activation") == "gelu") options.activation(kGELU);
  const nn::TransformerEncoderLayer module(options);
  return {module.ptr(), [m = module.ptr()](const Tensors& x) {
            return Tensors{examples_first(m->forward(examples_first(x.at(0))))};
          }};
}

Layer bilinear(const Given& o) {
  const nn::Bilinear module(
      nn::BilinearOptions(o.whole("in1_features"), o.whole("in2_features"), o.whole("out_features")));
  return {module.ptr(), [m = module.ptr()](const Tensors& x) { return Tensors{m->forward(x.at(0), x.at(1))}; }};
}

using Make = Layer (*)(const Given&);
const std::map<std::string, Make>& makers() {
  using namespace nn;
  static const std::map<std::string, Make> all{
      {"Linear",
       [](const Given& o) {
         return simple(Linear(LinearOptions(o.whole("in_features"), o.whole("out_features")).bias(o.flag("bias"))));
       }},
      {"Bilinear", bilinear},
      {"Conv1d", [](const Given& o) { return simple(convolution<Conv1d, 1>(o)); }},
      {"Conv2d", [](const Given& o) { return simple(convolution<Conv2d, 2>(o)); }},
      {"Conv3d", [](const Given& o) { return simple(convolution<Conv3d, 3>(o)); }},
      {"ConvTranspose1d", [](const Given& o) { return simple(transposed<ConvTranspose1d, 1>(o)); }},
      {"ConvTranspose2d", [](const Given& o) { return simple(transposed<ConvTranspose2d, 2>(o)); }},
      {"ConvTranspose3d", [](const Given& o) { return simple(transposed<ConvTranspose3d, 3>(o)); }},
      {"BatchNorm1d", [](const Given& o) { return simple(batch_norm<BatchNorm1d>(o)); }},
      {"BatchNorm2d", [](const Given& o) { return simple(batch_norm<BatchNorm2d>(o)); }},
      {"BatchNorm3d", [](const Given& o) { return simple(batch_norm<BatchNorm3d>(o)); }},
      {"InstanceNorm1d", [](const Given& o) { return simple(instance_norm<InstanceNorm1d>(o)); }},
      {"InstanceNorm2d", [](const Given& o) { return simple(instance_norm<InstanceNorm2d>(o)); }},
      {"InstanceNorm3d", [](const Given& o) { return simple(instance_norm<InstanceNorm3d>(o)); }},
      {"LayerNorm",
       [](const Given& o) {
         return simple(LayerNorm(LayerNormOptions(o.list("normalized_shape")).eps(o.number("eps"))));
       }},
      {"GroupNorm",
       [](const Given& o) {
         return simple(GroupNorm(GroupNormOptions(o.whole("num_groups"), o.whole("num_channels"))));
       }},
      {"Embedding",
       [](const Given& o) {
         return simple(Embedding(EmbeddingOptions(o.whole("num_embeddings"), o.whole("embedding_dim"))));
       }},
      {"PReLU", [](const Given& o) { return simple(PReLU(PReLUOptions().num_parameters(o.whole("num_parameters")))); }},
      {"Dropout", [](const Given&) { return simple(Dropout(0.0)); }},
      {"Block1d", block<Conv1d, BatchNorm1d, 1>},
      {"Block2d", block<Conv2d, BatchNorm2d, 2>},
      {"Block3d", block<Conv3d, BatchNorm3d, 3>},
      {"LSTM", lstm},
      {"GRU", [](const Given& o) { return recurrent_layer(GRU(recurrent<GRUOptions>(o))); }},
      {"RNN",
       [](const Given& o) {
         const bool relu = o.text("nonlinearity") == "relu";
         RNNOptions options = recurrent<RNNOptions>(o);
         if (relu) options.nonlinearity(kReLU);
         return recurrent_layer(RNN(options));
       }},
      {"LSTMCell", lstm_cell},
      {"GRUCell",
       [](const Given& o) {
         return simple(GRUCell(GRUCellOptions(o.whole("input_size"), o.whole("hidden_size")).bias(o.flag("bias"))));
       }},
      {"MultiheadAttention", attention},
      {"TransformerEncoderLayer", encoder},
  };
  return all;
}

}  // namespace

Layer make_layer(const std::string& type, const Keywords& options) {
  const auto found = makers().find(type);
  check(found != makers().end(), "random networks have no layer ", type);
  return found->second(Given(options));
}

}  // namespace tandem::testing
