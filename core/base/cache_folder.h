// Where files are kept that can be made, or downloaded, again.
#pragma once
#include <string>

namespace tandem {

/// TANDEM_CACHE, or the subfolder tandem of XDG_CACHE_HOME or of ~/.cache; "" if neither these nor HOME is set.
std::string cache_folder();

/// The folder `name` of cache_folder(), created if there is none; "" if it cannot be written.
std::string writable_cache_folder(const std::string& name);

}  // namespace tandem
