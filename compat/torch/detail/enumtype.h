// Namespaces of constants: torch::Reduction, and torch::enumtype with the names of options' constants. Tandem's options are
// enumerations, not variants of types.
#pragma once
#include <string>

#include "tandem/nn/enum_names.h"
#include "tandem/tandem.h"

namespace torch {
namespace Reduction {
using Reduction = tandem::Reduction;
inline constexpr Reduction None = Reduction::None, Mean = Reduction::Mean, Sum = Reduction::Sum;
}  // namespace Reduction

namespace enumtype {
template <class T>
std::string get_enum_name(T value) {
  return tandem::nn::enum_name(value);
}
inline tandem::Reduction reduction_get_enum(tandem::Reduction value) { return value; }
}  // namespace enumtype
}  // namespace torch
