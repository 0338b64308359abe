#include "tandem/core/base/cache_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace tandem {

std::string cache_folder() {
  for (const auto& [variable, below] :
       {std::pair("TANDEM_CACHE", ""), std::pair("XDG_CACHE_HOME", "/tandem"), std::pair("HOME", "/.cache/tandem")})
    if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0')
      return std::string(folder) + below;
  return "";
}

std::string writable_cache_folder(const std::string& name) {
  const std::string cache = cache_folder();
  if (cache.empty()) return "";
  const std::string folder = cache + '/' + name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return !error && ::access(folder.c_str(), W_OK | X_OK) == 0 ? folder : "";
}

}  // namespace tandem
