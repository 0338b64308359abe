// Prints random numbers, of Tandem in GeneratorMode::kPyTorch. draws.txt holds what LibTorch prints; printed_test.py
// compares. Each line begins with the same seed and ends with the next uniform and the next two normal numbers, which
// tell whether as many words of the stream were used.
#include <torch/torch.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

void show(const Tensor& t) {
  const Tensor all = t.detach().to(torch::kDouble).reshape({-1});
  const int64_t n = all.numel();
  for (int64_t i = 0; i < n; ++i) {
    if (i == 6 && n > 12) i = n - 3;  // the first and the last ones are enough
    std::printf(" %.4g", all[i].item<double>() + 0.0);
  }
}

void line(const std::string& name, const std::function<void()>& draw) {
  torch::manual_seed(0);
  std::printf("%s:", name.c_str());
  try {
    draw();
  } catch (const std::exception&) {
    std::printf(" error");
  }
  std::printf("; then");
  show(torch::rand({1}));
  show(torch::randn({2}));
  std::printf("\n");
}
void drawn(const std::string& name, const std::function<Tensor()>& f) {
  line(name, [&] { show(f()); });
}
template <class Module>
void made(const std::string& name, const std::function<Module()>& make) {
  line(name, [&] {
    for (const auto& p : make()->named_parameters()) {
      std::printf("; %s", p.key().c_str());
      show(p.value().detach().reshape({-1}).slice(0, 0, 2));
    }
  });
}

struct Named {
  const char* name;
  torch::ScalarType type;
};
const Named kReal[] = {
    {"double", torch::kDouble}, {"float", torch::kFloat}, {"half", torch::kHalf}, {"bfloat16", torch::kBFloat16}};
const Named kIntegers[] = {{"long", torch::kLong}, {"int", torch::kInt},   {"short", torch::kShort},
                           {"char", torch::kChar}, {"byte", torch::kByte}, {"bool", torch::kBool}};

const std::optional<int64_t> kNone;

std::string with(const char* what, const Named& type) { return std::string(what) + ' ' + type.name; }

