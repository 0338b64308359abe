// Special functions against values computed with 40 digits (mpmath), and where their formulas change.
#include <cmath>
#include <limits>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/special.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

struct Value {
  double x, expected;
};

// Relative errors, in units of 2^-52.
template <class F>
void expect(const char* name, const F& f, std::initializer_list<Value> list, double units = 4) {
  CAPTURE(name);
  for (const Value& v : list) {
    CAPTURE(v.x);
    const double found = f(full({1}, v.x, kDouble)).template item<double>();
    CHECK(std::abs(found - v.expected) <= units * 0x1p-52 * std::abs(v.expected));
  }
}

}  // namespace

TEST_CASE("digamma, the inverses of erf and of the normal distribution, and scaled functions") {
  expect("digamma", [](const Tensor& x) { return digamma(x); },
         {{0.001, -1000.5755719318103},
          {0.3, -3.5025242222001331},
          {1.0, -0.57721566490153286},
          {2.0, 0.42278433509846714},
          {5.5, 1.6110931485817511},
          {9.75, 2.225109535044576},
          {10.25, 2.277704790686724},
          {40.0, 3.6763273740348431},
          {1000000.0, 13.815510057964191},
          {1e+18, 41.446531673892822},
          {-1.25, 3.7141391202135278},
          {-7.875, -5.4586319404955003},
          {-20.5, 3.0446168825125246}});
  expect("erfinv", [](const Tensor& x) { return erfinv(x); },
         {{1e-200, 8.86226925452758e-201},
          {1e-20, 8.8622692545275797e-21},
          {1e-05, 8.8622692547595945e-6},
          {0.1, 0.088855990494257692},
          {0.45, 0.42268023864756189},
          {0.55, 0.53415908774970242},
          {0.9, 1.1630871536766742},
          {0.999, 2.3267537655135245},
          {0.9999999, 3.7665625816384709},
          {0.9999999999999999, 5.8635847487551679},
          {-0.3, -0.27246271472675435},
          {-0.75, -0.81341984759761854}});
  expect("ndtri", [](const Tensor& x) { return special_ndtri(x); },
         {{1e-300, -37.047096299361199},
          {1e-10, -6.3613409024040562},
          {0.001, -3.0902323061678135},
          {0.125, -1.1503493803760082},
          {0.2, -0.84162123357291417},
          {0.3, -0.52440051270804082},
          {0.375, -0.31863936396437516},
          {0.6, 0.25334710313579974},
          {0.7, 0.52440051270804066},
          {0.8, 0.84162123357291436},
          {0.99, 2.3263478740408408},
          {0.9999999999990905, 7.0477002566644087}});
  expect("erfcx", [](const Tensor& x) { return special_erfcx(x); },
         {{-26.0, 7.6577249314905684e+293},
          {-5.0, 144009798674.66104},
          {-0.5, 1.9523604891825571},
          {0.0, 1.0},
          {0.5, 0.61569034419292587},
          {1.5, 0.3215854164543175},
          {1.96875, 0.25877436580907517},
          {2.0625, 0.24888049618416236},
          {3.5, 0.1552936556088943},
          {10.0, 0.056140992743822586},
          {100.0, 0.0056416137829894329},
          {10000000.0, 5.6418958354775347e-8},
          {1000000000.0, 5.6418958354775629e-10}});
  expect("i0e", [](const Tensor& x) { return special_i0e(x); },
         {{0.0, 1.0},
          {0.5, 0.64503527044915007},
          {-3.0, 0.2430003541618254},
          {19.5, 0.090939432095156483},
          {20.5, 0.088664429015745248},
          {50.0, 0.056561626647454193},
          {1000.0, 0.012617240455891257}});
  expect("i1e", [](const Tensor& x) { return special_i1e(x); },
         {{0.0, 0.0},
          {0.5, 0.1564208031848717},
          {-3.0, -0.19682671329730085},
          {19.5, 0.088576086094314852},
          {20.5, 0.086474113494087246},
          {-50.0, -0.0559931238928954},
          {1000.0, 0.012610930256928629}});
}

TEST_CASE("Airy's function around each point from which its series starts") {
  expect(
      "airy_ai", [](const Tensor& x) { return special_airy_ai(x); },
      {{-9.25, 0.20523980876035542},   {-8.625, -0.30454420433149104},  {-7.625, 0.26393179341274168},
       {-6.625, -0.14302479434826642}, {-5.625, -0.089449370216468349}, {-4.625, 0.34649385251833096},
       {-3.625, -0.32265787261404113}, {-2.625, -0.19439353537659892},  {-1.625, 0.4201849786833088},
       {-0.625, 0.49918923754153078},  {-0.25, 0.41872461427545292},    {0.375, 0.26066957317389528},
       {0.75, 0.17933630547864523},    {1.375, 0.084786862248217425},   {1.625, 0.060393078873435471},
       {2.375, 0.019331141368756133},  {2.625, 0.012735929874768289},   {6.5, 2.7958823432049136e-6},
       {-9.75, 0.25262476259634336},   {-20.5, -0.04462568039701191}},
      40);
}

