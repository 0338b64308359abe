// Pooling of volumes, power-average and fractional pooling, unpooling, 3-d padding and normalisation: values from
// PyTorch 2.15, clones, errors.
#include <doctest/doctest.h>

#include "tandem/tests/nn/layers/volumes.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

namespace {
Tensor volume() { return sines({1, 2, 4, 5, 4}, 1.7); }
}  // namespace

TEST_CASE("3D pooling") {
  const Tensor x = volume();
  nn::MaxPool3d pool(nn::MaxPool3dOptions({2, 3, 2}).stride({2, 2, 1}).padding({1, 1, 0}));
  const auto [maxima, at] = pool->forward_with_indices(x);
  CHECK(near(maxima, {1, 2, 3, 3, 3},
             {0.9916648, 0.9916648, -0.2555412, 0.9997929, 0.7984871, 0.3590584, 0.9997929, -0.108637}, 41.508677));
  CHECK(near(at, {1, 2, 3, 3, 3}, {1, 1, 2, 12, 5, 15, 12, 13}, 2143));
  CHECK(equal(pool(x), maxima));
  CHECK(equal(x.flatten(2).gather(2, at.flatten(2)).view_as(maxima), maxima));
  CHECK(near(nn::AvgPool3d(nn::AvgPool3dOptions(2).ceil_mode(true))(x), {1, 2, 2, 3, 2},
             {0.1185356, -0.08150258, -0.05062279, 0.09190319, -0.1591017, 0.1761931, 0.168472, -0.175509},
             0.039170716));
  CHECK(near(nn::AdaptiveAvgPool3d(nn::AdaptiveAvgPool3dOptions({2, nullopt, 3}))(x), {1, 2, 2, 5, 3},
             {0.1527701, -0.1170534, -0.1226063, 0.08430108, -0.1703717, -0.04039885, -0.006186724, -0.1791874},
             -0.046575546));
  const auto [adaptive, where] =
      nn::AdaptiveMaxPool3d(nn::AdaptiveMaxPool3dOptions({2, 3, 3}))->forward_with_indices(x);
  CHECK(near(adaptive, {1, 2, 2, 3, 3},
             {0.9916648, 0.9916648, 0.9856007, 0.9997929, 0.9494048, 0.9494048, 0.9997929, 0.9805898}, 34.803889));
  CHECK(near(where, {1, 2, 2, 3, 3}, {1, 1, 23, 12, 34, 34, 12, 38}, 1366));
  CHECK(text(pool) ==
        "tandem::nn::MaxPool3d(kernel_size=[2, 3, 2], stride=[2, 2, 1], padding=[1, 1, 0], "
        "dilation=[1, 1, 1], ceil_mode=false)");
  CHECK(equal(pool(x[0]), maxima[0]));
  CHECK(equal(std::get<0>(adaptive_max_pool3d(ones({1, 1, 4, 4, 4}), 2)), ones({1, 1, 2, 2, 2})));
}

TEST_CASE("1D pooling with indices") {
  const Tensor x = volume()[0].select(1, 0).select(1, 0);
  const auto [maxima, at] = F::adaptive_max_pool1d_with_indices(x, F::AdaptiveMaxPool1dFuncOptions(3));
  CHECK(near(maxima, {2, 3}, {0.9916648, 0.9916648, -0.2555412, -0.5056022, 0.9207242, 0.9207242}, 3.0636347));
  CHECK(near(at, {2, 3}, {1, 1, 2, 1, 2, 2}, 9));
  const auto [pooled, index] = nn::MaxPool1d(2)->forward_with_indices(x);
  CHECK(near(pooled, {2, 2}, {0.9916648, -0.2555412, -0.5056022, 0.9207242}, 1.1512457));
  CHECK(near(nn::MaxUnpool1d(2)(pooled, index), {2, 4}, {0, 0.9916648, -0.2555412, 0, 0, -0.5056022, 0.9207242, 0},
             1.1512457));
}

