// One program written against LibTorch's API, compiled for LibTorch and for Tandem (against.py), to compare
// their speed at the same work. Prints one line per measurement: its name and the median of its repetitions
// in microseconds.
//
//   speed THREADS
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

struct LeNet : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::avg_pool2d(torch::relu(conv1->forward(x)), 2);
    x = torch::avg_pool2d(torch::relu(conv2->forward(x)), 2);
    return fc2->forward(torch::relu(fc1->forward(x.flatten(1))));
  }
  torch::nn::Conv2d conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 20, 3)));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(20, 50, 5)));
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(800, 128));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(128, 10));
};

struct Mlp : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return fc2->forward(torch::relu(fc1->forward(x))); }
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(20, 32));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(32, 5));
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Nine repetitions of at least 50 ms each, after one warm-up call.
void measure(const char* name, const std::function<void()>& work) {
  work();
  int calls = 1;
  std::vector<double> times;
  while (times.size() < 9) {
    const double begin = seconds();
    for (int i = 0; i < calls; ++i) work();
    const double spent = seconds() - begin;
    if (spent < 0.05)
      calls = static_cast<int>(calls * std::min(100.0, 0.06 / std::max(spent, 1e-6))) + 1;
    else
      times.push_back(spent / calls);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  std::printf("%s %.4f\n", name, times[4] * 1e6);
  std::fflush(stdout);
}

template <class Net>
void measure_training(const char* name, torch::Tensor x, int64_t classes) {
  torch::manual_seed(0);
  auto net = std::make_shared<Net>();
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01));
  torch::Tensor y = torch::randint(classes, {x.size(0)}, torch::kLong);
  measure(name, [&] {
    optimizer.zero_grad();
    torch::cross_entropy_loss(net->forward(x), y).backward();
    optimizer.step();
  });
}

int main(int argc, char** argv) {
  torch::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  measure_training<LeNet>("lenet", torch::rand({256, 1, 28, 28}), 10);
  measure_training<Mlp>("mlp", torch::rand({16, 20}), 5);
  const torch::Tensor w = torch::ones({8}), x = torch::ones({8}, torch::requires_grad());
  {
    torch::NoGradGuard guard;
    measure("add", [&] { torch::Tensor y = w + w; });
  }
  measure("add_recorded", [&] { torch::Tensor y = x + w; });
  measure("chain", [&] {
    torch::Tensor y = x;
    for (int i = 0; i < 20; ++i) y = y * w;
    y.sum().backward();
  });
  const torch::Tensor a = torch::rand({512, 512}), b = torch::rand({512, 512});
  torch::NoGradGuard guard;
  measure("mm", [&] { torch::Tensor y = torch::mm(a, b); });
  const torch::Tensor large = torch::rand({16 << 20});
  measure("relu", [&] { torch::Tensor y = torch::relu(large); });
  measure("sum", [&] { torch::Tensor y = large.sum(); });
}
