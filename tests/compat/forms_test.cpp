// Calls in the forms of ATen that few programs use: missing dimensions, factories with four optional parameters, scales
// of upsampling, tensors in place of numbers. These checks also pass with LibTorch, but for those that say so.
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

#include <limits>

namespace {
using Values = std::vector<double>;

Values values_of(const torch::Tensor& t) {
  const torch::Tensor row = t.detach().to(torch::kDouble).contiguous().reshape({-1});
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}
bool near(const torch::Tensor& t, const Values& expected) {
  const Values values = values_of(t);
  bool same = values.size() == expected.size();
  for (std::size_t i = 0; same && i < values.size(); ++i) same = std::abs(values[i] - expected[i]) < 1e-5;
  if (!same) MESSAGE(t);
  return same;
}
torch::Tensor numbers() { return (torch::arange(20, torch::kFloat) * 7).remainder(11).view({4, 5}); }
torch::Tensor number(int64_t value) { return torch::scalar_tensor(value, torch::kLong); }

constexpr auto null = std::nullopt;
}  // namespace

TEST_CASE("dimensions that may be missing") {
  const auto x = numbers();
  const std::vector<int64_t> rows{1};
  const at::OptionalIntArrayRef none, one = at::IntArrayRef(rows), empty = at::IntArrayRef();
  CHECK(near(at::sum(x, none), {98}));
  CHECK(at::sum(x, none, true, torch::kDouble).sizes() == at::IntArrayRef{1, 1});
  CHECK(at::sum(x, none, true, torch::kDouble).dtype() == torch::kDouble);
  CHECK(near(at::sum(x, one), {26, 25, 24, 23}));
  CHECK(near(x.sum(one, true), {26, 25, 24, 23}));
  CHECK(near(x.sum(none), {98}));
  CHECK(near(at::mean(x, one), {5.2, 5, 4.8, 4.6}));
  CHECK(near(x.mean(none, true), {4.9}));
  const auto holes = x.masked_fill(x == 0, NAN);
  CHECK(near(at::nansum(holes, one), {26, 25, 24, 23}));
  CHECK(near(holes.nansum(none), {98}));
  CHECK(near(at::nanmean(holes, one), {6.5, 5, 6, 4.6}));
  CHECK(near(holes.nanmean(one, true), {6.5, 5, 6, 4.6}));
  CHECK(near(at::all(x > 0, one), {0, 1, 0, 1}));
  CHECK(at::all(x > 0, none, true).sizes() == at::IntArrayRef{1, 1});
  CHECK(near(x.all(none), {0}));
  CHECK(near(at::any(x > 9, one, false), {1, 0, 1, 0}));
  CHECK(x.any(none, true).sizes() == at::IntArrayRef{1, 1});
  CHECK(at::any(x, empty).sizes() == x.sizes());  // no dimension
  CHECK(x.sum(std::nullopt, true).sizes() == at::IntArrayRef{1, 1});
  CHECK(near(x.sum({0, 1}), {98}));
  CHECK(near(x.sum(1), {26, 25, 24, 23}));
  CHECK(x.sum().dim() == 0);
  CHECK(near(x.sum(torch::kFloat), {98}));
}

TEST_CASE("bounds that are tensors or missing") {
  const auto x = torch::tensor({1.F, 5.F, 9.F});
  const std::optional<torch::Tensor> none, low = torch::tensor({3.F}), high = torch::tensor({6.F});
  CHECK(near(at::clamp(x, low, high), {3, 5, 6}));
  CHECK(near(at::clip(x, none, high), {1, 5, 6}));
  CHECK_THROWS_AS(at::clamp(x), c10::Error);
  CHECK_THROWS_AS(at::clip(x), c10::Error);
  auto y = x.clone();
  CHECK(near(at::clamp_(y, low, none), {3, 5, 9}));
  CHECK(near(at::clip_(y, none, high), {3, 5, 6}));
  CHECK(near(at::clamp_(y, torch::full({3}, 4.F)), {4, 5, 6}));
  CHECK(near(at::clip_(y, {}, 5), {4, 5, 5}));
}

TEST_CASE("linspace and logspace between tensors of one number") {
  CHECK(near(at::linspace(number(1), torch::scalar_tensor(2.5), 4), {1, 1.5, 2, 2.5}));
  CHECK(near(at::linspace(number(1), 2, 3, torch::kLong), {1, 1, 2}));
  CHECK(near(at::linspace(0, number(2), 3), {0, 1, 2}));
  CHECK(near(at::logspace(number(0), number(2), 3), {1, 10, 100}));
  CHECK(near(at::logspace(0, number(2), 3, 2.0), {1, 2, 4}));
  CHECK(near(at::logspace(number(1), 2, 2, 2.0, null, null, null, null), {2, 4}));
  CHECK_THROWS_AS(at::linspace(torch::zeros({1}), 2, 3), c10::Error);
  CHECK_THROWS_AS(at::logspace(0, torch::zeros({1}), 3), c10::Error);
  auto out = torch::empty({0});
  CHECK(near(at::linspace_out(out, number(1), 2, 3), {1, 1.5, 2}));
  CHECK(near(at::logspace_out(out, 0, number(1), 2, 5.0), {1, 5}));
}