void distributions() {
  for (const Named& type : kReal) {
    const torch::ScalarType t = type.type;
    for (const int64_t n : {3, 15, 16, 33}) {
      const std::string size = ' ' + std::to_string(n);
      drawn(with("rand", type) + size, [&] { return torch::rand({n}, t); });
      drawn(with("randn", type) + size, [&] { return torch::randn({n}, t); });
      drawn(with("normal", type) + size, [&] { return torch::empty({n}, t).normal_(2, 3); });
    }
    drawn(with("uniform_", type), [&] { return torch::empty({4}, t).uniform_(-3, 5); });
    drawn(with("rand_like", type), [&] { return torch::rand_like(torch::ones({2, 3}, t)); });
    drawn(with("randn_like", type), [&] { return torch::randn_like(torch::ones({4, 5}, t)); });
    drawn(with("randint_like", type), [&] { return torch::randint_like(torch::ones({5}, t), 3, 200); });
    drawn(with("randint", type), [&] { return torch::randint(5, 90, {5}, t); });
    drawn(with("random_", type), [&] { return torch::empty({5}, t).random_(); });
    drawn(with("random_ below", type), [&] { return torch::empty({5}, t).random_(100); });
    drawn(with("random_ between", type), [&] { return torch::empty({5}, t).random_(-60, 100); });
    drawn(with("exponential_", type), [&] { return torch::empty({9}, t).exponential_(1.5); });
    drawn(with("geometric_", type), [&] { return torch::empty({9}, t).geometric_(0.3); });
    drawn(with("log_normal_", type), [&] { return torch::empty({5}, t).log_normal_(0.5, 0.25); });
    drawn(with("log_normal_ 20", type), [&] { return torch::empty({20}, t).log_normal_(0.5, 0.25); });
    drawn(with("cauchy_", type), [&] { return torch::empty({9}, t).cauchy_(1, 2); });
    drawn(with("bernoulli_", type), [&] { return torch::empty({12}, t).bernoulli_(0.4); });
    drawn(with("bernoulli of a tensor", type), [&] { return torch::bernoulli(torch::full({12}, 0.4, t)); });
    drawn(with("bernoulli of p", type), [&] { return torch::bernoulli(torch::ones({12}, t), 0.4); });
    drawn(with("bernoulli_ of a tensor", type),
          [&] { return torch::empty({12}, torch::kFloat).bernoulli_(torch::full({12}, 0.4, t)); });
    drawn(with("bernoulli_ of one p", type),
          [&] { return torch::empty({12}, torch::kInt).bernoulli_(torch::full({1}, 0.4, t)); });
    drawn(with("multinomial", type), [&] { return torch::multinomial(torch::arange(1, 9).to(t), 5); });
    drawn(with("multinomial of one", type), [&] { return torch::multinomial(torch::arange(1, 9).to(t), 1, true); });
    drawn(with("multinomial with replacement", type), [&] {
      return torch::multinomial(torch::arange(1, 17).to(t).reshape({2, 8}), 6, true);
    });
    drawn(with("normal of tensors", type),
          [&] { return at::normal(torch::arange(5).to(t), torch::arange(1, 6).to(t)); });
    drawn(with("normal of means", type), [&] { return at::normal(torch::arange(20).to(t), 2.5); });
    drawn(with("normal of deviations", type), [&] { return at::normal(1.5, torch::arange(1, 6).to(t)); });
    drawn(with("poisson", type), [&] { return torch::poisson(torch::arange(0, 24, 2).to(t)); });
    drawn(with("randperm", type), [&] { return torch::randperm(10, t); });
  }
  drawn("normal of numbers", [] { return torch::normal(1.0, 2.0, {5}); });
  drawn("binomial", [] { return torch::binomial(torch::arange(0, 48, 4).to(torch::kFloat), torch::full({12}, 0.3)); });
  drawn("gamma", [] { return torch::_standard_gamma(torch::arange(1, 7).to(torch::kDouble) * 0.4); });
  drawn("dirichlet", [] { return torch::_sample_dirichlet(torch::arange(1, 7).to(torch::kDouble) * 0.4); });
  drawn("rand complex", [] { return torch::view_as_real(torch::rand({5}, torch::kComplexFloat)); });
  drawn("randn complex", [] { return torch::view_as_real(torch::randn({5}, torch::kComplexFloat)); });
  drawn("randn complex 9", [] { return torch::view_as_real(torch::randn({9}, torch::kComplexDouble)); });
}

