// Prints a line "NAME DIGEST" for results whose bits must not depend on the processor, the compiler or its options:
//
//   golden [--device DEVICE] [PREFIX…]     all, or those whose names begin so; DEVICE: cpu:0 (default) or cuda:0
//
//   op …       the operations' descriptions: outputs and gradients of all cases, in each floating-point type
//   wide …     the elementwise functions of 1,003 numbers, which also fill vectors
//   large …    sums, products, convolutions and normalisations of sizes that take each way through the kernels
//   random …   random numbers
//   train …    the parameters after some training steps
//
// A digest is the first half of a SHA-256. NaNs count as equal, because processors create them with different signs.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tandem/cli/data/sha256.h"
#include "tandem/models/gpt2.h"
#include "tandem/models/lenet.h"
#include "tandem/models/resnet.h"
#include "tandem/tandem.h"
#include "tandem/tests/ops/cases.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

std::vector<std::string> g_prefixes;
Device g_device = Device("cpu:0");

class Digest {
 public:
  void add(const Tensor& t) {
    if (!t.defined()) return text("undefined");
    text(concat(name(t.dtype()), t.sizes()));
    Tensor values = t.detach().cpu().contiguous();
    if (values.is_complex()) values = view_as_real(values);
    if (values.is_floating_point()) values = values.masked_fill(values.isnan(), std::nan("")).contiguous();
    if (std::getenv("GOLDEN_TENSORS") != nullptr && values.is_floating_point()) {
      std::printf("# %s", concat(values).c_str());
      const Tensor wide = values.to(kDouble).flatten();
      for (int64_t i = 0; i < wide.numel(); ++i) std::printf(" %a", wide.data_ptr<double>()[i]);
      std::printf("\n");
    }
    if (values.numel() > 0)
      hash_.update(values.data_ptr(), static_cast<std::size_t>(values.numel() * item_size(values.scalar_type())));
  }
  void add(const Tensors& list) {
    for (const Tensor& t : list) add(t);
  }
  void text(const std::string& words) { hash_.update(words.data(), words.size()); }
  std::string hex() { return hash_.hex_digest().substr(0, 32); }

 private:
  cli::Sha256 hash_;
};

// Prints the digest of what f adds. An error is part of the result.
template <class F>
void line(const std::string& name, F f) {
  bool wanted = g_prefixes.empty();
  for (const std::string& prefix : g_prefixes) wanted = wanted || name.starts_with(prefix);
  if (!wanted) return;
  Digest digest;
  manual_seed(1);
  try {
    f(digest);
  } catch (const Error& e) {
    digest.text(concat("error: ", e.what()));
    if (std::getenv("GOLDEN_ERRORS") != nullptr) std::printf("# %s: %s\n", name.c_str(), e.what());
  }
  std::printf("%s %s\n", name.c_str(), digest.hex().c_str());
}

void add_cases(Digest& digest, const OpTest& test) {
  for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf}) {
    if (test.half_units == 0 && isReducedFloatingType(type)) continue;
    for (std::size_t i = 0; i < test.cases.size(); ++i) {
      Tensors inputs = make_inputs(test, i, type);
      for (Tensor& input : inputs) input = input.detach().to(g_device).requires_grad_(input.requires_grad());
      const Evaluation e = evaluate(test, inputs);
      digest.add(e.outputs);
      digest.add(e.gradients);
    }
  }
}

void operations() {
  for (const OpTest& test : all_cases()) line("op " + test.name, [&](Digest& digest) { add_cases(digest, test); });
  for (const auto list : {unary_cases, binary_cases})
    for (OpTest test : list()) {
      std::erase_if(test.cases, [](auto& inputs) {
        for (const InputSpec& input : inputs)
          if (input.sizes != inputs[0].sizes || input.distinct) return true;
        return inputs.empty();
      });
      if (test.cases.empty()) continue;
      test.cases.resize(1);
      for (InputSpec& input : test.cases[0]) input.sizes = {1003};
      line("wide " + test.name, [&](Digest& digest) { add_cases(digest, test); });
    }
}

// `f` of inputs of these sizes, and its gradients.
template <class F>
void large(const std::string& name, std::vector<std::vector<int64_t>> sizes, F f, bool half = true) {
  OpTest test{.name = name, .torch = "", .fn = [f](const Tensors& x) { return Tensors{f(x)}; }, .cases = {{}}};
  test.half_units = half ? 8 : 0;
  for (std::vector<int64_t>& s : sizes) test.cases[0].push_back(real(std::move(s)));
  line("large " + name, [&](Digest& digest) { add_cases(digest, test); });
}

