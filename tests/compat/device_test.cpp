// Devices as programs written for LibTorch compare and print them. These cases also pass with LibTorch.
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

#include <unordered_map>

namespace {

std::string text_of(const torch::Device& device) {
  std::ostringstream text;
  text << device;
  return text.str();
}

}  // namespace

TEST_CASE("the device of a tensor on the CPU is equal to every way to write the CPU without an index") {
  const auto x = torch::ones({2});
  CHECK(x.device() == torch::kCPU);
  CHECK(torch::kCPU == x.device());
  CHECK(x.device() == torch::Device("cpu"));
  CHECK(x.device() == torch::Device(std::string("cpu")));
  CHECK(x.device() == torch::Device(torch::kCPU));
  CHECK(x.device() == torch::Device(torch::kCPU, -1));
  CHECK(x.device() == x.options().device());
  CHECK(x.device() == torch::TensorOptions().device());
  CHECK(x.device() == torch::TensorOptions(torch::kCPU).device());
  CHECK(x.device() == x.to("cpu").device());
  CHECK_FALSE(x.device() != torch::kCPU);
  CHECK(x.device().type() == torch::kCPU);
  CHECK(torch::ones({2}, torch::Device("cpu:0")).device() == torch::kCPU);
  CHECK(x.to(torch::Device(torch::kCPU, 0)).device() == torch::kCPU);
  CHECK(x.get_device() == -1);
}

TEST_CASE("devices of modules and optimizer state are equal to the CPU") {
  torch::nn::Linear net(2, 2);
  net->to(torch::kCPU);
  for (const auto& p : net->parameters()) CHECK(p.device() == torch::kCPU);
  torch::nn::BatchNorm1d norm(2);
  for (const auto& b : norm->buffers()) CHECK(b.device() == torch::Device("cpu"));
  net->forward(torch::ones({1, 2})).sum().backward();
  CHECK(net->weight.grad().device() == torch::kCPU);
}

TEST_CASE("the CPU differs from every other type") {
  const auto x = torch::ones({2});
  CHECK(x.device() != torch::kCUDA);
  CHECK(x.device() != torch::Device("cuda:0"));
  CHECK(x.device() != torch::kMPS);
  CHECK(x.device() != torch::kXPU);
  CHECK(torch::Device("cuda") != torch::Device("cuda:0"));
  CHECK(torch::Device("cuda") == torch::kCUDA);
  CHECK(torch::Device("cuda:0") != torch::kCUDA);
  CHECK(torch::Device("cuda:0") == torch::Device(torch::kCUDA, 0));
}

TEST_CASE("equal devices are the same key") {
  std::unordered_map<torch::Device, int> uses;
  ++uses[torch::ones({2}).device()];
  ++uses[torch::kCPU];
  ++uses[torch::Device("cpu")];
  CHECK(uses.size() == 1);
  CHECK(std::hash<torch::Device>()(torch::Device("cpu")) == std::hash<torch::Device>()(torch::ones({1}).device()));
}

TEST_CASE("the only CPU device is printed without an index") {
  const auto x = torch::ones({2});
  CHECK(text_of(x.device()) == "cpu");
  CHECK(x.device().str() == "cpu");
  CHECK(text_of(torch::ones({2}, torch::Device("cpu:0")).device()) == "cpu");
  CHECK(text_of(torch::kCUDA) == "cuda");
  CHECK(text_of(torch::Device("cuda:1")) == "cuda:1");
}
