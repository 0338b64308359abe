// Tables that are being written.
#include "tandem/cuda/tables.h"

namespace tandem::cuda {
namespace {
struct Missing {
  template <class R, class... Args>
  constexpr operator Kernel<R(Args...)>() const {
    return +[](Args...) -> R { throw NotImplementedError("not on CUDA yet"); };
  }
  template <class Op>
  static constexpr Missing make() {
    return {};
  }
};
constexpr Missing no;
template <class List, class Signature>
constexpr auto none = KernelArray<List, Signature>::template from<Missing>();
const KernelArray<RoundingOps, UnarySignature> r = none<RoundingOps, UnarySignature>;
const KernelArray<AlgebraicOps, UnarySignature> a = none<AlgebraicOps, UnarySignature>;
const KernelArray<ExponentialOps, UnarySignature> e = none<ExponentialOps, UnarySignature>;
const KernelArray<TrigonometricOps, UnarySignature> t = none<TrigonometricOps, UnarySignature>;
const KernelArray<ActivationOps, UnarySignature> c = none<ActivationOps, UnarySignature>;
const KernelArray<AlgebraicOps, GradientSignature> ga = none<AlgebraicOps, GradientSignature>;
const KernelArray<ExponentialOps, GradientSignature> ge = none<ExponentialOps, GradientSignature>;
const KernelArray<TrigonometricOps, GradientSignature> gt = none<TrigonometricOps, GradientSignature>;
const KernelArray<ActivationOps, GradientSignature> gc = none<ActivationOps, GradientSignature>;
const KernelArray<ArithmeticOps, BinarySignature> b = none<ArithmeticOps, BinarySignature>;
const KernelArray<BitwiseOps, BinarySignature> w = none<BitwiseOps, BinarySignature>;
const CompareKernels k = CompareKernels::from<Missing>();
const TernaryKernels n = TernaryKernels::from<Missing>();
const FillRandomKernels f = FillRandomKernels::from<Missing>();
}  // namespace
const PointwiseKernels pointwise_kernels{{r, a, e, t, c}, {ga, ge, gt, gc}, {b, w}, k, n, no, no, no};
const ReduceKernels reduce_kernels{no, no, no, no, no, no, no, no, no, no, no, no, no};
const ScanKernels scan_kernels{no, no, no};
const SoftmaxKernels softmax_kernels{no, no, no, no};
const SortKernels sort_kernels{no, no, no};
const IndexKernels index_kernels{no, no, no, no, no, no, no, no, no, no, no};
const LinalgKernels linalg_kernels{no, no};
const RandomKernels random_kernels{f, no};
const ConvKernels conv_kernels{no, no, no, no};
const PoolKernels pool_kernels{no, no, no, no, no, no, no};
const LossKernels loss_kernels{no, no, no, no};
const NormKernels norm_kernels{no, no, no};
const OptimKernels optim_kernels{no, no, no, no};
}  // namespace tandem::cuda