TEST_CASE("random tensors like another, with a generator and a memory format") {
  const auto image = torch::zeros({2, 3, 2, 2});
  const auto seeded = [] { return at::make_generator<at::CPUGeneratorImpl>(7); };
  const auto last = at::MemoryFormat::ChannelsLast;
  CHECK(at::rand_like(image, torch::kDouble, last).is_contiguous(last));
  CHECK(at::rand_like(image, torch::kDouble, last).dtype() == torch::kDouble);
  CHECK(at::rand_like(image, seeded()).equal(at::rand_like(image, seeded(), torch::kFloat, null)));
  CHECK(at::rand_like(image, seeded()).equal(at::rand(image.sizes(), seeded())));
  CHECK(at::randn_like(image, seeded()).equal(at::randn(image.sizes(), seeded())));
  CHECK(at::randn_like(image, at::TensorOptions(), last).is_contiguous(last));
  CHECK(at::randint_like(image, 9, seeded()).equal(at::randint(9, image.sizes(), seeded(), torch::kFloat)));
  CHECK(at::randint_like(image, 3, 9, seeded(), torch::kLong).equal(at::randint(3, 9, image.sizes(), seeded())));
  CHECK(at::randint_like(image, 5, 6, at::TensorOptions(), last).eq(5).all().item<bool>());
  CHECK(at::randint_like(image, 1, torch::kLong, last).is_contiguous(last));
  CHECK(at::randint_like(image, number(9), seeded()).equal(at::randint_like(image, 9, seeded())));
  CHECK(near(at::randint_like(torch::ones({2}), number(1), torch::kLong), {0, 0}));
  CHECK_THROWS_AS(at::randint_like(image, torch::tensor({3})), c10::Error);
  auto out = torch::empty({0});
  CHECK(at::rand_like_out(out, image, seeded(), null).equal(at::rand_like(image, seeded())));
  CHECK(at::randn_like_out(out, image, seeded(), null).equal(at::randn_like(image, seeded())));
  CHECK(at::randint_like_out(out, image, 4, seeded(), null).equal(at::randint_like(image, 4, seeded())));
  CHECK(at::randint_like_out(out, image, number(4), seeded()).equal(at::randint_like(image, 4, seeded())));
  CHECK(near(at::randint_like_out(out, torch::ones({1}), 2, 3, std::optional<at::MemoryFormat>()), {2}));
  const auto x = torch::ones({2});
  CHECK(near(at::normal_functional(x, 2, 0), {2, 2}));
  CHECK(near(x, {1, 1}));
  CHECK(near(at::normal_out(out, x, 3.0, 0.0), {3, 3}));
  CHECK(near(at::bernoulli(torch::zeros({2}), torch::ones({})), {1, 1}));
  CHECK(near(at::bernoulli_out(out, torch::zeros({2}), torch::ones({})), {1, 1}));
  CHECK(near(torch::zeros({2}).random_(3, std::optional<int64_t>(4)), {3, 3}));
}