TEST_CASE("LPPool") {
  const Tensor x = volume().abs() + 0.1;
  CHECK(near(nn::LPPool1d(2, 2)(x[0].select(1, 0)), {2, 5, 2},
             {1.096235, 1.085682, 1.077149, 1.074951, 1.080159, 1.090213, 1.119408, 1.16597}, 22.574361));
  CHECK(near(nn::LPPool2d(nn::LPPool2dOptions(3, 2).stride(1))(x[0]), {2, 4, 4, 3},
             {1.307843, 1.372066, 1.261289, 1.2472, 1.36716, 1.279214, 1.328431, 1.367734}, 127.85925));
  CHECK(near(nn::LPPool3d(2, 2)(x), {1, 2, 2, 2, 2},
             {2.2357, 2.202466, 2.178595, 2.210896, 2.339237, 2.361468, 2.257381, 2.212503}, 35.909682));
}

TEST_CASE("FractionalMaxPool") {
  const Tensor x = volume(), two = tensor({0.3, 0.7, 0.1, 0.9}).to(kFloat).view({1, 2, 2}),
               three = tensor({0.3, 0.7, 0.2, 0.1, 0.9, 0.5}).to(kFloat).view({1, 2, 3});
  nn::FractionalMaxPool2d plane(
      nn::FractionalMaxPool2dOptions(2).output_ratio(ExpandingArray<2, double>(0.6))._random_samples(two));
  const auto [maxima, at] = plane->forward_with_indices(x.select(2, 0));
  CHECK(near(maxima, {1, 2, 3, 2},
             {0.9916648, -0.2555412, 0.859162, -0.1489983, 0.9997929, 0.7733274, -0.01326168, 0.9932867}, 7.0835739));
  CHECK(near(at, {1, 2, 3, 2}, {1, 2, 8, 11, 12, 19, 5, 6}, 110));
  const auto [cubes, where] = F::fractional_max_pool3d_with_indices(
      x, F::FractionalMaxPool3dFuncOptions({2, 2, 1}).output_size(ExpandingArray<3>({2, 3, 3}))._random_samples(three));
  CHECK(near(cubes, {1, 2, 2, 3, 3},
             {0.5290827, 0.9916648, 0.9856007, 0.859162, 0.7984871, 0.9404284, 0.9997929, 0.06809571}, 27.296712));
  CHECK(near(where, {1, 2, 2, 3, 3}, {20, 1, 23, 8, 5, 27, 12, 37}, 1378));
  nn::FractionalMaxPool3d drawn(nn::FractionalMaxPool3dOptions(2).output_size(ExpandingArray<3>(2)));
  CHECK(drawn(x[0]).sizes() == IntArrayRef({2, 2, 2, 2}));
  CHECK_THROWS_AS(nn::FractionalMaxPool2d(2), Error);
  CHECK_THROWS_AS(
      nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio(ExpandingArray<2, double>(1.5))), Error);
  CHECK_THROWS_AS(fractional_max_pool2d(x.select(2, 0), 4, 3, two), Error);
}

TEST_CASE("MaxUnpool") {
  const Tensor x = volume();
  const auto [maxima, at] = F::max_pool3d_with_indices(x, F::MaxPool3dFuncOptions(2));
  nn::MaxUnpool3d volumes(2);
  const std::vector<double> start{0, 0.9916648, 0, 0, 0, 0, 0, 0};
  CHECK(near(volumes->forward(maxima, at, std::vector<int64_t>{4, 5, 4}), {1, 2, 4, 5, 4}, start, 15.209099));
  const auto [flat, places] = max_pool2d_with_indices(x[0].select(1, 0), 2);
  CHECK(near(nn::MaxUnpool2d(2)->forward(flat, places, std::vector<int64_t>{5, 4}), {2, 5, 4},
             {0, 0.9916648, -0.2555412, 0}, 4.7337039));
  CHECK_THROWS_AS(volumes->forward(maxima, at, std::vector<int64_t>{4, 7, 4}), Error);
  CHECK_THROWS_AS(max_unpool2d(flat, places.to(kInt), {5, 4}), Error);
  CHECK_THROWS_AS(max_unpool2d(flat, places + 20, {5, 4}), IndexError);
  const Tensor leaf = maxima.detach().clone().requires_grad_();
  const Tensor weights = cosines({1, 2, 4, 5, 4});
  (max_unpool3d(leaf, at, {4, 5, 4}, {2, 2, 2}, {0, 0, 0}) * weights).sum().backward();
  CHECK(equal(leaf.grad(), weights.flatten(2).gather(2, at.flatten(2)).view_as(leaf)));
}

