// Lists of the types of elements.
#pragma once
#include <cstdint>
#include <type_traits>

#include "tandem/core/base/type_list.h"
#include "tandem/core/half.h"

namespace tandem {

template <class T>
struct Complex;

/// Kernels are instantiated for the computed types.
using FloatTypes = TypeList<float, double>;
using IntTypes = TypeList<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using BitTypes = concat_t<IntTypes, TypeList<bool>>;
using NumericTypes = concat_t<IntTypes, FloatTypes>;
using ComputedTypes = concat_t<NumericTypes, TypeList<bool>>;
/// Stored, converted and compared for equality only.
using UnsignedTypes = TypeList<uint16_t, uint32_t, uint64_t>;
/// All but the complex types and the unsigned types above.
using AllTypes = concat_t<ComputedTypes, TypeList<Half, BFloat16>>;
using RealTypes = concat_t<AllTypes, UnsignedTypes>;
using ComplexTypes = TypeList<Complex<float>, Complex<double>>;
using StoredTypes = concat_t<concat_t<RealTypes, ComplexTypes>, TypeList<Complex<Half>>>;

/// The type that kernels compute a stored type of numbers with a fraction in.
template <class Stored>
using computed_t = std::conditional_t<sizeof(Stored) == 2, float, Stored>;

}  // namespace tandem