TEST_CASE("upsampling with scales") {
  const auto row = torch::arange(5, torch::kFloat).view({1, 1, 5}), image = numbers().view({1, 1, 4, 5}),
             box = torch::arange(8, torch::kFloat).view({1, 1, 2, 2, 2});
  const std::vector<double> one{1.5}, two{0.55, 1.5}, three{1.7, 1.7, 1.2};
  const at::OptionalIntArrayRef none, seven = at::IntArrayRef{7};
  const std::optional<at::ArrayRef<double>> factor = at::ArrayRef<double>(one), no_factor;
  CHECK(near(at::upsample_nearest1d(row, at::IntArrayRef{7}, 3.0), {0, 0, 0, 1, 1, 1, 2}));
  CHECK(near(at::upsample_nearest1d(row, at::IntArrayRef{7}, 0.0), {0, 0, 1, 2, 2, 3, 4}));  // not positive: the ratio
  CHECK(near(at::upsample_nearest1d(row, none, factor), {0, 0, 1, 2, 2, 3, 4}));
  const double huge[] = {1e300};
  CHECK_THROWS_AS(at::upsample_nearest1d(row, none, at::ArrayRef<double>(huge)), c10::Error);
  const auto nearest = at::upsample_nearest2d(image, {6, 7}, 1.6, 1.5);
  CHECK(near(nearest.select(3, 0).flatten(), {0, 0, 2, 2, 4, 6}));
  CHECK(near(nearest.select(2, 0).flatten(), {0, 0, 7, 3, 3, 10, 6}));
  CHECK(at::upsample_nearest2d(image, none, at::ArrayRef<double>{1.6, 1.5}).equal(nearest));
  CHECK(near(at::upsample_nearest3d(box, {3, 1, 1}, 1.7, null, null), {0, 0, 4}));
  CHECK(at::upsample_nearest3d(box, none, at::ArrayRef<double>(three)).sizes() == at::IntArrayRef{1, 1, 3, 3, 2});
  const Values linear{0, 0.5, 1.166667, 1.833333, 2.5, 3.166667, 3.833333};
  CHECK(near(at::upsample_linear1d(row, at::IntArrayRef{7}, false, 1.5), linear));
  CHECK(near(at::upsample_linear1d(row, none, false, factor), linear));
  CHECK(near(at::upsample_linear1d(row, at::IntArrayRef{7}, true, 1.5), {0, 2 / 3., 4 / 3., 2, 8 / 3., 10 / 3., 4}));
  const Values bilinear{0.8181819, 4.318182, 7.151515, 4.484848, 5.068182, 6.401515, 6.734849,
                        4.454545,  2.454545, 1.621213, 6.287879, 5.454545, 4.204546, 7.204546};
  CHECK(near(at::upsample_bilinear2d(image, {2, 7}, false, 0.55, 1.5), bilinear));
  CHECK(near(at::upsample_bilinear2d(image, none, false, at::ArrayRef<double>(two)), bilinear));
  CHECK(near(at::upsample_bilinear2d(image, {2, 7}, false, null, 1.5).select(2, 0),
             {1, 4.5, 7.333333, 4.666667, 4.75, 5.75, 6.75}));
  CHECK(near(at::upsample_bicubic2d(image, {2, 7}, false, 0.55, 1.5).select(2, 0),
             {-0.03059182, 5.007283, 8.405519, 4.247218, 4.471271, 6.550653, 6.638957}));
  CHECK(near(at::upsample_bicubic2d(image, none, true, at::ArrayRef<double>(two)).select(2, 1),
             {6, 2.481483, 3.981481, 9, 7.092593, 3.296295, 1}));
  CHECK(near(at::upsample_trilinear3d(box, {3, 3, 2}, false, 1.7, null, 1.2).flatten().slice(0, 2, 8),
             {1, 2, 2, 3, 1.529412, 2.529412}));
  CHECK(near(at::upsample_trilinear3d(box, none, false, at::ArrayRef<double>(three)).flatten().slice(0, 2, 8),
             {0.7647059, 1.764706, 1.941177, 2.941177, 1.529412, 2.529412}));
  CHECK(near(at::upsample_nearest1d(row, seven, no_factor), {0, 0, 1, 2, 2, 3, 4}));
  auto out = torch::empty({0});
  CHECK(near(at::upsample_nearest1d_out(out, row, 7, 3.0), {0, 0, 0, 1, 1, 1, 2}));
  CHECK(at::upsample_nearest2d_out(out, image, {6, 7}, 1.6, 1.5).equal(nearest));
  CHECK(at::upsample_nearest2d_out(out, image, none, at::ArrayRef<double>{1.6, 1.5}).equal(nearest));
  CHECK(near(at::upsample_nearest3d_out(out, box, {3, 1, 1}, 1.7), {0, 0, 4}));
  CHECK(near(at::upsample_linear1d_out(out, row, 7, false, 1.5), linear));
  CHECK(near(at::upsample_bilinear2d_out(out, image, {2, 7}, false, 0.55, 1.5), bilinear));
  CHECK(near(at::upsample_bilinear2d_out(out, image, none, false, at::ArrayRef<double>(two)), bilinear));
  CHECK(near(at::upsample_bicubic2d_out(out, image, {2, 7}, false, 0.55, 1.5).select(2, 0).slice(2, 0, 2),
             {-0.03059182, 5.007283}));
  CHECK(near(at::upsample_trilinear3d_out(out, box, {3, 3, 2}, false, 1.7, null, 1.2).flatten().slice(0, 6, 8),
             {1.529412, 2.529412}));
  CHECK_THROWS_AS(at::upsample_nearest1d(row, none, no_factor), c10::Error);
  CHECK_THROWS_AS(at::upsample_linear1d(row, seven, false, factor), c10::Error);
  CHECK_THROWS_AS(at::upsample_nearest1d(row, none, at::ArrayRef<double>(two)), c10::Error);
}