void integers() {
  for (const Named& type : kIntegers) {
    const torch::ScalarType t = type.type;
    const int64_t top = t == torch::kBool ? 2 : 100;
    drawn(with("randint", type), [&] { return torch::randint(top, {5}, t); });
    drawn(with("randint_like", type), [&] { return torch::randint_like(torch::ones({5}, t), top); });
    drawn(with("random_", type), [&] { return torch::empty({5}, t).random_(); });
    drawn(with("random_ below", type), [&] { return torch::empty({5}, t).random_(top); });
    drawn(with("bernoulli_", type), [&] { return torch::empty({12}, t).bernoulli_(0.4); });
    drawn(with("bernoulli_ of a tensor", type),
          [&] { return torch::empty({12}, t).bernoulli_(torch::full({12}, 0.4)); });
    drawn(with("bernoulli of p", type), [&] { return torch::bernoulli(torch::ones({12}, t), 0.4); });
    if (t == torch::kBool) continue;  // LibTorch refuses bool
    drawn(with("geometric_", type), [&] { return torch::empty({9}, t).geometric_(0.3); });
    drawn(with("randperm", type), [&] { return torch::randperm(10, t); });
  }
  for (const int64_t bits : {8, 16, 24, 28, 31, 32, 33, 40, 62}) {
    const std::string size = std::to_string(bits) + " bits";
    drawn("randint " + size, [&] { return torch::randint(int64_t{1} << bits, {4}); });
    drawn("random_ " + size, [&] { return torch::empty({4}, torch::kLong).random_(-7, (int64_t{1} << bits) - 7); });
    if (bits < 32)
      drawn("random_ int " + size, [&] { return torch::empty({4}, torch::kInt).random_((int64_t{1} << bits) - 1); });
  }
  drawn("random_ from the least", [] { return torch::empty({4}, torch::kLong).random_(INT64_MIN, kNone); });
  drawn("random_ from 5", [] { return torch::empty({4}, torch::kLong).random_(int64_t{5}, kNone); });
  drawn("random_ float from 5", [] { return torch::empty({4}).random_(int64_t{5}, kNone); });
  drawn("random_ int from -5", [] { return torch::empty({4}, torch::kInt).random_(int64_t{-5}, kNone); });
  for (const int64_t n : {0, 1, 2, 40000}) {
    const std::string size = "randperm " + std::to_string(n);
    drawn(size, [&] { return torch::randperm(n); });
    drawn(size + " int", [&] { return torch::randperm(n, torch::kInt); });
    drawn(size + " double", [&] { return torch::randperm(n, torch::kDouble); });
  }
}

// Tensors whose memory has another order than their elements, or holes.
void layouts() {
  const std::vector<std::pair<std::string, std::function<Tensor()>>> makers = {
      {"transposed",
       [] {
         return torch::zeros({4, 3}).t();
       }},
      {"transposed 6x5",
       [] {
         return torch::zeros({5, 6}).t();
       }},
      {"permuted",
       [] {
         return torch::zeros({2, 3, 4}).permute({1, 2, 0});
       }},
      {"channels-last",
       [] {
         return torch::zeros({2, 3, 2, 2}).contiguous(torch::MemoryFormat::ChannelsLast);
       }},
      {"columns",
       [] {
         return torch::zeros({4, 9}).slice(1, 1, 6);
       }},
      {"every other", [] { return torch::zeros({40}).slice(0, 0, 40, 2); }},
      {"transposed columns",
       [] {
         return torch::zeros({4, 9}).slice(1, 1, 6).t();
       }},
  };
  for (const auto& [name, make] : makers) {
    const auto& f = make;
    drawn("uniform_ " + name, [&f] { return f().uniform_(); });
    drawn("normal_ " + name, [&f] { return f().normal_(); });
    drawn("exponential_ " + name, [&f] { return f().exponential_(); });
    drawn("random_ " + name, [&f] { return f().random_(1000); });
    drawn("bernoulli_ " + name, [&f] { return f().bernoulli_(0.5); });
    drawn("bernoulli_ of a tensor " + name, [&f] {
      Tensor t = f();
      return t.bernoulli_(torch::full(t.sizes(), 0.5));
    });
    drawn("bernoulli of p " + name, [&f] { return torch::bernoulli(f(), 0.5); });
    drawn("geometric_ " + name, [&f] { return f().geometric_(0.3); });
    drawn("bernoulli " + name, [&f] { return torch::bernoulli(f() + 0.5); });
    drawn("rand_like " + name, [&f] { return torch::rand_like(f()); });
    drawn("randn_like " + name, [&f] { return torch::randn_like(f()); });
    drawn("randint_like " + name, [&f] { return torch::randint_like(f(), 1000); });
    drawn("dropout " + name, [&f] { return torch::dropout(f().fill_(1), 0.5, true); });
    drawn("alpha_dropout " + name, [&f] { return torch::alpha_dropout(f().fill_(1), 0.5, true); });
    drawn("feature_dropout " + name, [&f] { return torch::feature_dropout(f().fill_(1).unsqueeze(1), 0.5, true); });
    drawn("rrelu " + name, [&f] { return torch::rrelu(f().fill_(-1), 0.1, 0.4, true); });
    drawn("log_normal_ " + name, [&f] { return f().log_normal_(); });
    drawn("poisson " + name, [&f] { return torch::poisson(f() + 3); });
    drawn("normal of tensors " + name, [&f] { return at::normal(f(), f() + 1); });
  }
  drawn("multinomial columns", [] { return torch::multinomial(torch::rand({6, 2}).t(), 3); });
}

