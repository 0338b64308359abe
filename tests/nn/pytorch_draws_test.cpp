// Generators, and the numbers that GeneratorMode::kPyTorch shares with PyTorch 2.15 after the same seed.
#include <doctest/doctest.h>

#include <cstring>

#include <mutex>

#include "tandem/tests/as_pytorch.h"
#include "tandem/tests/nn/layers/volumes.h"

using namespace tandem;
using namespace tandem::testing;
using test::AsPyTorch;

namespace {

bool is(const Tensor& t, const std::vector<double>& values, double tolerance = 1e-7) {
  return allclose(t.detach().to(kDouble).reshape({-1}), tensor(values).to(kDouble), tolerance, tolerance);
}

}  // namespace

TEST_CASE("Initial values of layers are PyTorch's") {
  {
    const AsPyTorch mode(7);
    nn::Linear layer(3, 2);
    CHECK(is(layer->weight, {0.04032508, -0.3477921, 0.1838418, 0.1811613, -0.3085804, -0.08653163}));
    CHECK(is(layer->bias, {-0.3382279, 0.1498066}));
  }
  const AsPyTorch mode(7);
  nn::Conv2d layer(1, 2, 2);
  CHECK(
      is(layer->weight, {0.03492254, -0.3011968, 0.1592117, 0.1568903, -0.2672384, -0.0749386, -0.292914, 0.1297364}));
  CHECK(is(layer->bias, {-0.1346838, 0.3512684}));
}

// One sequence of draws: an operation that took another number of words would shift all after it.
TEST_CASE("A sequence of draws is PyTorch's") {
  const AsPyTorch mode(7);
  CHECK(is(rand({4}), {0.5349225, 0.1988032, 0.6592117, 0.6568903}));
  CHECK(is(randn({3}), {0.9468216, -1.114344, 1.69079}, 1e-6));
  CHECK(is(randn({20}), {0.6094735, -0.5811338, 0.04904387, -0.3204769, -0.08352823, -0.02347793, 0.1743754,
                         2.298343,  0.9571022,  -0.6618676, -0.8284521, -0.6056803,  -1.401251,   1.297336,
                         1.640933,  -1.056684,  -0.2615867, -0.2501326, 0.5011215,   0.2600362},
           2e-6));
  CHECK(is(randint(-5, 100, {5}), {27, 77, 94, 54, 87}));
  CHECK(is(randperm(8), {3, 7, 5, 0, 2, 6, 4, 1}));
  CHECK(is(empty({8}).bernoulli_(0.3), {0, 1, 0, 0, 0, 1, 1, 1}));
  CHECK(is(bernoulli(full({8}, 0.3)), {0, 0, 0, 0, 0, 1, 0, 0}));
  CHECK(is(dropout(ones({8}), 0.4, true), {1.6666666, 1.6666666, 1.6666666, 1.6666666, 0, 1.6666666, 1.6666666, 0}));
  CHECK(is(empty({3}).exponential_(2), {0.01114064, 0.2365372, 0.117843}, 1e-6));
  const Tensor weights = tensor({0.1, 0.2, 0.7}).to(kFloat);
  CHECK(is(multinomial(weights, 8, true), {2, 2, 2, 2, 2, 2, 2, 2}));
  CHECK(is(multinomial(stack({weights, tensor({0.3, 0.3, 0.4}).to(kFloat)}), 2), {2, 1, 2, 1}));
  CHECK(is(rand({2}, kDouble), {0.458761, 0.5250052}));
  randint(0, int64_t{1} << 40, {2});
  const Tensor wide = randint(0, int64_t{1} << 40, {2});
  CHECK(wide[0].item<int64_t>() == 603582738892);
  CHECK(wide[1].item<int64_t>() == 339472695069);
  CHECK(is(rand({1}), {0.5270772}));
}

TEST_CASE("Poisson numbers and what clones draw are PyTorch's") {
  {
    const AsPyTorch mode(1);
    CHECK(is(poisson(tensor({3.f, 0.5f, 20.f, 100.f, 9.9f, 10.f})), {1, 0, 15, 85, 10, 10}));
    CHECK(is(rand({1}), {0.9906}, 1e-4));
  }
  const AsPyTorch mode(1);
  const nn::TransformerEncoder encoder(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(8), 2));
  CHECK(is(rand({1}), {0.1275}, 1e-3));
}