TEST_CASE("repeat_interleave with the size of its result") {
  const auto x = torch::tensor({5, 6, 7}), n = torch::tensor({1, 2, 0});
  CHECK(near(at::repeat_interleave(x, n, 0, 3), {5, 6, 6}));
  CHECK(near(at::repeat_interleave(x, 2, 0, 6), {5, 5, 6, 6, 7, 7}));
  CHECK(near(x.repeat_interleave(n, null, 3), {5, 6, 6}));
  CHECK(near(x.repeat_interleave(1, null, 3), {5, 6, 7}));
  CHECK_THROWS_AS(at::repeat_interleave(x, std::numeric_limits<int64_t>::max(), 0), c10::Error);
  CHECK(near(at::repeat_interleave(n), {0, 1, 1}));
  CHECK(at::repeat_interleave(n.to(torch::kInt), std::optional<int64_t>(3)).dtype() == torch::kInt);
  auto out = torch::empty({0}, torch::kLong);
  CHECK(near(at::repeat_interleave_out(out, n, 3), {0, 1, 1}));
  CHECK_THROWS_AS(at::repeat_interleave(x, n, 0, 4), c10::Error);
  CHECK_THROWS_AS(at::repeat_interleave(x, 2, 0, 5), c10::Error);
  CHECK_THROWS_AS(at::repeat_interleave(n, std::optional<int64_t>(2)), c10::Error);
  CHECK_THROWS_AS(at::repeat_interleave(torch::ones({2})), c10::Error);
}

TEST_CASE("tensors in place of numbers") {
  const auto x = numbers();
  CHECK(near(at::narrow(x, 0, number(1), 2), values_of(x.narrow(0, 1, 2))));
  CHECK(near(x.narrow(0, number(-1), 1), values_of(x[3])));
  CHECK_THROWS_AS(at::narrow(x, 0, torch::scalar_tensor(1.0), 2), c10::Error);
  CHECK_THROWS_AS(x.narrow(0, torch::tensor({1}), 2), c10::Error);
  const auto thirds = at::tensor_split(x, number(3)), parts = x.tensor_split(torch::tensor({1, 3}), 1);
  CHECK(thirds.size() == 3);
  CHECK(near(thirds[2], values_of(x[3])));
  CHECK(parts.size() == 3);
  CHECK(near(parts[1], values_of(x.slice(1, 1, 3))));
  CHECK_THROWS_AS(at::tensor_split(x, torch::scalar_tensor(3.0)), c10::Error);
  CHECK(near(at::isin(2, torch::tensor({1, 2})), {1}));
  CHECK(near(at::isin(2, torch::tensor({1, 2}), false, true), {0}));
  CHECK(near(at::isin(3, torch::tensor({1, 2})), {0}));
  CHECK(near(at::bitwise_left_shift(2, torch::tensor({1, 3})), {4, 16}));
  CHECK(near(at::bitwise_right_shift(9, torch::tensor({1, 3})), {4, 1}));
  CHECK_THROWS_AS(at::bitwise_left_shift(2.0, torch::tensor({1})), c10::Error);
  CHECK((at::result_type(1, x) == torch::kFloat));
  CHECK((at::result_type(1.5, torch::tensor({1})) == torch::kFloat));
  CHECK((at::result_type(1, 2) == torch::kLong));
  CHECK((at::result_type(true, 2.5) == torch::kFloat));
  CHECK((at::result_type(true, false) == torch::kBool));
  auto out = torch::empty({0}, torch::kLong);
  CHECK(near(at::bitwise_left_shift_out(out, 1, torch::tensor({3})), {8}));
  CHECK(near(at::bitwise_right_shift_out(out, 8, torch::tensor({3})), {1}));
  out = torch::empty({0}, torch::kBool);
  CHECK(near(at::isin_out(out, 2, torch::tensor({1, 2})), {1}));
}

