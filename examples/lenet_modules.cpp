// The same LeNet with modules and an optimizer; saves the parameters.
//
//   lenet_modules [EPOCHS [DEVICE [FILE.safetensors]]]    DEVICE: cpu:0, cuda:0, ...
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/datasets/image_data.h"
#include "tandem/datasets/loader.h"
#include "tandem/tandem.h"

using namespace tandem;

struct LeNetImpl : nn::Module {
  LeNetImpl() {
    conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 20, 3)));
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(20, 50, 5)));
    fc1 = register_module("fc1", nn::Linear(800, 128));
    fc2 = register_module("fc2", nn::Linear(128, 10));
  }
  Tensor forward(Tensor x) {
    x = avg_pool2d(relu(conv1(x)), 2);
    x = avg_pool2d(relu(conv2(x)), 2);
    return fc2(relu(fc1(x.flatten(1))));
  }
  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::Linear fc1{nullptr}, fc2{nullptr};
};
TANDEM_MODULE(LeNet);

Tensor as_input(const Tensor& images, Device device) { return images.to(device).unsqueeze(1).to(kFloat).div_(255); }

constexpr const char* kUsage =
    "usage: lenet_modules [EPOCHS [DEVICE [FILE.safetensors]]]\n"
    "  EPOCHS    passes over Fashion-MNIST (10)\n"
    "  DEVICE    cpu:0, cuda:0, ... (cpu:0)\n"
    "  FILE      where to save the parameters\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 10;
  const Device device(argc > 2 ? argv[2] : "cpu");
  manual_seed(0);
  const data::ImageDataPair data = data::read_image_data(data::find_dataset("fashion-mnist"));
  LeNet net;
  net->to(device);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::StepLR schedule(optimizer, /*step_size=*/5, /*gamma=*/0.3);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double loss_sum = 0;
    data::BatchLoader loader({data.train.images, data.train.labels},
                             {.batch_size = 256, .shuffle = true, .workers = 1, .epoch = epoch});
    while (auto batch = loader.next()) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy_loss(net(as_input((*batch)[0], device)), (*batch)[1].to(device));
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>() * static_cast<double>((*batch)[1].size(0));
    }
    schedule.step();
    NoGradGuard guard;
    const Tensor output = net(as_input(data.test.images, device)).cpu();
    const double correct = (output.argmax(1) == data.test.labels).to(kDouble).mean().item<double>();
    std::printf("epoch %d: loss %.4f, test accuracy %.4f\n", epoch + 1,
                loss_sum / static_cast<double>(data.train.images.size(0)), correct);
    std::fflush(stdout);
  }
  if (argc > 3) save(net, argv[3]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