// The values and the gradient of 24 inputs.
void through(const std::string& name, const std::function<Tensor(Tensor)>& f, torch::IntArrayRef sizes = {2, 3, 2, 2}) {
  line(name, [&] {
    Tensor x = (torch::arange(24).to(torch::kFloat) * 0.25 - 3).reshape(sizes).requires_grad_();
    const Tensor y = f(x);
    show(y);
    std::printf("; gradient");
    show(torch::autograd::grad({y.sum()}, {x})[0]);
  });
}
void dropouts() {
  const auto training = [](auto options) { return options.training(true); };
  through("dropout", [](Tensor x) { return torch::dropout(x, 0.3, true); });
  through("dropout of all", [](Tensor x) { return torch::dropout(x, 1, true); });
  through("dropout of none", [](Tensor x) { return torch::dropout(x, 0, true); });
  through("dropout in place", [](Tensor x) { return F::dropout(x * 1, F::DropoutFuncOptions().p(0.3).inplace(true)); });
  through("dropout1d", [](Tensor x) { return torch::feature_dropout(x, 0.5, true); }, {4, 6});
  through("dropout2d", [&](Tensor x) { return F::dropout2d(x, training(F::Dropout2dFuncOptions().p(0.5))); });
  through("dropout2d of 3 dimensions",
          [&](Tensor x) { return F::dropout2d(x, training(F::Dropout2dFuncOptions().p(0.5))); }, {2, 3, 4});
  through("dropout3d", [&](Tensor x) { return F::dropout3d(x, training(F::Dropout3dFuncOptions().p(0.5))); },
          {1, 3, 2, 2, 2});
  through("alpha_dropout",
          [&](Tensor x) { return F::alpha_dropout(x, training(F::AlphaDropoutFuncOptions().p(0.3))); });
  through("feature_alpha_dropout",
          [&](Tensor x) { return F::feature_alpha_dropout(x, training(F::FeatureAlphaDropoutFuncOptions().p(0.3))); });
  through("Dropout", [](Tensor x) { return nn::Dropout(0.4)->forward(x); });
  through("Dropout2d", [](Tensor x) { return nn::Dropout2d(0.4)->forward(x); });
  through("Dropout3d", [](Tensor x) { return nn::Dropout3d(0.4)->forward(x); }, {2, 3, 1, 2, 2});
  through("AlphaDropout", [](Tensor x) { return nn::AlphaDropout(0.4)->forward(x); });
  through("FeatureAlphaDropout", [](Tensor x) { return nn::FeatureAlphaDropout(0.4)->forward(x); });
  through("rrelu", [&](Tensor x) { return F::rrelu(x, training(F::RReLUFuncOptions().lower(0.1).upper(0.4))); });
  through("rrelu in place", [&](Tensor x) { return F::rrelu(x * 1, training(F::RReLUFuncOptions().inplace(true))); });
  through("rrelu in evaluation", [](Tensor x) { return torch::rrelu(x, 0.1, 0.4, false); });
  through("RReLU", [](Tensor x) { return nn::RReLU()->forward(x); });
  for (const bool hard : {false, true})
    through(hard ? "gumbel_softmax hard" : "gumbel_softmax",
            [&](Tensor x) {
              return F::gumbel_softmax(x, F::GumbelSoftmaxFuncOptions().tau(0.7).hard(hard).dim(-1)) * torch::arange(6);
            },
            {4, 6});
  through("fractional_max_pool2d",
          [](Tensor x) { return F::fractional_max_pool2d(x, F::FractionalMaxPool2dFuncOptions(2).output_size(2)); },
          {1, 2, 3, 4});
  through(
      "FractionalMaxPool2d",
      [](Tensor x) { return nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio(0.7))->forward(x); },
      {1, 2, 3, 4});
  through(
      "FractionalMaxPool3d",
      [](Tensor x) { return nn::FractionalMaxPool3d(nn::FractionalMaxPool3dOptions(1).output_size(1))->forward(x); },
      {1, 1, 4, 2, 3});
}