TEST_CASE("covariances with weights") {
  const auto x = numbers(), f = torch::tensor({1, 2, 1, 3, 1}), a = torch::tensor({0.5F, 0.25F, 1.F, 2.F, 0.F});
  CHECK(near(at::cov(x, 1, f, a)[0], {12.75556, -4.844444, -3.703704, -3.703704}));
  CHECK(near(at::cov(x, 0, f, {})[1], {-2.4375, 12, -0.375, -5.1875}));
  CHECK(near(x.cov(1, {}, a)[2], {-7.714285, 1.714286, 6.428571, 6.428571}));
  CHECK(near(x[0].cov(1, f, a), {12.75556}));
  CHECK(near(at::cov(x.to(torch::kLong), 1, f, a)[3], {-3.703704, 0.2074074, 3.140741, 3.140741}));
  CHECK(at::cov(x, 1, {}, a.to(torch::kDouble)).dtype() == torch::kDouble);
  CHECK(at::cov(x, 20, f, {})[0][0].item<double>() == INFINITY);
  CHECK_THROWS_AS(at::cov(x, 1, a, {}), c10::Error);
  CHECK_THROWS_AS(at::cov(x, 1, {}, f), c10::Error);
  CHECK_THROWS_AS(at::cov(x, 1, f.slice(0, 1), {}), c10::Error);
  CHECK_THROWS_AS(at::cov(x, 1, -f, {}), c10::Error);
  CHECK_THROWS_AS(at::cov(x, 1, {}, a * 0), c10::Error);
}

TEST_CASE("convolution of rows with padding in words") {
  const auto row = torch::arange(5, torch::kFloat).view({1, 1, 5});
  CHECK(near(at::conv1d(row, torch::ones({1, 1, 3}), {}, 1, "same"), {1, 3, 6, 9, 7}));
  CHECK(near(at::conv1d(row[0], torch::ones({1, 1, 2}), {}, 1, "same"), {1, 3, 5, 7, 4}));
  CHECK(near(at::conv1d(row, torch::ones({1, 1, 3}), torch::ones({1}), 1, std::string_view("valid"), 2), {7}));
  CHECK_THROWS_AS(at::conv1d(row, torch::ones({1, 1, 3}), {}, 2, "same"), c10::Error);
  CHECK_THROWS_AS(at::conv1d(row, torch::ones({1, 1, 3}), {}, 1, "none"), c10::Error);
}

TEST_CASE("einsum with a path") {
  const auto x = numbers(), k = x.select(1, 0);
  const std::vector<int64_t> path{1, 2, 0, 1}, short_path{1, 2}, wrong{1, 5, 0, 1};
  CHECK(near(at::einsum("ij,kj,k->i", {x, x, k}, at::IntArrayRef(path)), {1298, 1382, 1620, 1506}));
  CHECK(near(at::einsum("ij,kj,k->i", {x, x, k}, {1, 2, 0, 1}), {1298, 1382, 1620, 1506}));
  CHECK(near(at::einsum("ij->i", {x}, at::OptionalIntArrayRef()), {26, 25, 24, 23}));
  CHECK_THROWS_AS(at::einsum("ij,kj->ik", {x, x}, {1, 1}), c10::Error);
  CHECK_THROWS_AS(at::einsum("ij,kj,k->i", {x, x, k}, at::IntArrayRef(short_path)), c10::Error);
  CHECK_THROWS_AS(at::einsum("ij,kj,k->i", {x, x, k}, at::IntArrayRef(wrong)), c10::Error);
}

TEST_CASE("lists, rounding modes and losses by position") {
  const auto x = numbers(), n = torch::tensor({1, 2});
  const auto matrices = at::atleast_2d(std::vector<torch::Tensor>{x[0], x[0][1]});
  CHECK(matrices[0].sizes() == at::IntArrayRef{1, 5});
  CHECK(matrices[1].sizes() == at::IntArrayRef{1, 1});
  CHECK(at::atleast_1d(std::vector<torch::Tensor>{x[0][1]})[0].dim() == 1);
  CHECK(at::atleast_3d(std::vector<torch::Tensor>{x, x})[1].sizes() == at::IntArrayRef{4, 5, 1});
  CHECK(near(at::meshgrid({n, n}, std::string_view("xy"))[0], {1, 2, 1, 2}));
  CHECK(near(at::divide(torch::tensor({-7.F}), 2, "floor"), {-4}));
  CHECK(near(at::divide(torch::tensor({-7.F}), torch::tensor({2}), "trunc"), {-3}));
  auto out = torch::empty({0});
  CHECK(near(at::divide_out(out, torch::tensor({-7.F}), torch::tensor({2.F}), "floor"), {-4}));
  CHECK(near(at::multi_margin_loss(x, torch::arange(4), 1, 0.5, {}, at::Reduction::Mean), {1.875}));
  const auto weight = torch::tensor({0.5F, 0.25F, 1.F, 2.F, 0.F});
  CHECK(near(at::multi_margin_loss(x, torch::arange(4), 2, 1, weight, at::Reduction::Sum), {39.8}));
}

