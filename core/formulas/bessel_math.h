// Bessel functions of both kinds, modified Bessel functions of the second kind and Airy's function, in double
// precision, for host and device.
//
// Errors are a few units in the last place: relative to the value where the functions have no zeros, relative to the
// amplitude of the oscillation where they have. Sources: A&S is Abramowitz and Stegun,
// "Handbook of Mathematical Functions", 1964; DLMF is the NIST Digital Library of Mathematical Functions.
#pragma once
#include <cmath>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/special_math.h"

namespace tandem::special_math {

inline constexpr double kTwoOverPi = 0.63661977236758134308,
                        kEulerLessLog2 = -0.11593151565841244881;  ///< γ - log 2

/// P and Q of Hankel's asymptotic expansions for mu = 4 ν² (A&S 9.2.9, 9.2.10),
/// which are exact to double from z = 19 on.
struct Hankel {
  double p, q;
};
TANDEM_HD inline Hankel hankel(double mu, double z) {
  double p = 1, q = 0, term = 1;
  for (int k = 1; k < 40 && std::fabs(term) > 0.1 * kEpsilon; ++k) {
    const double odd = 2 * k - 1;
    term *= (mu - odd * odd) / (8 * k * z);
    const double signed_term = k / 2 % 2 == 0 ? term : -term;
    if (k % 2 == 0)
      p += signed_term;
    else
      q += signed_term;
  }
  return {p, q};
}

/// S₁ = Σ zᵏ / (k! (k + n)!) and S₂ = Σ (Hₖ + Hₖ₊ₙ) zᵏ / (k! (k + n)!), Hₖ the harmonic numbers,
/// for n = 0 or 1, |z| <= 1.
struct PowerSeries {
  double plain, harmonic;
};
TANDEM_HD inline PowerSeries power_series(int n, double z) {
  double term = 1, numbers = n, plain = 1, harmonic = n;
  for (int k = 1; k < 16; ++k) {
    term *= z / (k * static_cast<double>(k + n));
    numbers += 1. / k + 1. / (k + n);
    plain += term;
    harmonic += term * numbers;
  }
  return {plain, harmonic};
}

/// Jₙ and Yₙ, n = 0 or 1. Y at x >= 0 only; J at x >= 0, to be extended by its symmetry.
struct BesselPair {
  double j, y;
};
/// A&S 9.1.10, 9.1.11 and 9.1.13: x <= 2.
TANDEM_HD inline BesselPair bessel_by_series(int n, double x) {
  const PowerSeries sums = power_series(n, -0.25 * x * x);
  const double scale = n == 0 ? 1 : 0.5 * x, j = scale * sums.plain;
  if (x == 0) return {j, -kInfinity};
  const double pole = n == 0 ? 0 : kTwoOverPi / x;
  return {j, kTwoOverPi * ((math::log(x) + kEulerLessLog2) * j - 0.5 * scale * sums.harmonic) - pole};
}
/// Miller's recurrence downwards with 1 = J₀ + 2 Σ J₂ₖ (A&S 9.1.27, 9.1.46), and Y by Neumann's series
/// (A&S 9.1.88, 9.1.89): 2 <= x <= 25.
TANDEM_HD inline BesselPair bessel_by_recurrence(int n, double x) {
  const double step = 2 / x;
  double above = 0, value = 1, norm = 0, series = 0, zeroth = 0, j = 0;
  for (int k = 2 * static_cast<int>(0.5 * x) + 40; k >= 0; --k) {
    if (k % 2 == 0) norm += k == 0 ? value : 2 * value;
    const int pair = (k - n) / 2;
    if (pair > 0 && (k - n) % 2 == 0) {
      const double factor = k / (pair * static_cast<double>(pair + n));
      series += pair % 2 == 0 ? factor * value : -factor * value;
    }
    if (k == n) j = value;
    if (k == 0) zeroth = value;
    const double below = k * step * value - above;
    above = value;
    value = below;
  }
  const double logarithm = math::log(x) + kEulerLessLog2 - n;
  return {j / norm, kTwoOverPi * (logarithm * j - series - n / x * zeroth) / norm};
}
/// A&S 9.2.5 and 9.2.6, x >= 25: the phase is x - π / 4 - n π / 2.
TANDEM_HD inline BesselPair bessel_by_hankel(int n, double x) {
  const Hankel h = hankel(4 * n, x);
  const double s = math::sine_of_any(x, 0), c = math::sine_of_any(x, 1), sum = kRootHalf * (c + s),
               difference = kRootHalf * (s - c);
  const double cosine = n == 0 ? sum : difference, sine = n == 0 ? difference : -sum;
  const double amplitude = std::sqrt(kTwoOverPi) / std::sqrt(x);
  return {amplitude * (h.p * cosine - h.q * sine), amplitude * (h.p * sine + h.q * cosine)};
}
TANDEM_HD inline BesselPair bessel_pair(int n, double x) {
  return x <= 2 ? bessel_by_series(n, x) : x < 25 ? bessel_by_recurrence(n, x) : bessel_by_hankel(n, x);
}

TANDEM_HD inline double bessel_j(int n, double x) {
  const double value = bessel_pair(n, std::fabs(x)).j;
  return n == 1 && std::signbit(x) ? -value : value;
}
TANDEM_HD inline double bessel_y(int n, double x) { return x < 0 ? kNan : bessel_pair(n, x).y; }

/// e^z K_ν(z) = ∫ e^(-z (cosh t - 1)) cosh νt dt over t >= 0 (A&S 9.6.24) by the trapezoidal rule, whose error is below
/// e^(z - 61) for the step 0.16 (DLMF 3.5(i)); from z = 20 on, the asymptotic expansion A&S 9.7.2. z >= 2, ν <= 1.
TANDEM_HD inline double scaled_bessel_k_tail(double nu, double z) {
  if (z >= 20) {
    double term = 1, sum = 1;
    for (int k = 1; k < 40 && std::fabs(term) > 0.1 * kEpsilon; ++k) {
      const double odd = 2 * k - 1;
      term *= (4 * nu * nu - odd * odd) / (8 * k * z);
      sum += term;
    }
    return sum * std::sqrt(0.5 * kPi) / std::sqrt(z);
  }
  constexpr double kStep = 0.16, kHalfStep = 1.0832870676749586;  // e^(step / 2)
  const double growth = math::exp(kStep * nu);
  double half = kHalfStep, wide = growth, sum = 0.5;
  for (int k = 1; k < 60; ++k, half *= kHalfStep, wide *= growth) {
    const double sinh_half = 0.5 * (half - 1 / half), exponent = 2 * z * sinh_half * sinh_half;
    if (exponent > 42) break;
    sum += math::exp(-exponent) * 0.5 * (wide + 1 / wide);
  }
  return kStep * sum;
}
/// Kₙ(x), and times e^x, for n = 0 or 1: up to 2, A&S 9.6.11 and 9.6.13.
TANDEM_HD inline double bessel_k(int n, double x, bool scaled) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kInfinity;
  if (x > 2) return scaled_bessel_k_tail(n, x) * (scaled ? 1 : math::exp(-x));
  const PowerSeries sums = power_series(n, 0.25 * x * x);
  const double logarithm = math::log(x) + kEulerLessLog2;
  const double value = n == 0 ? 0.5 * sums.harmonic - logarithm * sums.plain
                              : 1 / x + 0.5 * x * (logarithm * sums.plain - 0.5 * sums.harmonic);
  return scaled ? value * math::exp(x) : value;
}

