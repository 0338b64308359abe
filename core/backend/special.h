// Elementwise kernels of the special functions (core/formulas/special_ops.h, bessel_ops.h). They obey the rules of
// unary.h and binary.h; float32 and float64.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

namespace ops {
/// One argument.
using SpecialOps = TypeList<struct Lgamma, struct Digamma, struct Erfinv, struct Erfcx, struct Ndtri, struct BesselI0,
                            struct BesselI0e, struct BesselI1, struct BesselI1e, struct BesselJ0, struct BesselJ1,
                            struct BesselY0, struct BesselY1, struct BesselK0, struct BesselK1, struct ScaledBesselK0,
                            struct ScaledBesselK1, struct AiryAi>;
/// Two arguments.
using SpecialPairOps =
    TypeList<struct Zeta, struct Igamma, struct Igammac, struct ChebyshevT, struct ChebyshevU, struct ChebyshevV,
             struct ChebyshevW, struct HermiteH, struct HermiteHe, struct LaguerreL, struct LegendreP>;
}  // namespace ops

struct SpecialKernels {
  KernelArray<ops::SpecialOps, void(const Tensor& out, const Tensor& in, const Scalar* parameters)> unary;
  KernelArray<ops::SpecialPairOps, void(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter)>
      binary;
};

}  // namespace tandem