void initialisers() {
  const auto each = [](const std::string& name, const std::function<Tensor(Tensor)>& f) {
    drawn(name, [&] { return f(torch::zeros({6, 5})); });
    drawn(name + " of a kernel", [&] { return f(torch::zeros({4, 2, 3, 3})); });
    drawn(name + " double", [&] { return f(torch::zeros({3, 4}, torch::kDouble)); });
  };
  each("init uniform_", [](Tensor t) { return nn::init::uniform_(t, -1, 2); });
  each("init normal_", [](Tensor t) { return nn::init::normal_(t, 1, 0.5); });
  each("init xavier_uniform_", [](Tensor t) { return nn::init::xavier_uniform_(t, 1.5); });
  each("init xavier_normal_", [](Tensor t) { return nn::init::xavier_normal_(t); });
  each("init kaiming_uniform_", [](Tensor t) { return nn::init::kaiming_uniform_(t, 0.1); });
  each("init kaiming_uniform_ out",
       [](Tensor t) { return nn::init::kaiming_uniform_(t, 0, torch::kFanOut, torch::kReLU); });
  each("init kaiming_normal_", [](Tensor t) { return nn::init::kaiming_normal_(t); });
  each("init kaiming_normal_ out",
       [](Tensor t) { return nn::init::kaiming_normal_(t, 0, torch::kFanOut, torch::kTanh); });
  each("init orthogonal_", [](Tensor t) { return nn::init::orthogonal_(t, 2); });
  drawn("init orthogonal_ wide", [] { return nn::init::orthogonal_(torch::zeros({3, 7})); });
  drawn("init sparse_", [] { return nn::init::sparse_(torch::zeros({6, 4}), 0.4, 0.1).slice(0, 0, 3); });
  drawn("init sparse_ double", [] { return nn::init::sparse_(torch::zeros({3, 4}, torch::kDouble), 0.4); });
}

