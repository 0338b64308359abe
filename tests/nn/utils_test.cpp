// Gradient clipping; parameters as a vector.
#include "tandem/nn/utils.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/tensor_literal.h"

using namespace tandem;

namespace {
std::vector<Tensor> parameters() {
  std::vector<Tensor> out{zeros({2}, requires_grad()), zeros({1, 1}, requires_grad()),
                          zeros({3}, requires_grad())};
  out[0].mutable_grad() = tensor({3., 0.}).to(kFloat);
  out[1].mutable_grad() = full({1, 1}, -4.0);
  return out;
}
}  // namespace

TEST_CASE("clip_grad_norm_") {
  auto p = parameters();
  CHECK(nn::utils::clip_grad_norm_(p, 10) == doctest::Approx(5));
  CHECK(p[0].grad().data_ptr<float>()[0] == 3);
  CHECK(nn::utils::clip_grad_norm_(p, 1) == doctest::Approx(5));
  CHECK(p[0].grad().data_ptr<float>()[0] == doctest::Approx(0.6));
  CHECK(p[1].grad().item<float>() == doctest::Approx(-0.8));
  CHECK(nn::utils::clip_grad_norm_(parameters(), 1, std::numeric_limits<double>::infinity()) == 4);
  CHECK(nn::utils::clip_grad_norm_(parameters(), 1, 1) == doctest::Approx(7));
  p[0].mutable_grad().fill_(std::nan(""));
  CHECK_THROWS_WITH_AS(nn::utils::clip_grad_norm_(p, 1, 2, true), doctest::Contains("not finite"), Error);
}

TEST_CASE("clip_grad_value_") {
  auto p = parameters();
  nn::utils::clip_grad_value_(p, 3.5);
  CHECK(p[0].grad().data_ptr<float>()[0] == 3);
  CHECK(p[1].grad().item<float>() == -3.5f);
}

TEST_CASE("parameters_to_vector and back") {
  const auto p = parameters();
  const Tensor v = nn::utils::parameters_to_vector(p);
  CHECK(v.sizes() == IntArrayRef{6});
  nn::utils::vector_to_parameters(arange(6, kFloat), p);
  CHECK(p[2].data_ptr<float>()[2] == 5);
  CHECK(p[2].requires_grad());
  CHECK_THROWS_AS(nn::utils::vector_to_parameters(arange(5, kFloat), p), Error);
}
