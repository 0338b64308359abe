// The smallest arguments that are legal: tensors without dimensions or elements, and inputs that have one window.
#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("the index of a number without dimensions is 0") {
  const Tensor x = tensor(3.0);
  for (const ScalarType type : {kFloat, kHalf, kLong}) {
    const Tensor number = x.to(type);
    for (const auto& [value, index] :
         {max(number, 0), min(number, -1), sort(number), topk(number, 1), kthvalue(number, 1), median(number, 0),
          mode(number, 0), cummax(number, 0), cummin(number, 0), nanmedian(number, 0)}) {
      CHECK(show(value) == "[] 3");
      CHECK(show(index) == "[] 0");
    }
    CHECK(show(argmax(number)) == "[] 0");
    CHECK(show(argmin(number, 0)) == "[] 0");
    CHECK(show(argsort(number)) == "[] 0");
    CHECK(show(nonzero(number)) == "[1, 0]");
  }
}

TEST_CASE("a number without dimensions is indexed as a vector of one element") {
  const Tensor x = tensor(3.0).requires_grad_(), first = indices({0});
  for (const Tensor& read : {index_select(x, 0, first), x.gather(0, first[0]), x.take(first[0]), x.expand({1})[0]}) {
    CHECK(show(read) == "[] 3");
    CHECK(show(autograd::grad({read}, {x})[0]) == "[] 1");
  }
  CHECK(show(masked_select(x, mask_of({1})[0])) == "[1] 3");
  CHECK(show(masked_select(x, mask_of({0})[0])) == "[0]");
  CHECK_THROWS_WITH_AS(index_select(x, 0, indices({0, 0})), doctest::Contains("takes one index"), Error);
  const Tensor number = tensor(3.0), two = tensor(2.0);
  CHECK(show(number.scatter(0, first[0], two)) == "[] 2");
  CHECK(show(number.scatter_add(0, first[0], two)) == "[] 5");
  CHECK(show(number.scatter_reduce(0, first[0], two, "prod")) == "[] 6");
  CHECK(show(number.put(first[0], two)) == "[] 2");
  CHECK(show(index_add(number, 0, first, two.reshape({1}))) == "[] 5");
  for (const int64_t dim : {0, -1}) {
    CHECK(show(take_along_dim(number, first[0], dim)) == "[] 3");
    CHECK(show(repeat_interleave(number, 2, dim)) == "[2] 3 3");
    CHECK(show(repeat_interleave(number, indices({2}), dim)) == "[2] 3 3");
    CHECK(show(number.index_fill(dim, first, 7)) == "[] 7");
    CHECK(show(number.index_copy(dim, first, two)) == "[] 2");
    CHECK(show(number.clone().index_fill_(dim, first, 7)) == "[] 7");
    CHECK(show(number.clone().index_copy_(dim, first, two)) == "[] 2");
    CHECK(show(number.clone().index_add_(dim, first, two)) == "[] 5");
  }
  CHECK(show(repeat_interleave(number, 3)) == "[3] 3 3 3");
  CHECK(show(repeat_interleave(number, 0, 0)) == "[0]");
}

TEST_CASE("products with a number without dimensions multiply each element") {
  const Tensor x = counting({2, 2}), number = tensor(3.0);
  CHECK(show(inner(x, number)) == "[2, 2] 0 3 6 9");
  CHECK(show(inner(number, x)) == "[2, 2] 0 3 6 9");
  CHECK(show(inner(number, number)) == "[] 9");
  CHECK(show(kron(x, number)) == "[2, 2] 0 3 6 9");
  CHECK(show(tensordot(number, x, IntArrayRef(), IntArrayRef())) == "[2, 2] 0 3 6 9");
}

TEST_CASE("dropouts give a tensor without elements back, of any dtype, and draw nothing") {
  for (const auto& function : {dropout, alpha_dropout, feature_dropout, feature_alpha_dropout})
    for (const ScalarType type : {kFloat, kHalf, kLong, kBool}) {
      const Tensor empty = zeros({2, 0, 3}, type);
      manual_seed(5);
      CHECK(function(empty, 0.5, true).dtype() == type);
      const Tensor after = rand({3});
      manual_seed(5);
      CHECK(equal(after, rand({3})));
    }
}

