// Complex tensors and their parts. Operations follow PyTorch's convention for gradients: that of a loss L with respect
// to z = x + iy is dL/dx + i dL/dy, so that z - step * gradient descends.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

inline bool is_complex(const Tensor& self) { return self.is_complex(); }

// ---- views. Writes to one side reach the other, and are recorded.
/// The real and imaginary parts [..., 2] of a complex tensor [...]. Throws Error for a real one.
Tensor view_as_real(const Tensor& self);
/// The complex tensor [...] with the parts [..., 2], float32 or float64. Throws Error unless the last stride is 1 and
/// the other strides and the offset are even.
Tensor view_as_complex(const Tensor& self);
/// The real part, a view; a real tensor itself.
Tensor real(const Tensor& self);
/// The imaginary part, a view. Throws Error for a real tensor.
Tensor imag(const Tensor& self);

// ---- complex numbers from real ones of one dtype, float32 or float64, which broadcast
/// real + i imag
Tensor complex(const Tensor& real, const Tensor& imag);
/// abs (cos(angle) + i sin(angle))
Tensor polar(const Tensor& abs, const Tensor& angle);

// ---- functions of complex numbers that also take real ones
/// The complex conjugate in new memory; a real tensor itself. There is no lazy conjugate: is_conj() is false.
Tensor conj(const Tensor& self);
Tensor conj_physical(const Tensor& self);
Tensor& conj_physical_(Tensor& self);
/// The tensor itself.
Tensor resolve_conj(const Tensor& self);
Tensor resolve_neg(const Tensor& self);
/// The angle from -pi to pi. For real numbers pi below 0, NaN for NaN, else 0; integers give the default dtype. The
/// gradient is 0 at 0 and for real numbers.
Tensor angle(const Tensor& self);
/// z / |z|, 0 at 0; for real numbers their sign.
Tensor sgn(const Tensor& self);
/// bool: whether the imaginary part is 0.
Tensor isreal(const Tensor& self);
/// The last two dimensions transposed, and complex numbers conjugated. Throws Error for a vector.
Tensor adjoint(const Tensor& self);

namespace autograd {
/// |z| for complex z, real.
Tensor complex_abs(const Tensor& z);
/// `function` of the real parts [..., 2], as a complex tensor. The function is linear over the complex numbers,
/// like a sum.
template <class F>
Tensor on_parts(const Tensor& z, const F& function) {
  Tensor parts = function(view_as_real(z));
  return view_as_complex(parts.is_contiguous() ? parts : parts.contiguous());
}
}  // namespace autograd

}  // namespace tandem
