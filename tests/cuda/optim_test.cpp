// Optimizers on a CUDA device: the CPU's values and states, lists longer than one launch, gradients of several devices.
#include <doctest/doctest.h>

#include <sstream>

#include "tandem/tests/cuda/skip.h"
#include "tandem/tests/cuda/tolerance.h"
#include "tandem/tests/nn/optim/step_with.h"

using namespace tandem;

namespace {

template <class Optimizer, class Options>
void expect_cpu_values(const Options& options, ScalarType dtype) {
  // More tensors than one launch takes, of lengths with and without a remainder, some not aligned to 16
  // bytes.
  std::vector<Tensor> here, there;
  const Tensor memory = zeros({4000}, TensorOptions(dtype).device("cuda:0"));
  for (int64_t i = 0, at = 0; i < 200; ++i) {
    const int64_t size = i % 9;
    here.push_back(randn({size}, TensorOptions(dtype)).requires_grad_());
    Tensor place = memory.narrow(0, at, size);
    place.copy_(here.back().detach());
    there.push_back(place.detach().requires_grad_());
    at += size + 1;
  }
  here.push_back(randn({5003}, TensorOptions(dtype)).requires_grad_());
  there.push_back(here.back().detach().to(Device("cuda:0")).requires_grad_());
  Optimizer one(here, options), two(there, options);
  for (int step = 0; step < 4; ++step) {
    if (step == 2) {  // goes on with the CPU's state
      std::stringstream file;
      save(one, file);
      load(two, file);
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      here[i].mutable_grad() = randn({here[i].numel()}, TensorOptions(dtype));
      there[i].mutable_grad() = here[i].grad().to(Device("cuda:0"));
    }
    one.step();
    two.step();
  }
  // The GPU contracts multiply and add where the host compiler may not.
  const double tolerance = dtype == kFloat ? 1e-5 : 1e-13;
  for (std::size_t i = 0; i < here.size(); ++i) {
    std::string why;
    const bool close =
        testing::close(there[i].detach().to(Device("cpu:0")), here[i].detach(), unless_strict(tolerance), &why);
    CHECK_MESSAGE(close, why);
  }
}

}  // namespace

TEST_CASE("optimizers compute the CPU's values, also from a state of the CPU") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble}) {
    expect_cpu_values<optim::SGD>(optim::SGDOptions(0.1), dtype);
    expect_cpu_values<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true), dtype);
    expect_cpu_values<optim::Adam>(optim::AdamOptions(0.1).amsgrad(true), dtype);
    expect_cpu_values<optim::AdamW>(optim::AdamWOptions(0.1), dtype);
    expect_cpu_values<optim::RMSprop>(optim::RMSpropOptions(0.1).centered(true), dtype);
    expect_cpu_values<optim::RMSprop>(optim::RMSpropOptions(0.1).momentum(0.9).centered(true), dtype);
    expect_cpu_values<optim::Adagrad>(optim::AdagradOptions(0.1), dtype);
  }
}

TEST_CASE("step_with is a step with the sum, on a CUDA device") {
  if (!has_devices(1)) return;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t size : {1, 7, 2048, 5003})
      for (const std::size_t others : {1u, 9u}) test_step_with(Device("cuda:0"), dtype, size, others);
}