TEST_CASE("3D padding") {
  const Tensor x = count({1, 1, 2, 2, 2});
  CHECK(near(nn::ZeroPad3d(nn::ZeroPad3dOptions({1, 0, 0, 1, 1, 0}))(x), {1, 1, 3, 3, 3},
             {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 3, 0, 0, 0, 0, 4, 5, 0, 6, 7}, 28));
  CHECK(near(nn::ReflectionPad3d(nn::ReflectionPad3dOptions({1, 1, 0, 1, 1, 0}))(x), {1, 1, 3, 3, 4},
             {5, 4, 5, 4, 7, 6, 7, 6, 5, 4, 5, 4}, 138));
  CHECK(near(nn::ReplicationPad3d(nn::ReplicationPad3dOptions({1, 1, 0, 1, 1, 0}))(x), {1, 1, 3, 3, 4},
             {0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}, 114));
  CHECK(near(nn::ConstantPad3d(nn::ConstantPad3dOptions({1, 0, 0, 1, 1, 0}, 3.5))(x), {1, 1, 3, 3, 3},
             {3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 0, 1}, 94.5));
  CHECK_THROWS_AS(reflection_pad3d(x, {2, 0, 0, 0, 0, 0}), Error);
}

TEST_CASE("InstanceNorm3d and CrossMapLRN2d") {
  CHECK(near(nn::InstanceNorm3d(2)(volume()), {1, 2, 4, 5, 4},
             {-0.01958019, 1.388052, -0.3823118, -1.333741, 0.6817962, 1.113844, -1.013028, -0.897003}, 0));
  CHECK(text(nn::InstanceNorm3d(2)).starts_with("tandem::nn::InstanceNorm3d(2,"));
  const Tensor x = sines({1, 5, 2, 2});
  CHECK(near(nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(4).alpha(0.5).beta(0.7).k(2))(x), {1, 5, 2, 2},
             {0, 0.4840238, 0.5385924, 0.08519358, -0.4366407, -0.5478944, -0.163504, 0.3805714}, 0.060150981));
  CHECK(near(nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(5).alpha(0.5).beta(0.7).k(2))(x), {1, 5, 2, 2},
             {0, 0.4877027, 0.5373517, 0.08271187, -0.438039, -0.5526473, -0.1599734, 0.3798404}, 0.054565035));
}

TEST_CASE("Empty batches and errors of 3D pooling") {
  const Tensor none = zeros({0, 2, 4, 4, 4});
  CHECK(max_pool3d(none, 2).sizes() == IntArrayRef({0, 2, 2, 2, 2}));
  CHECK(std::get<1>(max_pool3d_with_indices(none, 2)).sizes() == IntArrayRef({0, 2, 2, 2, 2}));
  CHECK(avg_pool3d(none, 2).sizes() == IntArrayRef({0, 2, 2, 2, 2}));
  CHECK(adaptive_avg_pool3d(none, 3).sizes() == IntArrayRef({0, 2, 3, 3, 3}));
  CHECK_THROWS_AS(max_pool3d(volume(), 2, 2, 2), Error);
  CHECK_THROWS_AS(max_pool3d(volume(), {2, 2}), Error);
  CHECK_THROWS_AS(avg_pool3d(volume(), 7), Error);
  CHECK_THROWS_AS(avg_pool3d(volume(), 2, 2, 0, false, true, 0), Error);
  CHECK_THROWS_AS(adaptive_avg_pool3d(volume()[0][0], 2), Error);
}
