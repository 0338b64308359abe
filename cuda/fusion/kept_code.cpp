#include "tandem/cuda/fusion/kept_code.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"
#include "tandem/cuda/plan_key.h"

namespace tandem::cuda_impl {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostCode = 64 << 20;  // of a file: larger ones are not ours

std::string line_of(uint64_t sum) { return concat(sum, '\n'); }

}  // namespace

uint64_t text_hash(std::string_view text) {
  uint64_t sum = text.size();
  for (const char c : text) sum = mixed(sum + static_cast<unsigned char>(c));
  return sum;
}

KeptCode::KeptCode(std::string folder, std::string key)
    : folder_(std::move(folder)), key_(std::move(key)), path_(concat(folder_, '/', text_hash(key_))) {}

std::string KeptCode::find() const {
  std::error_code ignored;
  if (folder_.empty() || fs::file_size(path_, ignored) > kMostCode) return "";  // the size is huge if there is none
  std::ifstream file(path_, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  if (!text.starts_with(key_)) return "";
  const std::size_t end = text.find('\n', key_.size());
  if (end == std::string::npos) return "";
  std::string code = text.substr(end + 1);
  if (text.substr(key_.size(), end + 1 - key_.size()) != line_of(text_hash(code))) return "";
  fs::last_write_time(path_, fs::file_time_type::clock::now(), ignored);
  return code;
}

void KeptCode::keep(const std::string& code, int64_t most) const {
  if (folder_.empty()) return;
  try {
    write_file_atomically(path_, concat(key_, line_of(text_hash(code)), code));
    limit(most);
  } catch (const std::exception&) {  // the next run compiles it again
  }
}

void KeptCode::limit(int64_t most) const {
  std::error_code ignored;
  std::vector<std::tuple<fs::file_time_type, fs::path, int64_t>> files;
  int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const auto size = static_cast<int64_t>(entry.file_size(ignored));
    if (ignored) continue;
    files.emplace_back(entry.last_write_time(ignored), entry.path(), size);
    bytes += size;
  }
  std::ranges::sort(files);
  for (const auto& [time, path, size] : files) {
    if (bytes <= most) break;
    if (fs::remove(path, ignored)) bytes -= size;
  }
}

}  // namespace tandem::cuda_impl
