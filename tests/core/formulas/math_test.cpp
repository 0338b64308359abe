// The errors of the formulas for numbers, against long double, in units in the last place.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tandem/core/formulas/math_powers.h"
#include "tandem/core/formulas/special_math.h"

using namespace tandem;

namespace {

constexpr int kDraws = 50000;

class Draws {
 public:
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator_); }
  // Its logarithm is distributed evenly.
  double scale(double low, double high) { return std::exp2(between(std::log2(low), std::log2(high))); }

 private:
  std::mt19937_64 generator_{1};
};

// The distance between a result and the true value, in units in the last place of the latter.
template <class T>
double error(T result, long double expected) {
  if (std::isnan(result)) return HUGE_VAL;
  const T near = std::fabs(static_cast<T>(expected));
  if (near > std::numeric_limits<T>::max()) return result == static_cast<T>(expected) ? 0 : HUGE_VAL;
  const T next = std::nextafter(near, std::numeric_limits<T>::infinity());
  const T unit = std::isinf(next) ? near - std::nextafter(near, T(0)) : next - near;
  return static_cast<double>(std::fabs((static_cast<long double>(result) - expected) / static_cast<long double>(unit)));
}

// Draws arguments, and fails where the error is larger than `most`.
template <class T, class Draw, class F, class Exact>
void check_errors(double most, const Draw& draw, const F& f, const Exact& exact) {
  Draws random;
  double worst = 0;
  T at{};
  for (int i = 0; i < kDraws; ++i) {
    const T x = static_cast<T>(draw(random));
    const double found = error<T>(f(x), exact(static_cast<long double>(x)));
    if (!(found <= worst)) worst = found, at = x;
  }
  CAPTURE(at);
  CHECK(worst <= most);
}

template <class T>
void check_powers(double most) {
  Draws random;
  const double octaves = sizeof(T) == 4 ? 126 : 1022;
  double worst = 0;
  T x_at{}, y_at{};
  for (int i = 0; i < kDraws; ++i) {
    // Bases of all sizes and near 1, and exponents that lead to results of all sizes.
    const T x = static_cast<T>(i % 2 == 0 ? std::exp2(random.between(-octaves, octaves))
                                          : 1 + random.between(-0.5, 0.5) * random.scale(1e-6, 1));
    const T y = static_cast<T>(random.between(-octaves, octaves) / std::log2(static_cast<double>(x)));
    if (!std::isfinite(y)) continue;
    const double found = error<T>(math::pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
    if (!(found <= worst)) worst = found, x_at = x, y_at = y;
  }
  CAPTURE(x_at);
  CAPTURE(y_at);
  CHECK(worst <= most);
}

template <class T>
void check_special_powers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers{T(0),
                         T(0.1),
                         T(0.5),
                         T(1),
                         T(1.5),
                         T(2),
                         T(3),
                         T(8388607),
                         T(8388609),
                         T(1e10),
                         T(1e30),
                         T(9007199254740991.),
                         T(1e-30),
                         Limits::denorm_min(),
                         Limits::min(),
                         Limits::max(),
                         Limits::infinity(),
                         std::nextafter(T(1), T(0)),
                         std::nextafter(T(1), T(2))};
  for (std::size_t i = numbers.size(); i-- > 0;) numbers.push_back(-numbers[i]);
  numbers.push_back(Limits::quiet_NaN());
  for (const T x : numbers)
    for (const T y : numbers) {
      CAPTURE(x);
      CAPTURE(y);
      const T found = math::pow(x, y), expected = std::pow(x, y);
      CHECK(std::isnan(found) == std::isnan(expected));
      if (std::isnan(expected)) continue;
      CHECK(std::signbit(found) == std::signbit(expected));
      CHECK(error<T>(found, static_cast<long double>(expected)) <= 1);
    }
}

// log10 10^k == k, for those powers that the type holds.
template <class T>
void check_powers_of_ten(int most) {
  T power = 1;
  for (int k = 0; k <= most; ++k, power *= 10) CHECK(math::log10(power) == T(k));
}

}  // namespace

