// Where files are kept that can be made, or downloaded, again.
#pragma once
#include <string>

namespace tandem {

/// TANDEM_CACHE, or the subfolder tandem of XDG_CACHE_HOME or of ~/.cache; "" if neither these nor HOME is set.
std::string cache_folder();

}  // namespace tandem
