// A program written for LibTorch: LeNet learns six images.
#include <torch/torch.h>

#include <iostream>

#ifdef TORCH_OF_PACKAGE
static_assert(std::string_view(TORCH_VERSION) == TORCH_OF_PACKAGE);
#endif

struct LeNet : torch::nn::Module {
  LeNet()
      : conv1(register_module("conv1", torch::nn::Conv2d(1, 6, 5))),
        conv2(register_module("conv2", torch::nn::Conv2d(6, 16, 5))),
        fc1(register_module("fc1", torch::nn::Linear(256, 84))),
        fc2(register_module("fc2", torch::nn::Linear(84, 10))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1->forward(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2->forward(x)), 2).flatten(1);
    return torch::log_softmax(fc2->forward(torch::relu(fc1->forward(x))), 1);
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};

int main() {
  torch::manual_seed(1);
  LeNet net;
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const torch::Tensor x = torch::rand({6, 1, 28, 28}), y = torch::arange(6);
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    torch::Tensor loss = torch::nll_loss(net.forward(x), y);
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  const torch::Tensor inverse = torch::inverse(torch::eye(3) * 4);
  const std::vector<char> file = torch::pickle_save(torch::IValue("hello"));
  std::cout << inverse.sizes() << (last < first ? " learns " : " does not learn ")
            << torch::pickle_load(file).toStringRef() << std::endl;
}
