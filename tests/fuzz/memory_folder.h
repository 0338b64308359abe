// A folder in memory for readers of folders.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tandem::fuzz {

class MemoryFolder {
 public:
  MemoryFolder() {
    std::error_code error;
    std::string name = (std::filesystem::is_directory("/dev/shm", error) ? "/dev/shm" : "/tmp") +
                       std::string("/tandem-fuzz-XXXXXX");
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~MemoryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::string& path() const { return path_; }
  void write(const char* name, std::string_view content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
  }

 private:
  std::string path_;
};

}  // namespace tandem::fuzz
