// LibTorch names that small programs use in addition to network layers.
#include <doctest/doctest.h>
#include <torch/torch.h>

namespace F = torch::nn::functional;

TEST_CASE("per-class accuracy, histograms, splits") {
  const auto labels = torch::tensor({0, 1, 1, 2, 2, 2}, torch::kLong);
  const auto hits = torch::tensor({1, 0, 1, 1, 1, 0}, torch::kLong).to(torch::kFloat);
  auto [classes, inverse, counts] = torch::_unique2(labels, true, true, true);
  const auto each = torch::zeros({3}).scatter_add_(0, inverse, hits).true_divide(counts);
  CHECK(each.allclose(torch::tensor({1.0, 0.5, 2.0 / 3}).to(torch::kFloat)));
  CHECK(torch::histc(hits, 2, 0, 1).equal(torch::tensor({2.0, 4.0}).to(torch::kFloat)));
  CHECK(torch::isin(labels, torch::tensor({0, 2}, torch::kLong)).sum().item<int64_t>() == 4);
  CHECK(torch::bucketize(torch::tensor({0.5, 1.5}), torch::tensor({1.0, 2.0})).equal(torch::tensor({0, 1})));
  CHECK(hits.quantile(0.5).item<float>() == 1);
  auto halves = labels.tensor_split(2);
  CHECK(halves[1].equal(torch::tensor({2, 2, 2}, torch::kLong)));
}

TEST_CASE("augmentation: padding, crops, flips, resampling") {
  const auto image = torch::rand({2, 3, 8, 8});
  const auto padded = F::pad(image, F::PadFuncOptions({2, 2, 2, 2}).mode(torch::kReflect));
  CHECK(padded.sizes() == torch::IntArrayRef({2, 3, 12, 12}));
  CHECK(torch::constant_pad_nd(image, {1, 1}, 0.5).size(3) == 10);
  CHECK(image.fliplr().fliplr().equal(image));
  CHECK(image.rot90(4, {2, 3}).equal(image));
  CHECK(image.swapaxes(2, 3).equal(image.transpose(2, 3)));
  const auto larger = F::interpolate(
      image,
      F::InterpolateFuncOptions().size(std::vector<int64_t>({16, 16})).mode(torch::kBilinear).align_corners(false));
  CHECK(larger.sizes() == torch::IntArrayRef({2, 3, 16, 16}));
  CHECK(F::normalize(image, F::NormalizeFuncOptions().dim(1)).norm(2, {1}).allclose(torch::ones({2, 8, 8})));
}

TEST_CASE("a residual block with groups and learned slopes") {
  torch::nn::Sequential net(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1).padding_mode(torch::kCircular)),
      torch::nn::GroupNorm(torch::nn::GroupNormOptions(2, 8)), torch::nn::PReLU(), torch::nn::Dropout2d(0.1),
      torch::nn::AdaptiveMaxPool2d(torch::nn::AdaptiveMaxPool2dOptions({2, 2})), torch::nn::Flatten(),
      torch::nn::Linear(32, 4));
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  torch::nn::TripletMarginLoss criterion(torch::nn::TripletMarginLossOptions().margin(0.5));
  const auto x = torch::rand({6, 3, 8, 8});
  auto parts = net->forward(x).chunk(3);
  const auto loss = criterion(parts[0], parts[1], parts[2]);
  loss.backward();
  optimizer.step();
  for (const auto& p : net->parameters()) CHECK(p.grad().defined());
}

TEST_CASE("in-place forms") {
  auto x = torch::arange(6, torch::kFloat).view({2, 3});
  x.clamp_(torch::zeros({3}), torch::full({3}, 4.0));
  CHECK(x.max().item<float>() == 4);
  x.masked_scatter_(x > 2, torch::full({6}, -1.0).to(torch::kFloat));
  CHECK(x.min().item<float>() == -1);
  CHECK(x.index_fill(1, torch::tensor({0}), 9).select(1, 0).equal(torch::full({2}, 9.0).to(torch::kFloat)));
  CHECK(x.index_copy(0, torch::tensor({0}), torch::ones({1, 3})).select(0, 0).equal(torch::ones({3})));
  CHECK(x.index_put({torch::tensor({0})}, torch::zeros({3})).select(0, 0).equal(torch::zeros({3})));
  x.t_();
  CHECK(x.sizes() == torch::IntArrayRef({3, 2}));
  CHECK(torch::diag(torch::ones({3})).trace().item<float>() == 3);
  CHECK(torch::cdist(torch::zeros({2, 3}), torch::ones({4, 3})).sizes() == torch::IntArrayRef({2, 4}));
}

TEST_CASE("further LibTorch names, and checks with two operands") {
  torch::autograd::tensor_list list{torch::ones({2})};
  CHECK(list.size() == 1);
  CHECK(torch::str("epoch ", 3, ": ", 0.5) == "epoch 3: 0.5");
  CHECK(c10::str() == "");
  TORCH_CHECK_EQ(list.size(), 1u);
  CHECK_THROWS_AS([] { TORCH_CHECK_LT(2, 1); }(), torch::Error);
  CHECK_THROWS_WITH_AS([] { TORCH_CHECK_VALUE(false, "size ", 7); }(), "size 7", torch::Error);
  torch::optim::SGD sgd(torch::nn::Linear(1, 1)->parameters(), 0.1);
  torch::optim::ReduceLROnPlateauScheduler schedule(sgd);
}