TEST_CASE("functions that write their argument") {
  const auto leaf = torch::tensor({0.5F, -1.F}).requires_grad_();
  const auto gradient = [&](auto write) {
    leaf.mutable_grad() = torch::Tensor();
    auto y = leaf * 1;
    write(y).sum().backward();
    return leaf.grad();
  };
  CHECK(near(gradient([](torch::Tensor& y) { return at::gelu_(y); }), {0.8674951, -0.08331543}));
  CHECK(near(gradient([](torch::Tensor& y) { return at::elu_(y, 1, 2, 0.5); }), {2, 0.6065307}));
  CHECK(near(gradient([](torch::Tensor& y) { return at::xlogy_(y, 2); }), {0.6931472, 0.6931472}));
  auto y = torch::tensor({-5.F, 2.F});
  CHECK(near(at::elu_(y, 1, 2, 0.5), {-1.83583, 4}));
  CHECK(near(at::gelu_(y, "tanh"), {-0.0609726, 3.99993}));
  CHECK(near(y.xlogy_(torch::Scalar(1)), {0, 0}));
  CHECK(at::resize_as_(y, torch::ones({1, 3}), std::optional<at::MemoryFormat>()).sizes() == at::IntArrayRef{1, 3});
}

// LibTorch has these on GPUs only.
TEST_CASE("products of half precision in float32") {
  const auto a = torch::full({1, 3}, 2049).to(torch::kBFloat16), b = torch::ones({3, 2}, torch::kBFloat16);
  const auto c = torch::tensor({{0.5F, 1.F}}).to(torch::kBFloat16);
  const auto exact = at::mm(a, b, torch::kFloat);
  CHECK(exact.dtype() == torch::kFloat);
  CHECK(near(exact, {6144, 6144}));
  CHECK(at::mm(a, b, torch::kBFloat16).dtype() == torch::kBFloat16);
  CHECK(near(at::bmm(a.unsqueeze(0), b.unsqueeze(0), torch::kFloat), {6144, 6144}));
  CHECK(near(at::addmm(c, a, b, torch::kFloat, 2, 0.5), {3073, 3074}));
  CHECK(near(at::baddbmm(c.unsqueeze(0), a.unsqueeze(0), b.unsqueeze(0), torch::kFloat), {6144.5, 6145}));
  CHECK_THROWS_AS(at::mm(a, b, torch::kDouble), c10::Error);
  CHECK_THROWS_AS(at::mm(a.to(torch::kDouble), b.to(torch::kDouble), torch::kFloat), c10::Error);
  auto out = torch::empty({0});
  CHECK(near(at::mm_out(out, a, b, torch::kFloat), {6144, 6144}));
  CHECK(near(at::addmm_out(out, c, a, b, torch::kFloat), {6144.5, 6145}));
  CHECK(near(at::bmm_out(out, a.unsqueeze(0), b.unsqueeze(0), torch::kFloat), {6144, 6144}));
  CHECK(near(at::baddbmm_out(out, c.unsqueeze(0), a.unsqueeze(0), b.unsqueeze(0), torch::kFloat, 0), {6144, 6144}));
}

TEST_CASE("tensors set on a storage") {
  const auto x = numbers(), y = x.clone();
  CHECK(near(at::set(x, x.storage(), 2, {2, 2}, {1, 4}), {3, 9, 10, 5}));
  CHECK(at::set(x, x[0].clone().storage()).sizes() == at::IntArrayRef{5});
  CHECK(at::set(torch::zeros({1}, torch::kInt), x.storage()).dtype() == torch::kInt);
  CHECK(x.sizes() == at::IntArrayRef{4, 5});
  CHECK(near(y.set_(x.storage(), 1, {2}), {7, 3}));
  CHECK(near(y.set_(x, 1, {2}, {3}), {7, 6}));
  CHECK(y.set_(x.storage()).sizes() == at::IntArrayRef{20});
  CHECK(y.is_alias_of(x));
  auto out = torch::empty({0});
  CHECK(near(at::set_out(out, torch::zeros({1}), x.storage(), 1, {2}), {7, 3}));
  CHECK_THROWS_AS(y.set_(x.storage(), 19, {2}), c10::Error);  // LibTorch makes the storage larger
}

