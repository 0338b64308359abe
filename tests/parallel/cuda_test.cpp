// Replicas on CUDA devices: the same code as on logical CPU devices. Skipped with fewer than two devices.
#include <doctest/doctest.h>

#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/parallel/models.h"

using namespace tandem;
using testing::close;
using testing::identical;

namespace {

const std::vector<Device>& two_devices() {
  static const std::vector<Device> devices{"cuda:0", "cuda:1"};
  return devices;
}

// Counts its forward calls and keeps a running mean.
struct CountedImpl : nn::Module {
  CountedImpl() {
    net = register_module("net", Mlp());
    count = register_buffer("count", zeros({}, kLong));
    mean = register_buffer("mean", zeros({5}));
  }
  Tensor forward(Tensor x) {
    count.add_(1);
    mean.mul_(0.5).add_(x.detach().mean(0), 0.5);
    return net(x + mean);
  }
  Mlp net{nullptr};
  Tensor count, mean;
};
TANDEM_MODULE(Counted);

void descend(const nn::Module& module) {
  NoGradGuard no_grad;
  for (Tensor p : module.parameters()) p.sub_(p.grad() * 0.05);
}

}  // namespace

TEST_CASE("DataParallel on two CUDA devices: gradients, statistics and bits") {
  if (!has_devices(2)) return;
  for (const Device& root : two_devices()) {
    manual_seed(1);
    Counted net;
    Mlp alone;
    alone->load_state_dict(net->net->state_dict());
    net->to(root);
    nn::DataParallel model(net, two_devices());
    for (int i = 0; i < 4; ++i) {
      const Tensor x = randn({7, 5});
      // A replica uses the root's mean from the previous steps and its own piece.
      const Tensor before = net->mean.cpu();
      const auto with_mean = [&](const Tensor& piece) { return piece + (before * 0.5 + piece.mean(0, false) * 0.5); };
      model->zero_grad();
      alone->zero_grad();
      const Tensor output = model(x.to(root));
      CHECK(output.device() == root);
      output.pow(2).sum().backward();
      alone(cat({with_mean(x.narrow(0, 0, 4)), with_mean(x.narrow(0, 4, 3))})).pow(2).sum().backward();
      const auto got = gradients(*net), expected = gradients(*alone);
      for (std::size_t k = 0; k < got.size(); ++k) CHECK(close(got[k].cpu(), expected[k], 1e-4));
      CHECK(net->count.item<int64_t>() == i + 1);
      descend(*net);
      descend(*alone);
    }
    model->zero_grad();
    const Tensor x = randn({7, 5}), state = net->mean.clone();
    model(x).pow(2).sum().backward();
    const auto first = gradients(*net);
    model->zero_grad();
    net->mean.copy_(state);
    model(x).pow(2).sum().backward();
    for (std::size_t k = 0; k < first.size(); ++k) CHECK(identical(gradients(*net)[k], first[k]));
  }
}

TEST_CASE("no_sync, and a failing replica, on CUDA devices") {
  if (!has_devices(2)) return;
  manual_seed(2);
  Mlp net;
  net->to("cuda:0");
  nn::DataParallel model(net, two_devices());
  const Tensor x = randn({6, 5});
  model(x).pow(2).sum().backward();
  model(x).pow(2).sum().backward();
  const auto expected = gradients(*net);
  model->zero_grad();
  {
    const auto guard = model->no_sync();
    model(x).pow(2).sum().backward();
    model(x).pow(2).sum().backward();
  }
  for (std::size_t k = 0; k < expected.size(); ++k) CHECK(close(gradients(*net)[k].cpu(), expected[k].cpu(), 1e-4));
  CHECK_THROWS_WITH_AS(model(ones({6, 4})), doctest::Contains("replica 0 on cuda:0: "), Error);
  CHECK(close(model(x).detach().cpu(), net(x.to(two_devices()[0])).detach().cpu(), 1e-5));
}

TEST_CASE("sums in the optimizer's pass equal separate sums, on CUDA devices") {
  if (!has_devices(2)) return;
  for (const Device& root : two_devices())
    for (const bool one_by_one : {false, true}) {
      const auto run = [&](bool together) {
        manual_seed(3);
        Mlp net;
        parallel::ParameterServer server(net, two_devices(), {.root = root});
        optim::SGD optimizer(one_by_one ? net->parameters() : server.parameters(),
                             optim::SGDOptions(0.05).momentum(0.9));
        const auto loss = [](MlpImpl& mlp, const Tensor& x, const Tensor& y) {
          return (mlp.forward(x) - y).pow(2).mean();
        };
        std::vector<Tensor> out;
        for (int i = 0; i < 5; ++i) {
          const Tensor x = randn({7, 5}), y = randn({7, 1});
          if (together) {
            server.step(optimizer, x, y, loss);
          } else {
            server.backward({x, y}, loss);
            server.update(optimizer);
          }
          out.push_back(server.parameters()[0].grad().clone());
          out.push_back(server.parameters()[0].detach().clone());
        }
        return out;
      };
      const std::vector<Tensor> together = run(true), apart = run(false);
      for (std::size_t i = 0; i < apart.size(); ++i) CHECK(identical(together[i], apart[i]));
      CHECK(!identical(together[1], together[3]));
    }
}
