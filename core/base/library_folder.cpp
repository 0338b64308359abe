#include "tandem/core/base/library_folder.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

namespace tandem::detail {

std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::unique_ptr<char, void (*)(void*)> real(realpath(info.dli_fname, nullptr), std::free);
  const std::string path = real ? real.get() : info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace tandem::detail
