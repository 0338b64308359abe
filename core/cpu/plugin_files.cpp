#include "tandem/core/cpu/plugin_files.h"

#include <dlfcn.h>
#include <unistd.h>

#include "tandem/core/base/library_folder.h"
#include "tandem/core/cpu/kernel_plugin.h"

namespace tandem::cpu {

PluginFile find_plugin(const std::string& name) {
  const std::string own = tandem::detail::library_folder(), file = "libtandem_" + name + ".so";
  if (own.empty()) return {"", "the library's folder is unknown"};
  for (const std::string& folder : {own, own + "/tandem"})
    if (const std::string path = folder + "/" + file; access(path.c_str(), F_OK) == 0) return {path, ""};
  return {"", concat(file, " was not found in ", own, " or ", own, "/tandem")};
}

const void* open_plugin(const std::string& path, const char* symbol) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    fail(path, " cannot be loaded: ", error == nullptr ? "unknown error" : error);
  }
  const void* table = dlsym(library, symbol);
  check(table != nullptr && *static_cast<const uint64_t*>(table) == kTableLayout, path,
        " is not from this build of Tandem; install the library and its plugins together");
  return table;
}

}  // namespace tandem::cpu
