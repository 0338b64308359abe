#include "tandem/core/base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>

namespace tandem::detail {

std::string demangle(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 ? plain : name;
  std::free(plain);
  return out;
}

}  // namespace tandem::detail
