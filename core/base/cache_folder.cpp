#include "tandem/core/base/cache_folder.h"

#include <cstdlib>
#include <utility>

namespace tandem {

std::string cache_folder() {
  for (const auto& [variable, below] :
       {std::pair("TANDEM_CACHE", ""), std::pair("XDG_CACHE_HOME", "/tandem"), std::pair("HOME", "/.cache/tandem")})
    if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0')
      return std::string(folder) + below;
  return "";
}

}  // namespace tandem
