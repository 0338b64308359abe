// A program written for LibTorch.
#include <torch/torch.h>

#include <iostream>

#ifdef TORCH_OF_PACKAGE
static_assert(std::string_view(TORCH_VERSION) == TORCH_OF_PACKAGE);
#endif

struct Net : torch::nn::Module {
  Net() : fc1(register_module("fc1", torch::nn::Linear(4, 8))), fc2(register_module("fc2", torch::nn::Linear(8, 3))) {}
  torch::Tensor forward(torch::Tensor x) { return torch::log_softmax(fc2->forward(torch::relu(fc1->forward(x))), 1); }
  torch::nn::Linear fc1, fc2;
};

int main() {
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const torch::Tensor x = torch::rand({6, 4}), y = torch::arange(6) % 3;
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    torch::Tensor loss = torch::nll_loss(net.forward(x), y);
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  const std::vector<char> file = torch::pickle_save(torch::IValue("hello"));
  std::cout << torch::zeros({2, 3}).sizes() << (last < first ? " learns " : " does not learn ")
            << torch::pickle_load(file).toStringRef() << std::endl;
}
