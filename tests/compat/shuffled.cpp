// Prints the losses of a training with a shuffled loader and dropout, of Tandem in GeneratorMode::kPyTorch. shuffled.txt
// holds what LibTorch prints; printed_test.py compares. Four digits: sums have another order.
#include <torch/torch.h>

#include <cstdio>

namespace {

namespace nn = torch::nn;
namespace data = torch::data;
using torch::Tensor;

// Of 64 images, each of four classes has its own quarter brighter.
struct Quarters : data::datasets::Dataset<Quarters> {
  data::Example<> get(std::size_t index) override {
    const auto i = static_cast<int64_t>(index), label = i * 7 % 4;
    Tensor image = (torch::arange(64) * (i + 3) % 17).to(torch::kFloat).reshape({1, 8, 8}) / 17 - 0.5;
    image.slice(1, label / 2 * 4, label / 2 * 4 + 4).slice(2, label % 2 * 4, label % 2 * 4 + 4).add_(0.5);
    return {image, torch::tensor(label)};
  }
  torch::optional<std::size_t> size() const override { return 64; }
};

struct Net : nn::Module {
  Tensor forward(Tensor x) {
    x = torch::max_pool2d(torch::relu(conv->forward(x)), 2);
    x = torch::relu(hidden->forward(feature_dropout->forward(x).flatten(1)));
    return torch::log_softmax(out->forward(dropout->forward(x)), 1);
  }
  nn::Conv2d conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 6, 3).padding(1)));
  nn::Dropout2d feature_dropout = register_module("feature_dropout", nn::Dropout2d(0.2));
  nn::Linear hidden = register_module("hidden", nn::Linear(96, 16));
  nn::Dropout dropout = register_module("dropout", nn::Dropout(0.5));
  nn::Linear out = register_module("out", nn::Linear(16, 4));
};

}  // namespace

int main() {
#ifdef TANDEM_VERSION_MAJOR
  tandem::set_generator_mode(tandem::GeneratorMode::kPyTorch);
#endif
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(Quarters().map(data::transforms::Stack<>()),
                                                                      data::DataLoaderOptions().batch_size(8));
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& batch : *loader) {
      optimizer.zero_grad();
      const Tensor loss = torch::nll_loss(net.forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      std::printf("loss: %.4f of", loss.item<double>());
      for (int64_t i = 0; i < batch.target.numel(); ++i) std::printf(" %d", batch.target[i].item<int>());
      std::printf("\n");
    }
  }
  std::printf("next: %.6f\n", torch::rand({1}).item<double>());
}