void modules() {
  made<nn::Linear>("Linear", [] { return nn::Linear(5, 4); });
  made<nn::Linear>("Linear without bias", [] { return nn::Linear(nn::LinearOptions(5, 4).bias(false)); });
  made<nn::Bilinear>("Bilinear", [] { return nn::Bilinear(3, 4, 5); });
  made<nn::Conv1d>("Conv1d", [] { return nn::Conv1d(2, 4, 3); });
  made<nn::Conv2d>("Conv2d", [] { return nn::Conv2d(nn::Conv2dOptions(4, 4, 3).groups(2)); });
  made<nn::Conv3d>("Conv3d", [] { return nn::Conv3d(1, 2, 2); });
  made<nn::ConvTranspose1d>("ConvTranspose1d", [] { return nn::ConvTranspose1d(2, 4, 3); });
  made<nn::ConvTranspose2d>("ConvTranspose2d",
                            [] { return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 2, 3).groups(2)); });
  made<nn::ConvTranspose3d>("ConvTranspose3d", [] { return nn::ConvTranspose3d(1, 2, 2); });
  made<nn::Embedding>("Embedding", [] { return nn::Embedding(7, 3); });
  made<nn::Embedding>("Embedding with padding",
                      [] { return nn::Embedding(nn::EmbeddingOptions(7, 3).padding_idx(0)); });
  made<nn::EmbeddingBag>("EmbeddingBag", [] { return nn::EmbeddingBag(4, 3); });
  made<nn::LSTM>("LSTM", [] { return nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true)); });
  made<nn::LSTM>("LSTM projected", [] { return nn::LSTM(nn::LSTMOptions(3, 4).proj_size(2)); });
  made<nn::GRU>("GRU", [] { return nn::GRU(nn::GRUOptions(3, 4).num_layers(2)); });
  made<nn::RNN>("RNN", [] { return nn::RNN(3, 4); });
  made<nn::RNNCell>("RNNCell", [] { return nn::RNNCell(3, 4); });
  made<nn::LSTMCell>("LSTMCell", [] { return nn::LSTMCell(3, 4); });
  made<nn::GRUCell>("GRUCell", [] { return nn::GRUCell(3, 4); });
  made<nn::MultiheadAttention>("MultiheadAttention", [] { return nn::MultiheadAttention(4, 2); });
  made<nn::MultiheadAttention>("MultiheadAttention of others", [] {
    return nn::MultiheadAttention(nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(5).add_bias_kv(true));
  });
  made<nn::TransformerEncoderLayer>("TransformerEncoderLayer", [] {
    return nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6));
  });
  made<nn::TransformerDecoderLayer>("TransformerDecoderLayer", [] {
    return nn::TransformerDecoderLayer(nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(6));
  });
  made<nn::TransformerEncoder>("TransformerEncoder", [] {
    return nn::TransformerEncoder(
        nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6), 2));
  });
  made<nn::TransformerDecoder>("TransformerDecoder", [] {
    return nn::TransformerDecoder(
        nn::TransformerDecoderOptions(nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(6), 2));
  });
  made<nn::Transformer>("Transformer",
                        [] { return nn::Transformer(nn::TransformerOptions(4, 2, 2, 1).dim_feedforward(6)); });
  made<nn::PReLU>("PReLU", [] { return nn::PReLU(nn::PReLUOptions().num_parameters(3)); });
  made<nn::LayerNorm>("LayerNorm", [] { return nn::LayerNorm(nn::LayerNormOptions({3})); });
  made<nn::BatchNorm2d>("BatchNorm2d", [] { return nn::BatchNorm2d(3); });
  made<nn::GroupNorm>("GroupNorm", [] { return nn::GroupNorm(1, 3); });
  made<nn::InstanceNorm1d>("InstanceNorm1d",
                           [] { return nn::InstanceNorm1d(nn::InstanceNorm1dOptions(3).affine(true)); });
  made<nn::AdaptiveLogSoftmaxWithLoss>("AdaptiveLogSoftmaxWithLoss", [] {
    return nn::AdaptiveLogSoftmaxWithLoss(nn::AdaptiveLogSoftmaxWithLossOptions(8, 12, {4, 8}).div_value(2));
  });
}