TEST_CASE("factories with four optional parameters") {
  const auto x = numbers();
  const auto seeded = [] { return at::make_generator<at::CPUGeneratorImpl>(7); };
  const auto last = at::MemoryFormat::ChannelsLast;
  CHECK(at::zeros({2}, torch::kInt, null, null, null).dtype() == torch::kInt);
  CHECK(near(at::zeros({2}, null, at::kStrided, at::Device(at::kCPU), false), {0, 0}));
  CHECK(near(at::ones({2}, null, null, null, null), {1, 1}));
  CHECK(at::empty({1, 2, 3, 4}, torch::kLong, null, null, null, last).is_contiguous(last));
  CHECK(at::full({2}, 3, null, null, null, null).dtype() == torch::kLong);
  CHECK(near(at::full({2}, 3, torch::kFloat, null, null, null), {3, 3}));
  CHECK(at::empty_like(x, torch::kInt, null, null, null, null).dtype() == torch::kInt);
  CHECK(near(at::zeros_like(x[0], null, null, null, null, null), {0, 0, 0, 0, 0}));
  CHECK(at::ones_like(x, null, null, null, null, null).dtype() == torch::kFloat);
  CHECK(near(at::full_like(x[0], 2, torch::kLong, null, null, null, null), {2, 2, 2, 2, 2}));
  CHECK(at::empty_strided({2, 3}, {1, 2}, torch::kInt, null, null, null).stride(1) == 2);
  CHECK(at::empty_permuted({2, 3}, {1, 0}, torch::kInt, null, null, null).stride(1) == 2);
  CHECK(near(at::scalar_tensor(2, torch::kLong, null, null, null), {2}));
  CHECK(at::arange(3, null, null, null, null).dtype() == torch::kLong);
  CHECK(near(at::arange(1, 3, torch::kFloat, null, null, null), {1, 2}));
  CHECK(near(at::arange(1, 6, 2, null, null, null, null), {1, 3, 5}));
  CHECK(at::range(0, 2, null, null, null, null).dtype() == torch::kFloat);
  CHECK(near(at::range(0, 4, 2, torch::kLong, null, null, null), {0, 2, 4}));
  CHECK(near(at::linspace(0, 1, 3, null, null, null, null), {0, 0.5, 1}));
  CHECK(near(at::linspace(number(0), number(4), 3, torch::kLong, null, null, null), {0, 2, 4}));
  CHECK(near(at::logspace(0, 2, 3, 10.0, torch::kLong, null, null, null), {1, 10, 100}));
  CHECK(near(at::eye(2, torch::kLong, null, null, null), {1, 0, 0, 1}));
  CHECK(near(at::eye(2, 3, null, null, null, null), {1, 0, 0, 0, 1, 0}));
  CHECK(at::tril_indices(2, 2, 0, null, null, null, null).dtype() == torch::kLong);
  CHECK(near(at::triu_indices(2, 2, 0, torch::kInt, null, null, null), {0, 0, 1, 0, 1, 1}));
  CHECK(near(at::fft_fftfreq(4, 2.0, null, null, null, null), {0, 0.125, -0.25, -0.125}));
  CHECK(near(at::fft_rfftfreq(4, 2.0, torch::kDouble, null, null, null), {0, 0.125, 0.25}));
  CHECK(near(at::bartlett_window(4, null, null, null, null), values_of(torch::bartlett_window(4))));
  CHECK(near(at::hann_window(4, false, null, null, null, null), values_of(torch::hann_window(4, false))));
  CHECK(near(at::blackman_window(4, false, torch::kDouble, null, null, null), {0, 0.63, 0.63, 0}));
  CHECK(near(at::hamming_window(4, true, 0.5, 0.25, null, null, null, null), {0.25, 0.5, 0.75, 0.5}));
  CHECK(near(at::kaiser_window(4, true, 3.0, null, null, null, null), {0.2048847, 0.7269255, 1, 0.7269255}));
  CHECK(at::rand({3}, seeded(), null, null, null, null).equal(torch::rand({3}, seeded())));
  CHECK(at::rand({3}, torch::kDouble, null, null, null).dtype() == torch::kDouble);
  CHECK(at::randn({3}, seeded(), null, null, null, null).equal(torch::randn({3}, seeded())));
  CHECK(at::randint(5, {3}, null, null, null, null).dtype() == torch::kFloat);
  CHECK(near(at::randint(4, 5, {2}, seeded(), torch::kInt, null, null, null), {4, 4}));
  CHECK(at::randperm(5, seeded(), torch::kInt, null, null, null).equal(torch::randperm(5, seeded(), torch::kInt)));
  CHECK(near(at::normal(2, 0, {2}, null, torch::kDouble, null, null, null), {2, 2}));
  CHECK(at::rand_like(x, seeded(), torch::kDouble, null, null, null, null).dtype() == torch::kDouble);
  CHECK(at::randn_like(x, seeded(), null, null, null, null, null).equal(at::randn_like(x, seeded())));
  CHECK(near(at::randint_like(x[0], 1, torch::kLong, null, null, null, null), {0, 0, 0, 0, 0}));
  CHECK(near(at::randint_like(x[0], 3, 4, seeded(), null, null, null, null, null), {3, 3, 3, 3, 3}));
  CHECK(at::randint_like(x, number(1), null, null, null, null, null).dtype() == torch::kFloat);
  CHECK_THROWS_AS(at::from_file("/nowhere", null, 2, null, null, null, null), c10::Error);
  CHECK_THROWS_AS(at::zeros({2}, null, null, at::Device("cuda:99"), null), c10::Error);
  CHECK(x.new_empty({2}, torch::kInt, null, null, null).dtype() == torch::kInt);
  CHECK(x.new_zeros({2}, null, null, null, null).dtype() == torch::kFloat);
  CHECK(near(x.new_ones({2}, torch::kLong, null, null, null), {1, 1}));
  CHECK(near(x.new_full({2}, 3, null, null, null, null), {3, 3}));
  CHECK(x.new_empty_strided({2, 3}, {1, 2}, torch::kInt, null, null, null).stride(1) == 2);
}