TEST_CASE("powers") {
  check_powers<float>(0.51);
  check_powers<double>(0.8);
  check_special_powers<float>();
  check_special_powers<double>();
  CHECK(math::pow(3.0, 20.0) == 3486784401.0);
  CHECK(math::pow(-2.0f, -3.0f) == -0.125f);
}

TEST_CASE("logarithms to the base 10") {
  const auto all = [](Draws& random) { return random.scale(1e-37, 1e37); };
  const auto near = [](Draws& random) { return 1 + random.between(-0.5, 0.5) * random.scale(1e-6, 1); };
  const auto exact = [](long double x) { return std::log10(x); };
  const auto single = [](float x) { return math::log10(x); };
  const auto wide = [](double x) { return math::log10(x); };
  check_errors<float>(0.51, all, single, exact);
  check_errors<float>(0.51, near, single, exact);
  check_errors<double>(0.51, all, wide, exact);
  check_errors<double>(0.51, near, wide, exact);
  check_powers_of_ten<float>(10);
  check_powers_of_ten<double>(22);
  CHECK(math::log10(std::numeric_limits<double>::denorm_min()) == doctest::Approx(-323.3062));
  CHECK(math::log10(0.0) == -HUGE_VAL);
  CHECK(math::log10(HUGE_VAL) == HUGE_VAL);
  CHECK(std::isnan(math::log10(-1.0f)));
}

TEST_CASE("sines, cosines and tangents of huge angles") {
  const auto huge = [](Draws& random) { return random.scale(1.1e5, 1e300) * (random.between(-1, 1) < 0 ? -1 : 1); };
  check_errors<double>(
      3, huge, [](double x) { return math::sine<true>(x, 0); }, [](long double x) { return std::sin(x); });
  check_errors<double>(
      3, huge, [](double x) { return math::sine<true>(x, 1); }, [](long double x) { return std::cos(x); });
  check_errors<double>(
      5, huge, [](double x) { return math::tan<true>(x); }, [](long double x) { return std::tan(x); });
  const auto single = [](Draws& random) { return random.scale(1.1e5, 1e38); };
  check_errors<float>(
      0.51, single, [](float x) { return math::sine<true>(x, 0); }, [](long double x) { return std::sin(x); });
  // The double that is nearest to a multiple of π/2.
  const double x = std::ldexp(6381956970095103.0, 797);
  CHECK(math::sine<true>(x, 1) == doctest::Approx(-4.6871659242546277e-19).epsilon(1e-15));
  CHECK(math::sine<true>(-x, 0) == -1);
  for (const double edge : {HUGE_VAL, -HUGE_VAL, std::nan("")}) CHECK(std::isnan(math::sine<true>(edge, 0)));
}

TEST_CASE("logarithms of the gamma function") {
  const auto f = [](double x) { return special_math::lgamma(x); };
  const auto exact = [](long double x) { return std::lgamma(x); };
  const std::pair<double, double> intervals[] = {{1e-9, 0.5},  {0.5, 1.5},   {1.5, 2.5},   {2.5, 10},    {10, 100},
                                                 {100, 1e300}, {-1.9, -1.1}, {-0.9, -0.5}, {-0.5, -1e-9}};
  for (const auto& interval : intervals) {
    const double low = interval.first, high = interval.second;
    CAPTURE(low);
    const auto draw = [low, high](Draws& random) {
      return low > 0 && low < high / 100 ? random.scale(low, high) : random.between(low, high);
    };
    check_errors<double>(4, draw, f, exact);
  }
  CHECK(special_math::lgamma(1) == 0);
  CHECK(special_math::lgamma(2) == 0);
  for (const double x : {0.0, -0.0, -1.0, -7.0, HUGE_VAL, -HUGE_VAL, 1e306, -1e300})
    CHECK(special_math::lgamma(x) == HUGE_VAL);
  CHECK(std::isnan(special_math::lgamma(std::nan(""))));
}
