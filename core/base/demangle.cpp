#include "tandem/core/base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tandem::detail {

std::string demangle(const char* name) {
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                          &std::free);
  return plain != nullptr ? plain.get() : name;
}

}  // namespace tandem::detail
