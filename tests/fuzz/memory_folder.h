// A folder for readers of folders, in memory where the system has such file systems.
#pragma once
#include "tandem/tests/temp_folder.h"

namespace tandem::fuzz {

inline test::TempFolder memory_folder() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code error;
  return test::TempFolder(std::filesystem::is_directory(memory, error) ? memory
                                                                       : std::filesystem::temp_directory_path());
}

}  // namespace tandem::fuzz