TEST_CASE("outputs in a memory format") {
  const auto x = numbers()[0];
  auto out = torch::empty({0});
  CHECK(near(at::full_like_out(out, x, 3, null), {3, 3, 3, 3, 3}));
  CHECK(near(at::ones_like_out(out, x, null), {1, 1, 1, 1, 1}));
  CHECK(near(at::zeros_like_out(out, x, null), {0, 0, 0, 0, 0}));
  CHECK(near(at::clone_out(out, x, null), values_of(x)));
  CHECK(at::empty_like_out(out, x, null).sizes() == x.sizes());
  CHECK(at::empty_out(out, {5}, null).sizes() == x.sizes());
  CHECK(near(at::sum_out(out, x, at::OptionalIntArrayRef(), true), {26}));
  CHECK(near(at::mean_out(out, x, at::OptionalIntArrayRef(), true), {5.2}));
  CHECK(near(at::nansum_out(out, x, at::OptionalIntArrayRef()), {26}));
  CHECK(near(at::nanmean_out(out, x, at::OptionalIntArrayRef()), {5.2}));
  out = torch::empty({0}, torch::kBool);
  CHECK(near(at::any_out(out, x, at::OptionalIntArrayRef(), true), {1}));
  CHECK(near(at::all_out(out, x, at::OptionalIntArrayRef()), {0}));
}

TEST_CASE("tensors on memory of the program") {
  double data[] = {0, 1, 2, 3, 4, 5};
  int deleted = 0;
  const std::function<void(void*)> deleter = [&](void* block) { deleted += block == data; };
  {
    const auto a = at::from_blob(data, {2, 2}, {2, 1}, 1, deleter, torch::kDouble);
    CHECK(near(a, {1, 2, 3, 4}));
    CHECK(a.storage_offset() == 1);
    CHECK(a.storage().nbytes() == 5 * sizeof(double));
    CHECK(a.data_ptr() == data + 1);
    const auto b = at::from_blob(data, {2}, {3}, deleter, torch::kDouble, at::Device(at::kCPU));
    const auto c = at::from_blob(data, {3}, deleter, torch::kDouble, at::Device(at::kCPU));
    CHECK(near(b, {0, 3}));
    CHECK(near(c, {0, 1, 2}));
    CHECK(deleted == 0);
  }
  CHECK(deleted == 3);
  CHECK(near(at::from_blob(data, {1}, std::function<void(void*)>(), torch::kDouble), {0}));
  CHECK(near(at::for_blob(data, {3}).strides({2}).options(torch::kDouble).make_tensor(), {0, 2, 4}));
  const at::OptionalIntArrayRef row_major;
  CHECK(near(at::for_blob(data, {1, 2}).strides(row_major).options(torch::kDouble).make_tensor(), {0, 1}));
  const auto add = [](void* count) { ++*static_cast<int*>(count); };
  {
    auto maker = at::for_blob(data, {2});
    const auto a = maker.context(&deleted, add).storage_offset(4).options(torch::kDouble).make_tensor();
    CHECK(near(a, {4, 5}));
    CHECK(deleted == 3);
  }
  CHECK(deleted == 4);
  { at::for_blob(data, {2}).context(&deleted, add); }
  CHECK(deleted == 5);
  const auto cpu = at::Device(at::kCPU);
  CHECK(near(at::for_blob(data, {1}).target_device(cpu).options(torch::kDouble).make_tensor(), {0}));
  CHECK_THROWS_AS(at::for_blob(data, {1}).deleter(deleter).context(data).make_tensor(), c10::Error);
  // LibTorch throws when the tensor is used.
  CHECK_THROWS_AS(at::for_blob(data, {1}).storage_offset(-1).options(torch::kDouble).make_tensor(), c10::Error);
}

TEST_CASE("no dimension and no dtype look the same, which is ambiguous in LibTorch") {
  const auto x = numbers();
  CHECK(near(x.sum(std::nullopt), {98}));
  CHECK(near(torch::mean(x, std::nullopt), {4.9}));
}
