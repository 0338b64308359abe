// Steps with summed gradients, on any device.
#pragma once
#include <doctest/doctest.h>

#include "tandem/nn/optim/optim.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

namespace tandem {

/// Three steps by step_with, and three with gradients that were summed before, give the same bits in the
/// parameter and its gradient.
template <class Optimizer, class Options>
void expect_summed(Device device, ScalarType dtype, int64_t size, std::size_t others,
                   const Options& options) {
  const Tensor start = randn({size}, TensorOptions(dtype)).to(device);
  const Tensor p = start.clone().requires_grad_(), q = start.clone().requires_grad_();
  Optimizer together(std::vector<Tensor>{p}, options), apart(std::vector<Tensor>{q}, options);
  CHECK(together.sums_gradients());
  for (int step = 0; step < 3; ++step) {
    std::vector<Tensor> summands;
    for (std::size_t i = 0; i < others; ++i)
      summands.push_back(randn({size}, TensorOptions(dtype)).to(device));
    p.mutable_grad() = randn({size}, TensorOptions(dtype)).to(device);
    Tensor sum = p.grad().clone();
    for (const Tensor& other : summands) sum.add_(other);
    q.mutable_grad() = sum;
    together.step_with(summands);
    apart.step();
    CHECK(testing::identical(p.grad(), sum));
    CHECK(testing::identical(p.detach(), q.detach()));
  }
  CHECK(!testing::identical(p.detach(), start));
}

inline void test_step_with(Device device, ScalarType dtype, int64_t size, std::size_t others) {
  const auto expect = [&]<class Optimizer>(std::type_identity<Optimizer>, const auto& options) {
    expect_summed<Optimizer>(device, dtype, size, others, options);
  };
  expect(std::type_identity<optim::SGD>(), optim::SGDOptions(0.1));
  expect(std::type_identity<optim::SGD>(), optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  expect(std::type_identity<optim::Adam>(), optim::AdamOptions(0.1));
  expect(std::type_identity<optim::Adam>(), optim::AdamOptions(0.1).amsgrad(true));
  expect(std::type_identity<optim::AdamW>(), optim::AdamWOptions(0.1));
  expect(std::type_identity<optim::RMSprop>(), optim::RMSpropOptions(0.1));
  expect(std::type_identity<optim::RMSprop>(), optim::RMSpropOptions(0.1).momentum(0.9).centered(true));
  expect(std::type_identity<optim::Adagrad>(), optim::AdagradOptions(0.1));
}

}  // namespace tandem
