#include "tandem/nn/files/pt_plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/core/base/library_folder.h"
#include "tandem/core/version.h"

namespace tandem::serialize {

namespace pt {

std::size_t legacy_start(std::string_view file) {
  constexpr std::string_view magic = "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.";
  if (file.size() < 3 || file[0] != '\x80' || file[1] < 2 || file[1] > 5) return 0;
  const std::size_t begin =
      file[2] == '\x95' ? std::min<std::size_t>(11, file.size()) : 2;  // since protocol 4 after the length of a frame
  return file.substr(begin).starts_with(magic) ? begin + magic.size() : 0;
}

bool starts_as_pt(std::string_view start) {
  // A safetensors file with a header of 64 MB may start so, but then its text follows, where a zip archive has a number.
  const bool zip = start.starts_with("PK\x03\x04") && !start.substr(4).starts_with(std::string_view("\0\0\0\0{", 5));
  return zip || legacy_start(start) != 0;
}

std::string start_of(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(path, ignored).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found) return {};
  std::ifstream in(path, std::ios::binary);
  check(in.is_open(), path, ": cannot be opened: ", std::strerror(errno));
  std::string start(kStartSize, '\0');
  in.read(start.data(), kStartSize);
  start.resize(static_cast<std::size_t>(in.gcount()));
  return start;
}

bool is_pt_file(const std::string& path) { return starts_as_pt(start_of(path)); }

}  // namespace pt

namespace {

constexpr const char* kStatic = "; a program with static libraries reads them with load_pt or load_weights";

// Beside the library, where a build has it, or where the linker looks.
const PtPlugin& open_plugin(const std::string& name) {
  const std::string series =
      TANDEM_VERSION_MAJOR == 0 ? concat("0.", TANDEM_VERSION_MINOR) : std::to_string(TANDEM_VERSION_MAJOR);
  const std::string file = "libtandem_pt.so." + series, own = tandem::detail::library_folder();
  std::string path = file;
  for (const std::string& folder : {own + "/nn/files/pt/", own + "/"})
    if (!own.empty() && access((folder + file).c_str(), F_OK) == 0) path = folder + file;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string what = name + ": is a zip archive or an old file of PyTorch, and libtandem_pt, which reads these, ";
  if (library == nullptr) {
    const char* error = dlerror();
    fail(what, "cannot be loaded: ", error == nullptr ? "unknown error" : error, kStatic);
  }
  const auto* plugin = static_cast<const PtPlugin*>(dlsym(library, "tandem_pt_plugin"));
  check(plugin != nullptr, what, "is older than this library: ", path);
  check(plugin->user == &read_pt_archive, what, "belongs to another copy of Tandem", kStatic);
  return *plugin;
}

}  // namespace

OutputArchive read_pt_archive(const std::string& name, const void* data, std::size_t bytes,
                              const optional<Device>& device) {
  return open_plugin(name).read(name, data, bytes, device);
}

}  // namespace tandem::serialize
