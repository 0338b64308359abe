// Flat parameters: one buffer of values, one of gradients, and equivalent training.
#include "tandem/nn/flat.h"

#include <doctest/doctest.h>

#include <functional>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/optim/sgd.h"
#include "tandem/nn/sequential.h"
#include "tandem/tests/temp_folder.h"

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

TEST_CASE("where parameters begin, what their gaps hold, and what ends being flat") {
  const auto leaf = [](std::vector<int64_t> sizes) { return rand(sizes).requires_grad_(); };
  for (const auto& [alignment, offsets] : std::vector<std::pair<int64_t, std::vector<int64_t>>>{
           {1, {0, 3, 11, 11, 12}}, {4, {0, 4, 12, 12, 16}}, {8, {0, 8, 16, 16, 24}}}) {
    const std::vector<Tensor> p{leaf({3}), leaf({2, 4}), leaf({0}), leaf({}).requires_grad_(false)};
    std::vector<Tensor> before;
    for (const Tensor& t : p) before.push_back(t.detach().clone());
    p[0].mutable_grad() = full({3}, 5.0);
    nn::FlatParameters flat(p, alignment);
    CHECK(flat.size() == offsets[4]);
    CHECK(flat.parameters().size() == 4);
    std::vector<int64_t> found;
    for (std::size_t i = 0; i < 4; ++i) {
      found.push_back(flat.offset(i));
      CHECK(p[i].detach().equal(before[i]));
      CHECK(p[i].storage_offset() == offsets[i]);
      CHECK(p[i].requires_grad() == (i < 3));
    }
    CHECK(found == std::vector<int64_t>(offsets.begin(), offsets.end() - 1));
    Tensor rest = flat.data().clone();  // but for the parameters there are zeros
    for (std::size_t i = 0; i < 4; ++i) rest.narrow(0, offsets[i], p[i].numel()).zero_();
    CHECK(rest.eq(0).all().item<bool>());
    // The gradient that was there is in its place, others are zeros, and only trained parameters have one.
    CHECK(flat.grad().narrow(0, 0, 3).eq(5).all().item<bool>());
    CHECK(flat.grad().sum().item<double>() == 15);
    CHECK(p[1].grad().data_ptr<float>() == flat.grad().data_ptr<float>() + offsets[1]);
    CHECK_FALSE(p[3].grad().defined());
    p[1].grad().detach().fill_(2);
    flat.collect();
    CHECK(flat.grad().sum().item<double>() == 15 + 16);
    const auto version = flat.grad()._version();
    flat.zero_grad();
    CHECK(flat.grad()._version() > version);
    CHECK(flat.grad().eq(0).all().item<bool>());
    p[0].mutable_grad().reset();
    flat.zero_grad();
    CHECK(p[0].grad().data_ptr<float>() == flat.grad().data_ptr<float>());
    CHECK_FALSE(p[3].grad().defined());
    const Tensor whole = flat.as_parameter();
    CHECK(whole.requires_grad());
    CHECK(whole.grad().is_same(flat.grad()));
    CHECK(whole.data_ptr<float>() == flat.data().data_ptr<float>());
  }
  const std::vector<Tensor> p{leaf({3}), leaf({2, 2})};
  const auto flat_after = [&](const std::function<void()>& change) {
    nn::FlatParameters flat(p);
    CHECK(flat.is_flat());
    change();
    return flat.is_flat();
  };
  CHECK_FALSE(flat_after([&] { p[1].set_data(zeros({2, 2})); }));
  CHECK_FALSE(flat_after([&] { p[1].set_data(p[1].detach().t()[0]); }));
  CHECK_FALSE(flat_after([&] { p[0].set_data(p[1].detach()); }));
  CHECK(flat_after([&] { p[0].detach().fill_(3); }));
  CHECK(test::error_of([] { nn::FlatParameters(std::vector<Tensor>()); }) ==
        "FlatParameters: expected at least one parameter");
  for (const int64_t alignment : {0, -1})
    CHECK(test::error_of([&] { nn::FlatParameters({zeros({1})}, alignment); }) ==
          concat("FlatParameters: alignment must be positive, got ", alignment));
  CHECK(test::error_of([] {
          nn::FlatParameters({zeros({1}), zeros({2}, kDouble)});
        }) == concat("FlatParameters: all parameters must have the same dtype and device\n  first ", zeros({1}),
                     "\n  other ", zeros({2}, kDouble)));
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
