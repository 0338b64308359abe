// Names of the C++ ABI as they stand in source code.
#pragma once
#include <string>

namespace tandem::detail {

/// "tandem::Tensor" for "N6tandem6TensorE"; `name` itself if it is not a name of the C++ ABI.
std::string demangle(const char* name);

}  // namespace tandem::detail