void large_results() {
  for (const int64_t n : {1, 7, 16, 33, 100, 1000, 10007}) {
    large(concat("sum ", n), {{3, n}}, [](const Tensors& x) { return x[0].sum(1); });
    large(concat("sum of rows ", n), {{n, 5}}, [](const Tensors& x) { return x[0].sum(0); });
    large(concat("mean ", n), {{n}}, [](const Tensors& x) { return x[0].mean(); });
    large(concat("var ", n), {{3, n}}, [](const Tensors& x) { return x[0].var(1); });
    large(concat("norm ", n), {{3, n}}, [](const Tensors& x) { return x[0].norm(2, 1); });
    large(concat("cumsum ", n), {{3, n}}, [](const Tensors& x) { return x[0].cumsum(1); });
    large(concat("logsumexp ", n), {{3, n}}, [](const Tensors& x) { return x[0].logsumexp(1); });
    large(concat("softmax ", n), {{3, n}}, [](const Tensors& x) { return x[0].softmax(1); });
    large(concat("log_softmax ", n), {{3, n}}, [](const Tensors& x) { return x[0].log_softmax(1); });
    large(concat("layer_norm ", n), {{3, n}, {n}, {n}},
          [n](const Tensors& x) { return layer_norm(x[0], {n}, x[1], x[2]); });
    large(concat("batch_norm ", n), {{2, 3, n}, {3}, {3}},
          [](const Tensors& x) { return batch_norm(x[0], {}, {}, x[1], x[2], true, 0.1, 1e-5); });
    large(concat("cross_entropy ", n), {{3, n}}, [n](const Tensors& x) {
      return nn::functional::cross_entropy(x[0], tensor({int64_t{0}, n / 2, n - 1}).to(g_device));
    });
    large(concat("dot ", n), {{n}, {n}}, [](const Tensors& x) { return x[0].dot(x[1]); });
    large(concat("mv ", n), {{37, n}, {n}}, [](const Tensors& x) { return x[0].mv(x[1]); });
  }
  const int64_t products[][3] = {{1, 300, 700}, {2, 300, 700},  {5, 400, 300},  {16, 17, 15},   {33, 47, 65},
                                 {64, 64, 64},  {100, 513, 40}, {70, 1100, 90}, {40, 60, 1030}, {150, 600, 300}};
  for (const auto& [m, k, n] : products) {
    const std::string size = concat(m, " x ", k, " x ", n);
    large("matmul " + size, {{m, k}, {k, n}}, [](const Tensors& x) { return x[0].matmul(x[1]); });
    large("linear " + size, {{m, k}, {n, k}, {n}}, [](const Tensors& x) { return linear(x[0], x[1], x[2]); });
  }
  // batch, channels, height, width, outputs, kernel, stride, padding, groups
  const int64_t convolutions[][9] = {
      {2, 3, 32, 32, 16, 3, 1, 1, 1},   {1, 3, 30, 30, 64, 7, 2, 3, 1},    {20, 1, 28, 28, 6, 5, 1, 2, 1},
      {20, 6, 14, 14, 16, 5, 1, 0, 1},  {33, 8, 9, 9, 12, 3, 1, 1, 1},     {2, 64, 28, 28, 64, 3, 1, 1, 1},
      {2, 64, 28, 28, 128, 3, 2, 1, 1}, {1, 128, 14, 14, 128, 3, 1, 1, 1}, {1, 256, 7, 7, 256, 3, 1, 1, 1},
      {2, 64, 28, 28, 128, 1, 2, 0, 1}, {2, 64, 28, 28, 256, 1, 1, 0, 1},  {1, 256, 14, 14, 64, 1, 1, 0, 1},
      {2, 256, 7, 7, 512, 1, 1, 0, 1},  {2, 32, 28, 28, 32, 3, 1, 1, 32},  {2, 32, 15, 15, 32, 3, 2, 1, 32},
      {3, 32, 14, 14, 48, 3, 1, 1, 4},  {2, 16, 40, 40, 24, 3, 1, 2, 1},   {16, 24, 10, 10, 40, 3, 1, 1, 1},
      {1, 512, 4, 4, 512, 3, 1, 1, 1},  {4, 20, 20, 20, 70, 3, 1, 1, 1},   {8, 128, 14, 14, 130, 3, 1, 1, 1}};
  for (const auto& [batch, in, height, width, out, kernel, stride, padding, groups] : convolutions)
    large(concat("conv2d ", batch, " ", in, " ", height, " ", out, " ", kernel, " ", stride, " ", groups),
          {{batch, in, height, width}, {out, in / groups, kernel, kernel}, {out}},
          [s = stride, p = padding, g = groups](const Tensors& x) { return conv2d(x[0], x[1], x[2], s, p, 1, g); });
  large("conv_transpose2d", {{4, 32, 14, 14}, {32, 16, 4, 4}, {16}},
        [](const Tensors& x) { return conv_transpose2d(x[0], x[1], x[2], 2, 1); });
  large("conv1d", {{4, 32, 200}, {64, 32, 3}, {64}},
        [](const Tensors& x) { return conv1d(x[0], x[1], x[2], 1, 2, 2); });
  large("conv3d", {{2, 8, 6, 12, 12}, {16, 8, 3, 3, 3}, {16}},
        [](const Tensors& x) { return conv3d(x[0], x[1], x[2], 1, 1); });
  large("max_pool2d", {{2, 8, 33, 33}}, [](const Tensors& x) { return max_pool2d(x[0], 3, 2, 1); });
  large("avg_pool2d", {{2, 8, 33, 33}}, [](const Tensors& x) { return avg_pool2d(x[0], 3, 2, 1); });
  large("attention", {{2, 3, 65, 32}, {2, 3, 65, 32}, {2, 3, 65, 32}},
        [](const Tensors& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {}, 0, true); });
}

