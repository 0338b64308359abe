// Random numbers on a device equal the CPU's, bit for bit.
#include <doctest/doctest.h>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/formulas/random_ops.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/cuda/skip.h"

using namespace tandem;

namespace {

template <class Op, class... Ts>
void same_bits(TypeList<Ts...>, const RandomParameters& p) {
  CAPTURE(std::string(Op::name));
  for (const ScalarType type : {scalar_type_of<Ts>...}) {
    CAPTURE(std::string(name(type)));
    for (const int64_t n : {0, 1, 2, 3, 5, 1023, 70001})
      for (const int64_t first : {0, 1}) {  // the second one is not aligned
        const Tensor here = tandem::zeros({n + 1}, type), there = here.to(Device("cuda:0"));
        const Generator::Draw draw{0x123456789abcdefu + static_cast<uint64_t>(n), 0xfedcba987654321u};
        backend(kCPU).random.fill.get<Op>()(here.slice(0, first, first + n), draw, p);
        backend(kCUDA).random.fill.get<Op>()(there.slice(0, first, first + n), draw, p);
        CHECK(testing::identical(there.cpu(), here));
      }
  }
}

}  // namespace

TEST_CASE("draws equal the CPU's") {
  if (!has_devices(1)) return;
  same_bits<ops::Uniform>(ops::Uniform::Types{}, {.a = -1.25, .b = 3.5});
  same_bits<ops::Normal>(ops::Normal::Types{}, {.a = 0.3, .b = 1.7});
  same_bits<ops::Exponential>(ops::Exponential::Types{}, {.a = 0.7});
  same_bits<ops::Bernoulli>(ops::Bernoulli::Types{}, {.a = 0.37});
  same_bits<ops::Bernoulli>(ops::Bernoulli::Types{}, {.a = 0});
  same_bits<ops::RandomInteger>(ops::RandomInteger::Types{}, {.base = -3, .range = 100});
  same_bits<ops::RandomWideInteger>(ops::RandomWideInteger::Types{}, {.base = -70, .range = 0});
  same_bits<ops::RandomWideInteger>(ops::RandomWideInteger::Types{}, {.base = 5, .range = uint64_t{1} << 40});
}

TEST_CASE("a seed produces the same tensors on every device, with any strides") {
  if (!has_devices(1)) return;
  const auto draw = [](Device device) {
    const Generator generator = make_generator(7);
    Tensor t = tandem::zeros({33, 17}, TensorOptions().device(device));
    t.t().normal_(0, 1, generator);
    t.slice(1, 0, 17, 2).uniform_(0, 1, generator);
    return t.cpu();
  };
  CHECK(testing::identical(draw(Device("cuda:0")), draw(kCPU)));
}
