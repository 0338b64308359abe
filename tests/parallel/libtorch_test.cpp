// A LibTorch program that uses several devices; it includes only <torch/torch.h>.
#include <doctest/doctest.h>
#include <torch/torch.h>

namespace {

class NetImpl : public torch::nn::Cloneable<NetImpl> {
 public:
  NetImpl() { reset(); }
  void reset() override { fc = register_module("fc", torch::nn::Linear(4, 3)); }
  torch::Tensor forward(torch::Tensor x) { return torch::relu(fc(x)); }
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Net);

}  // namespace

TEST_CASE("torch::nn::parallel and torch::autograd::Scatter, Gather") {
  tandem::cpu::set_device_count(2);
  torch::manual_seed(0);
  const std::vector<torch::Device> devices{torch::Device(torch::kCPU, 0), torch::Device(torch::kCPU, 1)};
  Net net;
  const torch::Tensor input = torch::ones({10, 4});

  auto output = torch::nn::parallel::data_parallel(net, input, devices, devices[1]);
  REQUIRE(output.device() == devices[1]);
  output.mean().backward();
  REQUIRE(net->fc->weight.grad().device() == devices[0]);

  auto replicas = torch::nn::parallel::replicate(net, devices);
  torch::autograd::Scatter scatter(devices);
  const auto pieces = scatter.apply({input});
  const auto outputs = torch::nn::parallel::parallel_apply(replicas, pieces, devices);
  torch::autograd::Gather gather(devices[0]);
  REQUIRE(torch::allclose(gather.apply({outputs[0], outputs[1]})[0], net(input)));
  tandem::cpu::set_device_count(1);
}