TEST_CASE("Hurwitz' zeta function") {
  const double values[][3] = {{1.5, 1.0, 2.6123753486854883},     {2.0, 1.0, 1.6449340668482264},
                              {2.0, 0.25, 17.197329154507111},    {3.0, 7.5, 0.010152626268322332},
                              {1.0625, 30.0, 12.949551469501079}, {8.0, 2.0, 0.0040773561979443394},
                              {30.0, 1.5, 5.2150962038157318e-6}, {60.0, 12.0, 1.7894426513060728e-65},
                              {2.0, -0.5, 8.9348022005446793},    {4.0, -2.25, 259.74250386478572}};
  for (const auto& row : values) {
    const double s = row[0], q = row[1], expected = row[2];  // clang 14 cannot capture a structured binding
    CAPTURE(s);
    CAPTURE(q);
    const double found = special_zeta(full({1}, s, kDouble), full({1}, q, kDouble)).item<double>();
    CHECK(std::abs(found - expected) <= 8 * 0x1p-52 * std::abs(expected));
  }
}

TEST_CASE("the length of a vector is rounded correctly but for few") {
  const int64_t count = 4000;
  const Tensor x = (arange(count, kDouble) * 0.7318).sin() * 3, y = (arange(count, kDouble) * 1.2345).cos();
  const std::vector<double> a = values(x), b = values(y), found = values(hypot(x, y));
  int64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double p = a[i], q = b[i];
    wrong += found[i] != static_cast<double>(std::sqrt(p * p + q * q));
  }
  CHECK(wrong <= 4);
}

TEST_CASE("digamma at zeros of both signs, and incomplete gamma functions at their edges") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto at = [](double x) { return full({1}, x, kDouble); };
  CHECK(digamma(at(0.0)).item<double>() == -infinity);
  CHECK(digamma(at(-0.0)).item<double>() == infinity);
  struct Edge {
    double a, x, lower;  // NaN: undefined
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Edge& edge : {Edge{infinity, 1, 0},
                           {infinity, infinity, nan},
                           {2, 0, 0},
                           {2, infinity, 1},
                           {0, 2, 1},
                           {0, infinity, 1},
                           {0, 0, nan},
                           {-1, 2, nan},
                           {2, -1, nan},
                           {infinity, 0, 0}}) {
    CAPTURE(edge.a);
    CAPTURE(edge.x);
    const double lower = igamma(at(edge.a), at(edge.x)).item<double>();
    const double upper = igammac(at(edge.a), at(edge.x)).item<double>();
    if (std::isnan(edge.lower)) {
      CHECK(std::isnan(lower));
      CHECK(std::isnan(upper));
    } else {
      CHECK(lower == edge.lower);
      CHECK(upper == 1 - edge.lower);
    }
  }
}

TEST_CASE("where squares, factors and powers overflow or underflow") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  expect("i0e", [](const Tensor& x) { return special_i0e(x); },
         {{1e301, 1.26156626101008e-151}, {1e308, 3.9894228040143268e-155}, {-1e308, 3.9894228040143268e-155}});
  expect("i1e", [](const Tensor& x) { return special_i1e(x); },
         {{1e308, 3.9894228040143268e-155}, {-1e308, -3.9894228040143268e-155}});
  for (const double x : {800.0, 1e308, std::numeric_limits<double>::max()}) {
    CHECK(i0(full({1}, x, kDouble)).item<double>() == kInf);
    CHECK(i0(full({1}, -x, kDouble)).item<double>() == kInf);
    CHECK(special_i1(full({1}, x, kDouble)).item<double>() == kInf);
    CHECK(special_i1(full({1}, -x, kDouble)).item<double>() == -kInf);
  }
  expect("spherical_bessel_j0", [](const Tensor& x) { return special_spherical_bessel_j0(x); },
         {{37.5, -0.0052746346569723269},
          {1e10, -4.8750602508751069e-11},
          {1e16, 7.7968800660697875e-17},
          {1.3e154, 1.3519635276969986e-155},
          {-1e307, -9.2113734945089488e-308},
          {kInf, 0},
          {-kInf, 0}});
  const auto of = [](Tensor (*f)(const Tensor&, const Tensor&), double a) {
    return [=](const Tensor& x) { return f(full({1}, a, kDouble), x); };
  };
  Tensor (*const hurwitz)(const Tensor&, const Tensor&) = special_zeta;
  expect("zeta(1.5, x)", of(hurwitz, 1.5), {{1e300, 2e-150}});
  expect("zeta(2, x)", of(hurwitz, 2), {{1e300, 1e-300}, {kInf, 0}});
  expect("zeta(inf, x)", of(hurwitz, kInf), {{1, 1}, {2, 0}});
  expect("igamma(10, x)", of(igamma, 10), {{1e-10, 2.755731922148069e-107}}, 300);
  expect("igamma(30, x)", of(igamma, 30), {{0.1, 3.4222643183804371e-63}}, 300);
  expect("igammac(2.3e-308, x)", of(igammac, 2.3e-308),
         {{std::numeric_limits<double>::denorm_min(), 1.7108845693899033e-305}, {1e-300, 1.5874561181366179e-305}});
  expect("igammac(1e-10, x)", of(igammac, 1e-10), {{0.1, 1.8229239583260838e-10}, {1.5, 1.000195824199693e-11}}, 16);
  expect("igammac(1e-5, x)", of(igammac, 1e-5), {{1e-5, 0.00010935130095632986}});
}
