// PyTorch's .pt files as archives: how they start, and the library that reads them. libtandem_pt is loaded when the
// first one is met, because programs that read none should need no libzip.
#pragma once
#include <string>
#include <string_view>

#include "tandem/nn/files/archive.h"

namespace tandem::serialize {

namespace pt {

/// The number of bytes that show a file's kind.
inline constexpr std::size_t kStartSize = 24;

/// The number of bytes of the magic number, a pickle of protocol 2 or above, with which the format before PyTorch 1.6
/// starts; 0 if the file starts otherwise.
std::size_t legacy_start(std::string_view file);

/// Whether a file that starts with these bytes, kStartSize or more, is a zip archive or an old file.
bool starts_as_pt(std::string_view start);

/// The first kStartSize bytes of a regular file; nothing of another, because reading takes a pipe's bytes. Throws Error
/// if it cannot be opened.
std::string start_of(const std::string& path);
bool is_pt_file(const std::string& path);

}  // namespace pt

/// The archive in a .pt file, in memory or, with `data` null, at the path `name`. Throws Error as load_pt does, and
/// where libtandem_pt is not found.
OutputArchive read_pt_archive(const std::string& name, const void* data, std::size_t bytes,
                              const optional<Device>& device);

/// The functions that libtandem_pt exports as tandem_pt_plugin.
struct PtPlugin {
  /// The function of that name that the library is linked with. If it is another one, the library belongs to another
  /// copy of Tandem and is refused.
  decltype(&read_pt_archive) user;
  decltype(&read_pt_archive) read;
};

}  // namespace tandem::serialize
