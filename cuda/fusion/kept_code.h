// Compiled kernels, kept in files between runs: a file each, under its key's hash. A file with another key or a wrong
// checksum is ignored, and written anew.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::cuda_impl {

/// The same in every run.
uint64_t text_hash(std::string_view text);

class KeptCode {
 public:
  /// `key` has everything that decides the code: source, compiler and GPU.
  KeptCode(std::string folder, std::string key);
  /// The code that keep() wrote, now or in an earlier run; "" if none.
  std::string find() const;
  /// Keeps the code, if it can be written. What was not found for longest is removed while all files of the folder
  /// together have more than `most` bytes.
  void keep(const std::string& code, int64_t most = int64_t{256} << 20) const;

 private:
  void limit(int64_t most) const;
  std::string folder_, key_, path_;
};

}  // namespace tandem::cuda_impl