// As in PyTorch, the window of unfold and its inverse may be as long as the dimension.
TEST_CASE("a window of the whole dimension is put back where it was") {
  const Tensor x = counting({2, 3});
  CHECK(show(unfold_backward(x.unfold(1, 3, 1), {2, 3}, 1, 3, 1)) == show(x));
  CHECK(show(unfold_backward(x.unfold(0, 2, 5), {2, 3}, 0, 2, 5)) == show(x));
  CHECK(show(unfold_backward(x.unfold(1, 1, 1), {2, 3}, 1, 1, 1)) == show(x));
  const Tensor windows = ones({2, 1, 3});
  CHECK_THROWS_WITH_AS(unfold_backward(windows, {2, 3}, 1, 4, 1), doctest::Contains("a window 4"), Error);
  CHECK_THROWS_WITH_AS(unfold_backward(windows, {2, 3}, 1, 0, 1), doctest::Contains("a window 0"), Error);
  CHECK_THROWS_WITH_AS(unfold_backward(windows, {2, 3}, 1, 3, 0), doctest::Contains("step 0"), Error);
}

TEST_CASE("put without positions leaves a tensor as it is") {
  CHECK(show(zeros({0, 2}).put(indices({}), zeros({0}))) == "[0, 2]");
  CHECK(show(counting({2, 2}).put(indices({}), zeros({0}))) == "[2, 2] 0 1 2 3");
  CHECK(show(counting({2, 2}).put(indices({2, -1}), full({2}, 7.0))) == "[2, 2] 0 1 7 7");
  CHECK_THROWS_AS(zeros({0}).put(indices({0}), zeros({1})), Error);
}

// Each takes an input [1, 1, size…] of one window, also without the batch, and refuses one that is shorter in any
// dimension.
TEST_CASE("operations with windows take an input of one window, and none that is smaller") {
  using Function = Tensor (*)(const Tensor&);
  struct Windowed {
    const char* name;
    std::vector<int64_t> sizes;  // of the smallest input, without batch and channels
    Function function;
  };
  static const auto samples = [](int64_t rank) { return full({1, 1, rank}, 0.5); };
  const Windowed operations[] = {
      {"max_pool1d", {3}, [](const Tensor& x) { return max_pool1d(x, 3); }},
      {"max_pool1d, dilated", {5}, [](const Tensor& x) { return max_pool1d(x, 3, 1, 0, 2); }},
      {"max_pool2d",
       {2, 3},
       [](const Tensor& x) {
         return max_pool2d(x, {2, 3});
       }},
      {"max_pool2d, dilated",
       {3, 5},
       [](const Tensor& x) {
         return max_pool2d(x, {2, 3}, 1, 0, 2);
       }},
      {"max_pool3d",
       {2, 3, 1},
       [](const Tensor& x) {
         return max_pool3d(x, {2, 3, 1});
       }},
      {"avg_pool1d", {3}, [](const Tensor& x) { return avg_pool1d(x, 3); }},
      {"avg_pool2d",
       {2, 3},
       [](const Tensor& x) {
         return avg_pool2d(x, {2, 3});
       }},
      {"avg_pool3d",
       {2, 3, 2},
       [](const Tensor& x) {
         return avg_pool3d(x, {2, 3, 2});
       }},
      {"fractional_max_pool2d",
       {3, 4},
       [](const Tensor& x) {
         return std::get<0>(fractional_max_pool2d(x, {2, 3}, 2, samples(2)));
       }},
      {"fractional_max_pool3d",
       {4, 5, 4},
       [](const Tensor& x) {
         return std::get<0>(fractional_max_pool3d(x, {2, 3, 2}, 2, samples(3)));
       }},
      {"conv1d",
       {3},
       [](const Tensor& x) {
         return conv1d(x, ones({1, 1, 3}));
       }},
      {"conv1d, dilated",
       {5},
       [](const Tensor& x) {
         return conv1d(x, ones({1, 1, 3}), {}, 1, 0, 2);
       }},
      {"conv2d",
       {2, 3},
       [](const Tensor& x) {
         return conv2d(x, ones({1, 1, 2, 3}));
       }},
      {"conv2d, padded",
       {1, 2},
       [](const Tensor& x) {
         return conv2d(x, ones({1, 1, 3, 4}), {}, 2, 1);
       }},
      {"conv3d",
       {2, 3, 2},
       [](const Tensor& x) {
         return conv3d(x, ones({1, 1, 2, 3, 2}));
       }},
      {"unfold", {4}, [](const Tensor& x) { return x.unfold(2, 4, 1); }},
      {"im2col",
       {2, 3},
       [](const Tensor& x) {
         return im2col(x, {2, 3});
       }},
      {"reflection_pad1d",
       {3},
       [](const Tensor& x) {
         return reflection_pad1d(x, {2, 2});
       }},
      {"reflection_pad2d",
       {2, 3},
       [](const Tensor& x) {
         return reflection_pad2d(x, {2, 2, 1, 1});
       }},
  };
  for (const Windowed& operation : operations) {
    CAPTURE(operation.name);
    std::vector<int64_t> sizes{1, 1};
    sizes.insert(sizes.end(), operation.sizes.begin(), operation.sizes.end());
    const Tensor x = counting(sizes), y = operation.function(x);
    if (operation.name != std::string("unfold")) CHECK(show(operation.function(x[0])) == show(y[0]));
    for (std::size_t d = 2; d < sizes.size(); ++d) {
      CAPTURE(d);
      std::vector<int64_t> shorter = sizes;
      if (--shorter[d] > 0) CHECK_THROWS_AS(operation.function(counting(shorter)), Error);
    }
  }
}