// Layers that drop out in training.
void training() {
  const Tensor x = (torch::arange(24).to(torch::kFloat) * 0.7).sin().reshape({3, 2, 4});
  drawn("LSTM with dropout",
        [&] { return std::get<0>(nn::LSTM(nn::LSTMOptions(4, 3).num_layers(3).dropout(0.4))->forward(x)); });
  drawn("LSTM both ways with dropout", [&] {
    return std::get<0>(nn::LSTM(nn::LSTMOptions(4, 3).num_layers(2).dropout(0.4).bidirectional(true))->forward(x));
  });
  drawn("LSTM batch first with dropout", [&] {
    return std::get<0>(nn::LSTM(nn::LSTMOptions(4, 3).num_layers(2).dropout(0.4).batch_first(true))->forward(x));
  });
  drawn("GRU with dropout",
        [&] { return std::get<0>(nn::GRU(nn::GRUOptions(4, 3).num_layers(2).dropout(0.4))->forward(x)); });
  drawn("RNN with dropout",
        [&] { return std::get<0>(nn::RNN(nn::RNNOptions(4, 3).num_layers(2).dropout(0.4))->forward(x)); });
  drawn("LSTM packed with dropout", [&] {
    const auto packed = nn::utils::rnn::pack_padded_sequence(x, torch::tensor({3, 2}));
    nn::LSTM lstm(nn::LSTMOptions(4, 3).num_layers(2).dropout(0.4));
    return std::get<0>(lstm->forward_with_packed_input(packed)).data();
  });
  const auto attention = [&](bool weights, const Tensor& mask = {}) {
    nn::MultiheadAttention layer(nn::MultiheadAttentionOptions(4, 2).dropout(0.3));
    return std::get<0>(layer->forward(x, x, x, {}, weights, mask));
  };
  drawn("MultiheadAttention with dropout", [&] { return attention(true); });
  drawn("MultiheadAttention with dropout, without weights", [&] { return attention(false); });
  drawn("MultiheadAttention with dropout and a mask", [&] {
    return attention(true, torch::ones({3, 3}).triu(1) * -9);
  });
  const Tensor q = x.reshape({1, 2, 3, 4});
  drawn("scaled_dot_product_attention", [&] { return torch::scaled_dot_product_attention(q, q, q, {}, 0.3); });
  drawn("scaled_dot_product_attention causal",
        [&] { return torch::scaled_dot_product_attention(q, q, q, {}, 0.3, true); });
  drawn("scaled_dot_product_attention of 3 dimensions",
        [&] { return torch::scaled_dot_product_attention(q[0], q[0], q[0], {}, 0.3); });
  drawn("TransformerEncoderLayer in training", [&] {
    return nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6))->forward(x);
  });
  drawn("TransformerDecoderLayer in training", [&] {
    return nn::TransformerDecoderLayer(nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(6))->forward(x, x);
  });
  drawn("Transformer in training",
        [&] { return nn::Transformer(nn::TransformerOptions(4, 2, 2, 1).dim_feedforward(6))->forward(x, x); });
}

template <class Sampler>
Tensor rest_of(Sampler& sampler, std::size_t batch) {
  std::vector<int64_t> order;
  while (const auto next = sampler.next(batch))
    for (const std::size_t i : *next) order.push_back(static_cast<int64_t>(i));
  return torch::tensor(order);
}
template <class Sampler>
Tensor two_epochs(Sampler sampler) {
  const Tensor first = rest_of(sampler, 5);
  sampler.reset();
  return torch::cat({first, rest_of(sampler, 5)});
}
void samplers() {
  namespace samplers = torch::data::samplers;
  drawn("RandomSampler", [] { return two_epochs(samplers::RandomSampler(12)); });
  drawn("RandomSampler int", [] { return two_epochs(samplers::RandomSampler(12, torch::kInt)); });
  drawn("RandomSampler byte", [] { return two_epochs(samplers::RandomSampler(12, torch::kByte)); });
  drawn("SequentialSampler", [] { return two_epochs(samplers::SequentialSampler(12)); });
  drawn("DistributedRandomSampler", [] {
    samplers::DistributedRandomSampler sampler(13, 2, 1, true);
    std::vector<Tensor> epochs;
    for (const std::size_t epoch : {0, 3}) {
      sampler.set_epoch(epoch);
      sampler.reset();
      epochs.push_back(rest_of(sampler, 5));
    }
    return torch::cat(epochs);
  });
  drawn("two generators", [] {
    auto generator = torch::make_generator<at::CPUGeneratorImpl>(5);
    return torch::cat({torch::rand({2}, generator), torch::rand({2}), torch::randn({17}, generator)});
  });
  drawn("a large seed", [] {
    torch::manual_seed(0x123456789ABCDEF);
    return torch::rand({3});
  });
}

}  // namespace

int main() {
#ifdef TANDEM_VERSION_MAJOR
  tandem::set_generator_mode(tandem::GeneratorMode::kPyTorch);
#endif
  distributions();
  integers();
  layouts();
  dropouts();
  initialisers();
  modules();
  training();
  samplers();
}
