// Plugins of CPU kernels: shared libraries that are loaded when one of their kernels is called first.
#pragma once
#include <string>

namespace tandem::cpu {

/// Where a plugin is, or why there is none.
struct PluginFile {
  std::string path;     ///< empty if there is none
  std::string missing;  ///< in words; empty if there is one
};
/// Looks for libtandem_NAME.so beside the library and in the folder tandem there.
PluginFile find_plugin(const std::string& name);

/// Loads a plugin and returns the address of its table `symbol`, a structure that begins with kTableLayout
/// (kernel_plugin.h). Throws Error if the file cannot be loaded or is from another build.
const void* open_plugin(const std::string& path, const char* symbol);

}  // namespace tandem::cpu