TEST_CASE("options of windows have a number, or one for each dimension, and strides of 1 are the least") {
  const Tensor row = counting({1, 1, 4}), image = counting({1, 1, 4, 4}), volume = counting({1, 1, 4, 4, 4});
  CHECK_THROWS_AS(max_pool1d(row, 2, {1, 1}), Error);
  CHECK_THROWS_AS(max_pool1d(row, {2, 2}), Error);
  CHECK_THROWS_AS(max_pool1d(row, 2, 1, {1, 1}), Error);
  CHECK_THROWS_AS(max_pool1d(row, 2, 1, 0, {1, 1}), Error);
  CHECK_THROWS_AS(avg_pool1d(row, 2, {1, 1}), Error);
  CHECK_THROWS_AS(avg_pool1d(row, 2, 1, {1, 1}), Error);
  CHECK_THROWS_AS(max_pool2d(image, {2, 2, 2}), Error);
  CHECK_THROWS_AS(avg_pool2d(image, 2, {1, 1, 1}), Error);
  CHECK_THROWS_AS(im2col(image, {2, 2, 2}), Error);
  CHECK_THROWS_AS(avg_pool3d(volume, {2, 2}), Error);
  for (const int64_t stride : {0, -1}) {
    CHECK_THROWS_AS(max_pool1d(row, 2, stride), Error);
    CHECK_THROWS_AS(max_pool2d(image, 2, stride), Error);
    CHECK_THROWS_AS(avg_pool2d(image, 2, stride), Error);
    CHECK_THROWS_AS(avg_pool3d(volume, 2, stride), Error);
    CHECK_THROWS_AS(im2col(image, 2, 1, 0, stride), Error);
  }
  const auto [most, at] = max_pool3d_with_indices(volume, 2, 1);
  CHECK(max_unpool3d(most, at, {4, 4, 4}, {1, 1, 1}, {0, 0, 0}).sizes() == volume.sizes());
  CHECK_THROWS_AS(max_unpool3d(most, at, {4, 4, 4}, {1, 0, 1}, {0, 0, 0}), Error);
}

TEST_CASE("convolutions refuse strides, dilations and paddings below the least, and say which it is") {
  const Tensor x = ones({1, 2, 5}), w = ones({2, 2, 2}), image = ones({1, 2, 5, 5}), kernel = ones({2, 2, 2, 2});
  CHECK(conv1d(x, w, {}, 1, 0, 1).sizes() == IntArrayRef({1, 2, 4}));
  for (const int64_t least : {0, -1}) {
    CHECK_THROWS_WITH_AS(conv1d(x, w, {}, least), doctest::Contains("conv1d: stride must be from 1 to"), Error);
    CHECK_THROWS_WITH_AS(conv1d(x, w, {}, 1, 0, least), doctest::Contains("conv1d: dilation must be from 1 to"), Error);
    CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, {}, least), doctest::Contains("conv_transpose1d: stride"), Error);
    CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, {}, 1, 0, 0, 1, least), doctest::Contains("conv_transpose1d: dilation"),
                         Error);
    CHECK_THROWS_WITH_AS(conv2d(image, kernel, {}, least), doctest::Contains("conv2d: stride"), Error);
    CHECK_THROWS_WITH_AS(conv2d(image, kernel, {}, 1, 0, least), doctest::Contains("conv2d: dilation"), Error);
  }
  CHECK_THROWS_WITH_AS(conv1d(x, w, {}, 1, -1), doctest::Contains("conv1d: padding must be from 0 to"), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, w, {}, {1, 1}), doctest::Contains("conv1d: stride takes one number"), Error);
  CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, {}, 1, -1), doctest::Contains("conv_transpose1d: padding"), Error);
}

