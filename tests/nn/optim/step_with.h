// Tests of step_with on any device.
#pragma once
#include <doctest/doctest.h>

#include "tandem/nn/optim/optim.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

namespace tandem {

/// Three steps of two parameters by step_with, and three of a single parameter with previously summed
/// gradients, produce the same bits in parameters and gradients.
template <class Optimizer, class Options>
void expect_summed(Device device, ScalarType dtype, int64_t size, std::size_t others, const Options& options) {
  const Tensor start = randn({size}, TensorOptions(dtype)).to(device);
  const Tensor q = start.clone().requires_grad_();
  std::vector<Tensor> parameters;  // the first third and the rest
  for (const int64_t part : {size / 3, size - size / 3})
    parameters.push_back(start.narrow(0, parameters.empty() ? 0 : size / 3, part).clone().requires_grad_());
  Optimizer together(parameters, options), apart(std::vector<Tensor>{q}, options);
  CHECK(together.sums_gradients());
  for (int step = 0; step < 3; ++step) {
    optim::FlatGradients gradients{randn({size}, TensorOptions(dtype)).to(device), {}};
    for (std::size_t i = 0; i < others; ++i) gradients.others.push_back(randn({size}, TensorOptions(dtype)).to(device));
    const Tensor sum = gradients.own.clone();
    for (const Tensor& other : gradients.others) Tensor(sum).add_(other);
    int64_t at = 0;
    for (const Tensor& p : parameters) {
      p.mutable_grad() = gradients.own.narrow(0, at, p.numel());
      at += p.numel();
    }
    q.mutable_grad() = sum;
    together.step_with(gradients);
    apart.step();
    CHECK(testing::identical(gradients.own, sum));
    CHECK(testing::identical(cat(parameters).detach(), q.detach()));
  }
  CHECK(!testing::identical(q.detach(), start));
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
