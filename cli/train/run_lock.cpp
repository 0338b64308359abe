// Only the holder unlinks the file; a process that acquires the lock checks that its file still has that name.
#include "tandem/cli/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "tandem/cli/options.h"
#include "tandem/core/base/atomic_file.h"

namespace tandem::cli {
namespace {

std::string holder(int fd) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  const std::string digits(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const bool number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  return number ? "process " + digits : "another process";
}

}  // namespace

RunLock::RunLock(const std::string& folder) : path_((std::filesystem::path(folder) / kLockFile).string()) {
  for (;;) {
    fd_ =
        tandem::detail::Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    require(fd_.get() >= 0, folder, ": cannot be written: ", std::strerror(errno));
    int result = 0;
    while ((result = ::flock(fd_.get(), LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {
    }
    if (result != 0 && errno == EWOULDBLOCK) refuse(folder, ": ", holder(fd_.get()), " is training in this folder");
    if (result != 0 || fd_.is_file(path_)) break;  // else its holder has just removed it
  }
  const std::string me = std::to_string(::getpid());
  if (::ftruncate(fd_.get(), 0) == 0) [[maybe_unused]]
    const ssize_t written = ::pwrite(fd_.get(), me.data(), me.size(), 0);  // used only for the error message
}

RunLock::~RunLock() { ::unlink(path_.c_str()); }

void remove_leftovers(const std::string& folder) {
  for (const char* file : {"checkpoint.safetensors", "model.safetensors", "model.safetensors.index.json", "config.json",
                           "metrics.jsonl", "curve.svg", "network.onnx"})
    remove_leftovers_of((std::filesystem::path(folder) / file).string());
  std::error_code error;
  std::set<std::filesystem::path> files;  // ".3.safetensors.12-0.tmp" is left of 3.safetensors
  const auto find = [&](const std::filesystem::path& place, const std::string& start) {
    for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
      const std::string name = entry.path().filename().string();
      if (const auto end = name.find(".safetensors."); name.starts_with("." + start) && end != std::string::npos)
        files.insert(place / (name.substr(1, end - 1) + ".safetensors"));
    }
  };
  find(folder, "model-");
  const std::filesystem::path epochs = std::filesystem::path(folder) / "epochs";
  find(epochs, "");
  for (const auto& entry : std::filesystem::directory_iterator(epochs, error))
    if (entry.is_directory(error)) {
      remove_leftovers_of((entry.path() / "checkpoint.safetensors").string());
      find(entry.path(), "model-");
    }
  for (const std::filesystem::path& file : files) remove_leftovers_of(file.string());
}

}  // namespace tandem::cli
