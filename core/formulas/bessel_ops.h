// Bessel functions and Airy's function as elementwise operations; bessel_math.h has the formulas. Their derivatives are
// in autograd/ops/pointwise/special.cpp.
#pragma once
#include "tandem/core/formulas/bessel_math.h"
#include "tandem/core/formulas/special_ops.h"

namespace tandem::ops {

struct BesselJ0 : SpecialOp<BesselJ0, "bessel_j0"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_j(0, x); }
};
struct BesselJ1 : SpecialOp<BesselJ1, "bessel_j1"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_j(1, x); }
};
struct BesselY0 : SpecialOp<BesselY0, "bessel_y0"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_y(0, x); }
};
struct BesselY1 : SpecialOp<BesselY1, "bessel_y1"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_y(1, x); }
};
struct BesselK0 : SpecialOp<BesselK0, "modified_bessel_k0"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_k(0, x, false); }
};
struct BesselK1 : SpecialOp<BesselK1, "modified_bessel_k1"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_k(1, x, false); }
};
struct ScaledBesselK0 : SpecialOp<ScaledBesselK0, "scaled_modified_bessel_k0"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_k(0, x, true); }
};
struct ScaledBesselK1 : SpecialOp<ScaledBesselK1, "scaled_modified_bessel_k1"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_k(1, x, true); }
};
struct AiryAi : SpecialOp<AiryAi, "airy_ai"> {
  TANDEM_HD static double value(double x) { return special_math::airy_ai(x); }
};

}  // namespace tandem::ops
