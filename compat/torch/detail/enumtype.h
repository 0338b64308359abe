// torch::enumtype: the names of options' constants. Tandem's options are enumerations, not variants of types.
#pragma once
#include <string>

#include "tandem/nn/enum_names.h"
#include "tandem/tandem.h"

namespace torch::enumtype {

template <class T>
std::string get_enum_name(T value) {
  return tandem::nn::enum_name(value);
}
inline tandem::Reduction reduction_get_enum(tandem::Reduction value) { return value; }

}  // namespace torch::enumtype
