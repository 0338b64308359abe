// Batch, layer, group, instance and local response normalisation, RMSNorm: values and gradients of PyTorch 2.15, errors.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("GroupNorm, InstanceNorm, BatchNorm3d, LocalResponseNorm") {
  nn::GroupNorm group(2, 4);
  CHECK(near(group(count({1, 4, 2})), {-1.3416355, -0.4472119, 0.4472117, 1.3416353}));
  CHECK(group->parameters().size() == 2);
  CHECK_THROWS_WITH_AS(nn::GroupNorm(3, 4), doctest::Contains("divisible"), Error);
  nn::InstanceNorm1d instance(nn::InstanceNorm1dOptions(2).track_running_stats(true));
  CHECK(near(instance(count({2, 2, 2})), {-0.99998, 0.99998, -0.99998}));
  CHECK(near(instance->running_mean, {0.25, 0.45}));
  CHECK(near(instance->running_var, {0.95, 0.95}));
  instance->eval();
  CHECK(near(instance(count({2, 2, 2})), {-0.2564932, 0.7694797, 1.5902581}));
  CHECK(nn::InstanceNorm2d(nn::InstanceNorm2dOptions(3).affine(true))->parameters().size() == 2);
  CHECK(nn::BatchNorm3d(2)(rand({2, 2, 2, 2, 2})).mean().abs().item<float>() < 1e-5);
  CHECK(nn::LocalResponseNorm(2)(ones({1, 3, 2})).sizes() == IntArrayRef{1, 3, 2});
  // Of integers, means are rounded down.
  const Tensor whole = tensor({3, 4, 6}).view({1, 3, 1});
  CHECK(near(local_response_norm(whole, 2, 1, 1, 1), {3.0 / 5, 4.0 / 13, 6.0 / 27}));
}

TEST_CASE("rms_norm") {
  const Tensor x = wave({3, 4, 6}).requires_grad_(), w = wave({6}, 0.4).requires_grad_(), y = rms_norm(x, {6}, w);
  CHECK(sums_are(y, 0.8535015947, -2.0720830085));
  pull(y);
  CHECK(sums_are(x.grad(), -0.7910696820, -2.0984412534));
  CHECK(sums_are(w.grad(), -1.1607963818, 1.5154669119));
  CHECK(sums_are(rms_norm(x, {4, 6}, {}, 0.1), 0.0164988122, -3.4173221574));
  nn::RMSNorm layer(std::vector<int64_t>{6});
  CHECK(allclose(layer(x.to(kFloat)), rms_norm(x, {6}).to(kFloat), 1e-5, 1e-6));
  CHECK(text(layer) == "tandem::nn::RMSNorm([6], eps=None, elementwise_affine=true)");
  CHECK(nn::RMSNorm(nn::RMSNormOptions({6}).elementwise_affine(false))->parameters().empty());
  CHECK_THROWS_AS(rms_norm(x, {4}), Error);
}

TEST_CASE("BatchNorm2d") {
  nn::BatchNorm2d norm(2);
  const Tensor x = arange(16, kFloat).view({2, 2, 2, 2});
  const Tensor y = norm(x);
  CHECK(y.mean({0, 2, 3}).allclose(zeros({2}), 0, 1e-6));
  CHECK(norm->running_mean.allclose(tensor({0.55, 0.95}).to(kFloat)));
  CHECK(norm->running_var.allclose(tensor({2.8714286, 2.8714286}).to(kFloat)));
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  norm->eval();
  norm(x);
  CHECK(norm->num_batches_tracked.item<int64_t>() == 1);
  CHECK(norm->state_dict().keys() ==
        std::vector<std::string>{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"});
  std::ostringstream out;
  out << norm;
  CHECK(out.str() == "tandem::nn::BatchNorm2d(2, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
  CHECK_THROWS_WITH_AS(norm(zeros({2, 2})), doctest::Contains("[N, C, H, W]"), Error);
  nn::BatchNorm1d mean_of_all(nn::BatchNorm1dOptions(1).momentum(nullopt));
  mean_of_all(tensor({{1.}, {3.}}).to(kFloat));
  mean_of_all(tensor({{5.}, {7.}}).to(kFloat));
  CHECK(mean_of_all->running_mean.item<float>() == doctest::Approx(4));
  nn::BatchNorm2d bare(nn::BatchNorm2dOptions(2).affine(false).track_running_stats(false));
  bare->eval();
  CHECK(bare(x).allclose(y, 1e-5, 1e-5));
  CHECK(bare->parameters().empty());
}

TEST_CASE("LayerNorm") {
  nn::LayerNorm norm(nn::LayerNormOptions({3}));
  CHECK(norm(tensor({{1., 2., 3.}}).to(kFloat)).allclose(tensor({{-1.2247356, 0., 1.2247356}}).to(kFloat)));
  CHECK(norm->parameters().size() == 2);
}