TEST_CASE("Normal numbers in float16 and of tensors are PyTorch's") {
  const AsPyTorch mode(7);
  CHECK(is(randn({20}, kHalf), {-0.8203125, 0.395752,   0.8989258, -1.388672, -1.583008,  -0.3244629, 1.926758,
                                -0.3300781, 0.1984863,  0.7822266, 1.039062,  -0.7246094, -0.2093506, -0.215332,
                                -1.81543,   -0.3452148, -2.060547, 0.6743164, -1.323242,  -1.359375},
           1e-3));
  CHECK(is(normal(tensor({1.0, 2.0, 3.0}).to(kFloat), tensor({0.1, 0.2, 0.3}).to(kFloat)),
           {1.243821, 2.040552, 3.735162}, 1e-6));
}

TEST_CASE("Tensors are filled in the order of their memory") {
  const Tensor columns = empty({4, 3}).t();
  const AsPyTorch mode(3);
  const Tensor rows = rand({4, 3}, Generator(3));
  CHECK(equal(Tensor(columns).uniform_(), rows.t()));
  CHECK(equal(rand_like(columns, Generator(3)), rows.t()));
  CHECK_THROWS_AS(empty({2}, kByte).random_(300, optional<int64_t>()), Error);
}

TEST_CASE("random_ without an upper bound") {
  const Tensor t = empty({1000}, kByte).random_(250, optional<int64_t>());
  CHECK(t.min().item<int>() == 250);
  CHECK(t.max().item<int>() == 255);
}

TEST_CASE("The state of a generator") {
  for (const GeneratorMode mode : {GeneratorMode::kPhilox, GeneratorMode::kPyTorch}) {
    set_generator_mode(mode);
    Generator generator = make_generator<CPUGeneratorImpl>(11);
    CHECK(generator.current_seed() == 11);
    rand({5}, generator);
    randn({1}, generator);
    const Tensor state = generator.get_state();
    CHECK((state.dtype() == kByte));
    const Generator copy = generator.clone();
    CHECK(!(copy == generator));
    const Tensor next = randn({3}, generator);
    CHECK(equal(randn({3}, copy), next));
    generator.set_state(state);
    CHECK(equal(randn({3}, generator), next));
    {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_current_seed(11);
    }
    const Tensor first = rand({3}, generator);
    CHECK(equal(rand({3}, detail::createCPUGenerator(11)), first));
    CHECK(is(first, {0.1490417, 0.4865531, 0.9856615}) == (mode == GeneratorMode::kPyTorch));
    const uint64_t seed = generator.seed();
    CHECK(generator.current_seed() == seed);
    CHECK(generator.seed() != seed);
    CHECK(generator.device().is_cpu());
    CHECK(generator.defined());
    CHECK_THROWS_AS(generator.set_state(zeros({7}, kByte)), Error);
    CHECK_THROWS_AS(generator.set_state(state.to(kInt)), Error);
    if (mode == GeneratorMode::kPyTorch) {  // the words of the Mersenne Twister, then how many of them are taken
      const Tensor broken = state.clone();
      for (const uint32_t taken : {624u, 625u, ~0u}) {
        std::memcpy(broken.data_ptr<uint8_t>() + 16 + 624 * 4, &taken, sizeof taken);
        if (taken == 624)
          generator.set_state(broken);
        else
          CHECK_THROWS_WITH_AS(generator.set_state(broken),
                               "Generator::set_state: the bytes are not a state of get_state()", Error);
      }
    }
    CHECK_THROWS_AS(multinomial(tensor({-1.0, 2.0}), 1), Error);
    CHECK_THROWS_AS(multinomial(tensor({0.0, 2.0}), 2), Error);
    CHECK_THROWS_WITH_AS(multinomial(tensor({{3.0, 2.0}, {0.0, 2.0}}), 2), doctest::Contains("1 positive"), Error);
    CHECK_THROWS_AS(multinomial(tensor({{3.0, 2.0}, {0.0, 0.0}}), 1, true), Error);
  }
  set_generator_mode(GeneratorMode::kPhilox);
}