/// Ai(x): between -9.5 and 2.5, Taylor's series about the nearest integer, from y'' = x y and the values there; above,
/// A&S 10.4.14; below, A&S 10.4.60. NaN at both infinities, as PyTorch has it.
TANDEM_HD inline double airy_ai(double x) {
  // Ai and Ai' at -9, ..., 2, computed with 40 digits.
  constexpr double values[12][2] = {
      {-0.022133721547341403674, -0.97566398092633159471}, {-0.052705050356386202622, 0.93556093819830655103},
      {0.18428083525050563728, -0.77100816841012654773},   {-0.32914517362982310523, 0.34593548728134289493},
      {0.35076100902411431979, 0.32719281855444313679},    {-0.070265532949289515099, -0.7906285753685813803},
      {-0.37881429367765807435, 0.31458376921659881365},   {0.22740742820168557599, 0.61825902074169104141},
      {0.5355608832923521188, -0.010160567116645209395},   {0.35502805388781723926, -0.25881940379280679841},
      {0.13529241631288141552, -0.15914744129679321279},   {0.034924130423274379135, -0.053090384433653631704}};
  if (!(std::fabs(x) < kInfinity)) return kNan;
  const double a = std::fabs(x), zeta = 2. / 3 * a * std::sqrt(a);
  if (x >= 2.5) return std::sqrt(x / 3) / kPi * scaled_bessel_k_tail(1. / 3, zeta) * math::exp(-zeta);
  if (x <= -9.5) {
    const Hankel h = hankel(4. / 9, zeta);
    const double s = math::sine_of_any(zeta, 0), c = math::sine_of_any(zeta, 1);
    return (h.p * (c + s) - h.q * (s - c)) / std::sqrt(2 * kPi * std::sqrt(a));
  }
  const double center = std::floor(x + 0.5), h = x - center;
  const double* start = values[static_cast<int>(center) + 9];
  // power is hᵏ. The last three coefficients of the series give the next: (k + 1) k cₖ₊₁ = center cₖ₋₁ + cₖ₋₂.
  double oldest = 0, older = start[0], last = start[1], power = h, sum = older + last * h;
  for (int k = 1; k < 26; ++k) {
    const double next = (center * older + oldest) / (k * (k + 1.));
    power *= h;
    sum += next * power;
    oldest = older;
    older = last;
    last = next;
  }
  return sum;
}

}  // namespace tandem::special_math
