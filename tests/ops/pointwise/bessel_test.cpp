// Bessel functions and Airy's function on both sides of the points where their formulas change, against values computed
// with 40 digits, and at the ends of their domains.
#include <doctest/doctest.h>

#include <limits>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Function = Tensor (*)(const Tensor&);

Tensor doubles(const std::vector<double>& x) { return tensor(x, kDouble); }

struct Known {
  const char* name;
  Function f;
  std::vector<double> values;
};

const std::vector<double> kPlaces = {0.125, 2, 2.125, 5, 9.5, 19.75, 20.5, 24.875, 25.25, 500};
const std::vector<Known> kOscillating = {
    {"j0",
     special_bessel_j0,
     {0.9960975630419852, 0.22389077914123567, 0.1524331929285059, -0.1775967713143383, -0.19392874768742236,
      0.17844944575138386, 0.11509696025367476, 0.079847211894565683, 0.12414208603633909, -0.034100556880731998}},
    {"j1",
     special_bessel_j1,
     {0.062378009134494681, 0.57672480775687339, 0.56557040093003638, -0.32757913759146522, 0.16126443075752985,
      0.023999816388423013, 0.13625468819339574, -0.13703104257921304, -0.096539209719481386, 0.010472613470372293}},
    {"y0",
     special_bessel_y0,
     {-1.3896806251438405, 0.51037567264974512, 0.51941661790403032, -0.30851762524903378, 0.17121062620272384,
      0.019478763228014928, 0.13340956665759048, -0.13860743587950667, -0.098977151556072487, 0.010506708739831374}},
    {"y1",
     special_bessel_y1,
     {-5.199936112534775, -0.10703243154093755, -0.038174824539864606, 0.14786314339122684, 0.20317989938720767,
      -0.17801358614613998, -0.11187909834450973, -0.08264826114351011, -0.12612554501532684, 0.034111080629137136}}};
const std::vector<Known> kDecaying = {
    {"k0",
     special_modified_bessel_k0,
     {2.2078690867449701, 0.11389387274953344, 0.097764257654025403, 0.0036910983340425943, 3.0057884957934335e-5,
      7.417846666290131e-10, 3.4400085817085981e-10, 3.9351646540304419e-12, 2.6846305277198929e-12,
      3.9923216091177929e-219}},
    {"k1",
     special_modified_bessel_k1,
     {7.8311182991157512, 0.13986588181652243, 0.11883536174242291, 0.0040446134454521642, 3.1602034110426746e-5,
      7.6033748469294112e-10, 3.5229344787112481e-10, 4.0134985815667474e-12, 2.7372848337629045e-12,
      3.9963119385460033e-219}},
    {"scaled k0",
     special_scaled_modified_bessel_k0,
     {2.5018434402191294, 0.84156821507077142, 0.818570107340016, 0.54780756431351899, 0.40156513211540536,
      0.28028113622969774, 0.27516703550431326, 0.25005649879556472, 0.24821052457624527, 0.056035915417234515}},
    {"scaled k1",
     special_scaled_modified_bessel_k1,
     {8.8738195864263295, 1.0334768470686886, 0.9949963018338276, 0.60027385878831258, 0.42219454297695785,
      0.28729126350942658, 0.28180029606246619, 0.25503415777015726, 0.25307873746036014, 0.056091923370555569}}};

void compare(const Known& known, const std::vector<double>& places, double relative, double absolute) {
  CAPTURE(known.name);
  CHECK(allclose(known.f(doubles(places)), doubles(known.values), relative, absolute));
  CHECK(allclose(known.f(doubles(places).to(kFloat)).to(kDouble), doubles(known.values), 2e-7, 1e-37));
}

bool same(const Tensor& a, const std::vector<double>& b) { return allclose(a, doubles(b), 0, 0, true); }

}  // namespace

TEST_CASE("Bessel functions on both sides of the limits of their formulas") {
  for (const Known& known : kOscillating) compare(known, kPlaces, 1e-15, 1e-15);
  for (const Known& known : kDecaying) compare(known, kPlaces, 1e-14, 0);
}

TEST_CASE("Airy's function on both sides of the limits of its formulas") {
  const std::vector<double> places = {-100, -9.625, -9.5, -9.375, -4.25, -2.375, -0.5, 2.375, 2.5, 2.625, 50};
  const Known airy{"airy_ai",
                   special_airy_ai,
                   {0.17675339323955288, 0.30878844965638775, 0.3191032477191282, 0.28262986439467633,
                    0.12778292722826728, -0.025855656238569638, 0.47572809161053959, 0.019331141368756133,
                    0.01572592338047049, 0.012735929874768289, 4.5849417240748285e-104}};
  compare(airy, places, 1e-13, 1e-13);
  CHECK(special_airy_ai(doubles({50})).item<double>() == doctest::Approx(4.5849417240748285e-104).epsilon(1e-12));
}

TEST_CASE("Bessel functions at the ends of their domains") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = doubles({-kInf, -1, 0, kInf, nan});
  CHECK(same(special_bessel_j0(x), {nan, special_bessel_j0(doubles({1})).item<double>(), 1, nan, nan}));
  CHECK(same(special_bessel_j1(x), {nan, -special_bessel_j1(doubles({1})).item<double>(), 0, nan, nan}));
  for (const Function f : {special_bessel_y0, special_bessel_y1}) CHECK(same(f(x), {nan, nan, -kInf, nan, nan}));
  for (const Known& known : kDecaying) CHECK(same(known.f(x), {nan, nan, kInf, 0, nan}));
  CHECK(same(special_airy_ai(doubles({-kInf, kInf, nan, 200})), {nan, nan, nan, 0}));
}

TEST_CASE("Functions without a derivative give results without one") {
  const Tensor x = doubles({1, 2}).requires_grad_();
  for (const Function f : {special_scaled_modified_bessel_k0, special_scaled_modified_bessel_k1, special_airy_ai})
    CHECK(!f(x).requires_grad());
  const Tensor zero = doubles({0}).requires_grad_();
  special_bessel_j1(zero).sum().backward();
  CHECK(zero.grad().item<double>() == 0.5);
}