void random_numbers() {
  const auto draw = [](const std::string& name, auto f) {
    line("random " + name, [&](Digest& digest) {
      for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf})
        digest.add(f(TensorOptions(type).device(g_device)));
    });
  };
  draw("rand", [](TensorOptions t) { return rand({1003}, t); });
  draw("randn", [](TensorOptions t) { return randn({1003}, t); });
  draw("randint", [](TensorOptions t) { return randint(1000, {1003}, t.dtype(kLong)); });
  draw("randperm", [](TensorOptions t) { return randperm(1003, t.dtype(kLong)); });
  draw("bernoulli", [](TensorOptions t) { return empty({1003}, t).bernoulli_(0.3); });
  draw("exponential", [](TensorOptions t) { return empty({1003}, t).exponential_(1.5); });
  draw("geometric", [](TensorOptions t) { return empty({1003}, t).geometric_(0.3); });
  draw("cauchy", [](TensorOptions t) { return empty({1003}, t).cauchy_(0, 1); });
  draw("log_normal", [](TensorOptions t) { return empty({1003}, t).log_normal_(0, 1); });
  draw("normal", [](TensorOptions t) { return empty({1003}, t).normal_(1, 2); });
  draw("uniform", [](TensorOptions t) { return empty({1003}, t).uniform_(-1, 2); });
  draw("multinomial", [](TensorOptions t) { return rand({20}, t.dtype(kFloat)).multinomial(1000, true); });
  draw("poisson", [](TensorOptions t) { return poisson(rand({1003}, t) * 20); });
  draw("dropout", [](TensorOptions t) { return dropout(rand({1003}, t), 0.3, true); });
}

// Adds the parameters and buffers after `steps` steps.
template <class F>
void train(const std::string& name, nn::Module& model, optim::Optimizer& optimizer, int steps, F loss) {
  line("train " + name, [&](Digest& digest) {
    for (int step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      const Tensor value = loss();
      value.backward();
      optimizer.step();
      digest.add(value);
    }
    for (const Tensor& p : model.parameters()) digest.add(p);
    for (const Tensor& b : model.buffers()) digest.add(b);
  });
}

void training() {
  {
    manual_seed(2);
    nn::Sequential net = models::lenet();
    net->to(g_device);
    optim::SGD sgd(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
    const Tensor x = randn({64, 1, 28, 28}).to(g_device), y = randint(10, {64}, kLong).to(g_device);
    train("lenet", *net, sgd, 20, [&] { return nn::functional::cross_entropy(net->forward(x), y); });
  }
  {
    manual_seed(2);
    models::ResNet net = models::resnet18(10);
    net->to(g_device);
    optim::SGD sgd(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
    const Tensor x = randn({4, 3, 64, 64}).to(g_device), y = randint(10, {4}, kLong).to(g_device);
    train("resnet18", *net, sgd, 20, [&] { return nn::functional::cross_entropy(net->forward(x), y); });
  }
  {
    manual_seed(2);
    nn::LSTM lstm(nn::LSTMOptions(24, 40).num_layers(2).batch_first(true));
    lstm->to(g_device);
    optim::Adam adam(lstm->parameters(), optim::AdamOptions(1e-2));
    const Tensor x = randn({8, 30, 24}).to(g_device);
    train("lstm", *lstm, adam, 20, [&] { return std::get<0>(lstm->forward(x)).pow(2).mean(); });
  }
  {
    manual_seed(2);
    models::GPT2LMHeadModel net(models::GPT2Options().n_layer(2).n_head(2).n_embd(64).vocab_size(300).n_positions(64));
    net->to(g_device);
    optim::AdamW adam(net->parameters(), optim::AdamWOptions(1e-3));
    const Tensor text = randint(300, {4, 48}, kLong).to(g_device);
    train("gpt2", *net, adam, 20, [&] {
      return nn::functional::cross_entropy(net->forward(text).reshape({-1, 300}), text.roll(-1, 1).reshape({-1}));
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() > 1 && words[0] == "--device") {
    g_device = Device(words[1]);
    words.erase(words.begin(), words.begin() + 2);
  }
  g_prefixes = words;
  operations();
  large_results();
  random_numbers();
  training();
}
