// Flat parameters: one buffer of values, one of gradients, and equivalent training.
#include "tandem/nn/flat.h"

#include <doctest/doctest.h>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/optim/sgd.h"
#include "tandem/nn/sequential.h"

using namespace tandem;

namespace {

nn::Sequential net() {
  manual_seed(3);
  return nn::Sequential(nn::Linear(5, 3), nn::Linear(3, 2));
}
float at(const Tensor& t, int64_t i) { return t.data_ptr<float>()[i]; }

}  // namespace

TEST_CASE("values and gradients are views") {
  auto model = net();
  const float before = at(model->parameters()[2], 1);
  nn::FlatParameters flat(*model);
  CHECK(flat.is_flat());
  CHECK(at(model->parameters()[2], 1) == before);
  CHECK(at(flat.data(), flat.offset(2) + 1) == before);
  CHECK(flat.offset(1) % 16 == 0);
  CHECK(model->parameters()[0].requires_grad());

  flat.zero_grad();
  model->forward(ones({4, 5})).sum().backward();
  const Tensor bias = model->parameters()[3];
  CHECK(at(bias.grad(), 0) == 4);
  CHECK(at(flat.grad(), flat.offset(3)) == 4);

  // Gradients that were reset and recreated are collected.
  model->zero_grad();
  model->forward(ones({4, 5})).sum().backward();
  CHECK(bias.grad().data_ptr() != flat.grad().data_ptr<float>() + flat.offset(3));
  flat.collect();
  CHECK(bias.grad().data_ptr() == flat.grad().data_ptr<float>() + flat.offset(3));
  CHECK(at(flat.grad(), flat.offset(3)) == 4);
  model->to(kDouble);
  CHECK(!flat.is_flat());
}

TEST_CASE("a step on the flat parameter equals a step on each parameter") {
  auto plain = net(), packed = net();
  nn::FlatParameters flat(*packed);
  optim::SGD many(plain->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::SGD one({flat.as_parameter()}, optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < 3; ++step) {
    for (auto* model : {&plain, &packed}) (*model)->forward(ones({4, 5})).sum().backward();
    flat.collect();
    many.step();
    one.step();
    many.zero_grad();
    flat.zero_grad();
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (int64_t k = 0; k < plain->parameters()[i].numel(); ++k)
      CHECK(at(plain->parameters()[i], k) == at(packed->parameters()[i], k));
}
