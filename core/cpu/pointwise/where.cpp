// where: selects elements as raw bytes, independent of dtype.
#include "tandem/core/backend/ternary.h"
#include "tandem/core/cpu/pointwise/blocks.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

// Branch-free, because conditions are often unpredictable.
template <class Bits>
Bits pick(bool condition, Bits a, Bits b) {
  if constexpr (!std::is_integral_v<Bits>) {
    return condition ? a : b;
  } else {
    const Bits mask = static_cast<Bits>(-static_cast<Bits>(condition));
    return static_cast<Bits>((a & mask) | (b & static_cast<Bits>(~mask)));
  }
}

template <class Bits>
void where_bits(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b) {
  const Bits number_a = bits_of<Bits>(a.scalar, out.dtype()), number_b = bits_of<Bits>(b.scalar, out.dtype());
  parallel_runs(make_plan<4>({&out, &condition, a.tensor, b.tensor}), [&](const auto& p, const auto& s, int64_t n) {
    Bits* o = reinterpret_cast<Bits*>(p[0]);
    const bool* c = reinterpret_cast<const bool*>(p[1]);
    const Bits* x = p[2] != nullptr ? reinterpret_cast<const Bits*>(p[2]) : &number_a;
    const Bits* y = p[3] != nullptr ? reinterpret_cast<const Bits*>(p[3]) : &number_b;
    if (s[0] == 1 && s[1] == 1 && s[2] == 1 && s[3] == 1)
      for (int64_t i = 0; i < n; ++i) o[i] = pick(c[i], x[i], y[i]);
    else if (s[0] == 1 && s[1] == 1 && s[2] == 1 && s[3] == 0) {
      const Bits number = *y;
      for (int64_t i = 0; i < n; ++i) o[i] = pick(c[i], x[i], number);
    } else if (s[0] == 1 && s[1] == 1 && s[2] == 0 && s[3] == 1) {
      const Bits number = *x;
      for (int64_t i = 0; i < n; ++i) o[i] = pick(c[i], number, y[i]);
    } else
      for (int64_t i = 0; i < n; ++i) o[i * s[0]] = pick(c[i * s[1]], x[i * s[2]], y[i * s[3]]);
  });
}

}  // namespace

void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b) {
  if (out.numel() == 0) return;
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) { where_bits<Bits>(out, condition, a, b); });
}

}  // namespace tandem::cpu
