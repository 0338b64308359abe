// Model parallelism: parts of one model on different devices; forward moves the activations.
#include <doctest/doctest.h>

#include "tandem/parallel/parallel.h"
#include "tandem/testing.h"
#include "tandem/tests/parallel/models.h"

using namespace tandem;
using testing::identical;

namespace {

// Computes on the second device and comes back; the skip connection stays on the first.
struct SplitImpl : nn::Module {
  SplitImpl(Device first_device, Device second_device) : first(first_device), second(second_device) {
    a = register_module("a", nn::Linear(6, 8));
    b = register_module("b", nn::Linear(8, 6));
    c = register_module("c", nn::Linear(6, 2));
    a->to(first);
    b->to(second);
    c->to(first);
  }
  Tensor forward(Tensor x) {
    x = x.to(first);
    return c(b(tanh(a(x)).to(second)).to(first) + x);
  }
  Device first, second;
  nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
};
TANDEM_MODULE(Split);

}  // namespace

TEST_CASE("a model on two devices has the same bits as on one device at every step") {
  LogicalDevices two(2);
  manual_seed(1);
  Split split(cpu_device(0), cpu_device(1)), whole(cpu_device(0), cpu_device(0));
  whole->load_state_dict(split->state_dict());
  optim::SGD moved(split->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::SGD plain(whole->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const Tensor x = randn({5, 6});
  for (int i = 0; i < 5; ++i) {
    moved.zero_grad();
    plain.zero_grad();
    const Tensor loss = split(x).pow(2).sum();
    CHECK(identical(loss, whole(x).pow(2).sum()));
    loss.backward();
    whole(x).pow(2).sum().backward();
    for (std::size_t k = 0; k < split->parameters().size(); ++k) {
      const Tensor p = split->parameters()[k];
      CHECK(p.grad().device() == p.device());
      CHECK(identical(p.grad(), whole->parameters()[k].grad()));
    }
    moved.step();
    plain.step();
  }
}

TEST_CASE("DataParallel rejects a model that is on several devices") {
  LogicalDevices two(2);
  Split split(cpu_device(0), cpu_device(1));
  nn::DataParallel model(split, cpu_devices(2));
  CHECK_THROWS_WITH_AS(model(ones({4, 6})),
                       doctest::Contains("parameters and buffers must be on one device, but a.weight is on "
                                         "cpu:0 and b.weight on cpu:1"),
                       Error);
}
