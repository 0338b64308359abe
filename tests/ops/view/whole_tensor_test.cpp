// Functions of a whole tensor and folds that the comparison with PyTorch does not reach.
#include <doctest/doctest.h>

#include <fstream>

#include "tandem/tandem.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;

TEST_CASE("from_file maps numbers of a file") {
  const test::TempFolder folder;
  const std::string name = folder / "numbers";
  {
    const float numbers[] = {1, 2, 3};
    std::ofstream(name, std::ios::binary).write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
  CHECK(equal(from_file(name, false, 3), tensor({1.0, 2.0, 3.0})));
  CHECK_THROWS_WITH_AS(from_file(name, false, 4), doctest::Contains("12 bytes"), Error);
  from_file(name, false, 3).fill_(7);
  CHECK(from_file(name, false, 1).item<float>() == 1);
  from_file(name, true, 5).fill_(7);
  CHECK(equal(from_file(name, false, 5), full({5}, 7.0)));
  CHECK_THROWS_WITH_AS(from_file(name + ".none", false, 1), doctest::Contains("cannot open"), Error);
}

TEST_CASE("tensors with given strides") {
  const Tensor t = empty_strided({2, 3}, {1, 4});
  CHECK(t.strides() == IntArrayRef({1, 4}));
  CHECK(t.fill_(1).sum().item<float>() == 6);
  CHECK(empty_permuted({2, 3, 4}, {2, 0, 1}).strides() == IntArrayRef({3, 1, 6}));
  CHECK((new_empty_strided(t, {2}, {3}, kLong).dtype() == kLong));
  CHECK_THROWS_AS(empty_strided({2}, {-1}), Error);
  CHECK_THROWS_AS(empty_strided({INT64_MAX, 2}, {INT64_MAX, 1}), Error);
  CHECK_THROWS_AS(empty_permuted({2, 3}, {0, 0}), Error);
}

TEST_CASE("set_ and as_strided_ change the geometry of a handle") {
  Tensor x = zeros({2});
  const Tensor y = arange(6).to(kFloat).view({2, 3});
  CHECK(set_(x, y).sizes() == y.sizes());
  CHECK(x.data_ptr() == y.data_ptr());
  as_strided_(x, {3}, {2}, 1);
  CHECK(equal(x, tensor({1.0, 3.0, 5.0})));
  set_(x);
  CHECK(x.numel() == 0);
  CHECK_THROWS_AS(set_(x, zeros({2}, kLong)), Error);
  Tensor leaf = zeros({2}).requires_grad_();
  CHECK_THROWS_AS(set_(leaf, y), Error);
  CHECK_THROWS_AS(as_strided_(leaf, {1}, {1}), Error);
}

TEST_CASE("scatter with a fold") {
  Tensor x = ones({4});
  CHECK(equal(scatter_(x, 0, tensor({1, 1, 2}), tensor({2.0, 3.0, 4.0}), "add"), tensor({1.0, 6.0, 5.0, 1.0})));
  CHECK(equal(scatter_(x, 0, tensor({1, 1, 2}), 2, "multiply"), tensor({1.0, 24.0, 10.0, 1.0})));
  CHECK_THROWS_AS(scatter(x, 0, tensor({1}), 2, "max"), Error);
  CHECK_THROWS_AS(scatter_reduce(x, 0, tensor({4}), tensor({2.0}), "prod"), IndexError);
  CHECK_THROWS_AS(scatter_reduce(x, 0, tensor({1}), tensor({2.0}), "max"), Error);
}

TEST_CASE("members give what the functions give") {
  const Tensor x = tensor({{1.0, 5.0, 3.0}, {4.0, 2.0, 6.0}}), n = tensor({12, 18}), index = tensor({0, 0});
  CHECK(equal(n.gcd(tensor({8, 27})), tensor({4, 9})));
  CHECK(equal(n.lcm(tensor({8, 27})), tensor({24, 54})));
  CHECK(equal(n.clone().gcd_(tensor({8, 27})), tensor({4, 9})));
  CHECK(equal(std::get<0>(x.cummax(1)), tensor({{1.0, 5.0, 5.0}, {4.0, 4.0, 6.0}})));
  CHECK(equal(std::get<1>(x.cummin(1)), tensor({{0, 0, 0}, {0, 1, 1}})));
  CHECK(equal(std::get<1>(tensor({8.0, 0.0}).frexp()), tensor({4, 0}, kInt)));
  CHECK(equal(x.ldexp(tensor({1})), x * 2));
  CHECK(x.nanmedian().item<float>() == 3);
  CHECK(x.nanquantile(1, nullopt, false, "lower").item<float>() == 6);
  CHECK(x.quantile(0.3, nullopt, false, "lower").item<float>() == 2);
  CHECK(equal(x.clone().scatter_(1, tensor({{0}, {1}}), 10, "add"), tensor({{11.0, 5.0, 3.0}, {4.0, 12.0, 6.0}})));
  CHECK(equal(x.index_reduce(0, index, x, "amax"), tensor({{4.0, 5.0, 6.0}, {4.0, 2.0, 6.0}})));
  CHECK(equal(x.clone().put_(tensor({-1}), tensor({9.0})).select(0, 1), tensor({4.0, 2.0, 9.0})));
  CHECK(x.nonzero_numpy().size() == 2);
  CHECK(x.cov().sizes() == IntArrayRef({2, 2}));
  CHECK(equal(tensor({-1.0, 0.0}).heaviside_(tensor({5.0, 5.0})), tensor({0.0, 5.0})));
  CHECK(equal(tensor({3.0}, kDouble).float_power_(2), tensor({9.0}, kDouble)));
  CHECK_THROWS_AS(tensor({3.0}).float_power_(2), Error);
  CHECK(empty({3}).set_().numel() == 0);
}

TEST_CASE("alias() is a view of the whole tensor, whatever its strides") {
  const Tensor x = tandem::arange(6).to(kFloat).reshape({2, 3}), all = x.t().alias();
  CHECK(all.is_alias_of(x));
  CHECK(all.sizes() == x.t().sizes());
  CHECK(all.strides() == x.t().strides());
}
