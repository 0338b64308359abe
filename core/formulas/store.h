// Stores a number as an element of a dtype.
#pragma once
#include "tandem/core/scalar.h"

namespace tandem {

/// Writes the number as an element of `type`. Throws Error if an integer type cannot hold it.
inline void store(const Scalar& number, ScalarType type, void* to) {
  dispatch(type, AllTypes{}, "number", [&]<class T>(Type<T>) { *static_cast<T*>(to) = number.to<T>(); });
}

}  // namespace tandem