TEST_CASE("pooling refuses a volume without elements in any dimension but that of the batch") {
  for (const std::size_t d : {1, 2, 3, 4}) {
    std::vector<int64_t> sizes{2, 2, 2, 2, 2};
    sizes[d] = 0;
    const Tensor empty = zeros(sizes);
    CHECK_THROWS_WITH_AS(max_pool3d(empty, 1), doctest::Contains("max_pool3d: the volumes are empty"), Error);
    CHECK_THROWS_WITH_AS(avg_pool3d(empty, 1), doctest::Contains("avg_pool3d: the volumes are empty"), Error);
  }
  CHECK(max_pool3d(zeros({0, 2, 2, 2, 2}), 1).sizes() == IntArrayRef({0, 2, 2, 2, 2}));
}

TEST_CASE("cross products of vectors alone, and along each dimension") {
  const Tensor a = tensor({1.0, 2.0, 3.0}), b = tensor({4.0, 5.0, 6.0});
  CHECK(show(linalg_cross(a, b)) == "[3] -3 6 -3");
  CHECK(show(cross(a, b)) == "[3] -3 6 -3");
  CHECK(show(linalg_cross(a.view({3, 1}), b.view({3, 1}), 0)) == "[3, 1] -3 6 -3");
  CHECK(show(linalg_cross(a.view({1, 3}), b.view({1, 3}), -1)) == "[1, 3] -3 6 -3");
  CHECK_THROWS_WITH_AS(linalg_cross(a[0], b[0]), doctest::Contains("expected size 3"), Error);
  CHECK_THROWS_WITH_AS(linalg_cross(a.view({3, 1}), b.view({3, 1})), doctest::Contains("expected size 3"), Error);
}

TEST_CASE("singular values without vectors: zeros of the sizes of full matrices") {
  const Tensor a = tensor({3.0, 0.0, 0.0, 0.0, 2.0, 0.0}).view({2, 3});
  const auto [u, s, v] = svd(a, true, false);
  CHECK(show(u) == "[2, 2] 0 0 0 0");
  CHECK(values(s)[0] == doctest::Approx(3));
  CHECK(values(s)[1] == doctest::Approx(2));
  CHECK(show(v) == "[3, 3] 0 0 0 0 0 0 0 0 0");
  const auto [us, ss, vs] = svd(ones({4, 2, 3}).transpose(1, 2), false, false);
  CHECK(us.sizes() == IntArrayRef({4, 3, 3}));
  CHECK(ss.sizes() == IntArrayRef({4, 2}));
  CHECK(vs.sizes() == IntArrayRef({4, 2, 2}));
}

TEST_CASE("operations refuse numbers that are just out of range") {
  const Tensor x = ones({2, 3});
  for (const double p : {-0.01, 1.01}) {
    CHECK_THROWS_AS(dropout(x, p, true), Error);
    CHECK_THROWS_AS(dropout(x, p, false), Error);
    CHECK_THROWS_AS(alpha_dropout(x, p, true), Error);
    CHECK_THROWS_AS(feature_dropout(x, p, true), Error);
    CHECK_THROWS_AS(x.bernoulli(p), Error);
  }
  CHECK_THROWS_WITH_AS(one_hot(indices({})), doctest::Contains("cannot be inferred"), Error);
  CHECK_THROWS_AS(one_hot(indices({0}), 0), Error);
  CHECK(show(one_hot(indices({}), 2)) == "[0, 2]");
  CHECK_THROWS_AS(linalg_norm(ones({2, 2, 2}), 2, IntArrayRef({0, 1, 2})), Error);
  CHECK_THROWS_AS(linalg_norm(ones({2, 2, 2}), 2), Error);
  CHECK(show(linalg_norm(ones({2, 2, 2}), 1, IntArrayRef({0, 1}))) == "[2] 2 2");
  CHECK_THROWS_AS(linalg_lu(ones({2, 2}), /*pivot=*/false), Error);
  CHECK_THROWS_AS(linalg_lu_factor(ones({2, 2}), /*pivot=*/false), Error);
}
