// The network and training loop of LibTorch's MNIST example, on synthetic images.
#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace {

struct Net : torch::nn::Module {
  Net()
      : conv1(torch::nn::Conv2dOptions(1, 10, /*kernel_size=*/5)),
        conv2(torch::nn::Conv2dOptions(10, 20, /*kernel_size=*/5)),
        fc1(320, 50),
        fc2(50, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv2_drop", conv2_drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2_drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 320});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.5, /*training=*/is_training());
    x = fc2->forward(x);
    return torch::log_softmax(x, /*dim=*/1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::Dropout2d conv2_drop;
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

}  // namespace

TEST_CASE("the MNIST example learns") {
  torch::manual_seed(1);
  torch::DeviceType device_type = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  torch::Device device(device_type);

  Net model;
  model.to(device);
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.1).momentum(0.5));

  // Class k has a bright row k.
  auto targets = torch::arange(10, torch::kLong).repeat({2}).to(device);
  auto data = torch::zeros({20, 1, 28, 28}, torch::TensorOptions().dtype(torch::kFloat32).device(device));
  for (int64_t i = 0; i < 20; ++i) data[i][0][2 + 2 * (i % 10)].fill_(1);

  model.train();
  float first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();
    (step == 0 ? first : last) = loss.template item<float>();
  }
  CHECK(last < 0.6f * first);

  torch::NoGradGuard no_grad;
  model.eval();
  auto output = model.forward(data);
  double test_loss = torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
  CHECK(test_loss / 20 < 0.5 * first);
  auto pred = output.argmax(1);
  CHECK(pred.eq(targets).sum().template item<int64_t>() > 15);
}
