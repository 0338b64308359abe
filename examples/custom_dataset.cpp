// A custom data set: points on two spirals, generated on demand and loaded by worker threads.
//
//   custom_dataset [DEVICE]    cpu:0, cuda:0, ...
#include <cmath>
#include <cstdio>
#include <string_view>

#include "tandem/tandem.h"

using namespace tandem;

// Example i: a point [2] and the index of its spiral, 0 or 1.
class Spirals : public data::datasets::Dataset<Spirals> {
 public:
  explicit Spirals(std::size_t count) : count_(count) {}
  data::Example<> get(std::size_t index) override {
    const double t = 0.5 + 4 * static_cast<double>(index / 2) / static_cast<double>(count_ / 2);
    const double angle = t + (index % 2 == 0 ? 0 : 3.14159265358979);
    return {tensor({0.3 * t * std::cos(angle), 0.3 * t * std::sin(angle)}).to(kFloat),
            tensor(static_cast<int64_t>(index % 2))};
  }
  optional<std::size_t> size() const override { return count_; }

 private:
  std::size_t count_;
};

constexpr const char* kUsage = "usage: custom_dataset [DEVICE]      cpu:0, cuda:0, ...; default: cpu:0\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const Device device(argc > 1 ? argv[1] : "cpu");
  manual_seed(1);
  auto loader = data::make_data_loader(Spirals(1000).map(data::transforms::Stack<>()),
                                       data::DataLoaderOptions().batch_size(50).workers(2));
  nn::Sequential net(nn::Linear(2, 32), nn::Tanh(), nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 2));
  net->to(device);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(0.01));
  for (int epoch = 1; epoch <= 30; ++epoch) {
    double correct = 0, seen = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const Tensor output = net->forward(batch.data.to(device)), target = batch.target.to(device);
      cross_entropy_loss(output, target).backward();
      optimizer.step();
      correct += (output.argmax(1) == target).sum().item<double>();
      seen += static_cast<double>(batch.target.numel());
    }
    if (epoch % 5 == 0) std::printf("epoch %2d: accuracy %.3f\n", epoch, correct / seen);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
