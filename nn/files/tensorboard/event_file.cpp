#include "tandem/nn/files/tensorboard/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"

namespace tandem::tensorboard {
namespace {

namespace fs = std::filesystem;
constexpr const char* kHead = "events.out.tfevents.";

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0x82f63b78u : sum >> 1;
    table[i] = sum;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

// TFRecord files store checksums in this form, because data may itself contain checksums.
uint32_t masked(uint32_t sum) { return (sum >> 15 | sum << 17) + 0xa282ead8u; }

std::string little_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
  return out;
}

// The seconds in the name of the last event file in the folder; 0 if there is none.
int64_t last_seconds(const std::string& folder) {
  int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kHead)) continue;
    int64_t seconds = 0;
    std::from_chars(name.data() + std::strlen(kHead), name.data() + name.size(), seconds);
    last = std::max(last, seconds);
  }
  return last;
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "localhost";
  std::replace(name, name + std::strlen(name), '/', '_');
  return name;
}

}  // namespace

uint32_t crc32c(std::string_view data) {
  uint32_t sum = 0xffffffffu;
  for (const char c : data) sum = kTable[(sum ^ static_cast<unsigned char>(c)) & 255] ^ sum >> 8;
  return ~sum;
}

EventFile::EventFile(const std::string& folder, const std::string& suffix) {
  static std::atomic<int> count{0};
  std::error_code error;
  fs::create_directories(folder, error);
  check(!error, "cannot create the folder ", folder, ": ", error.message());
  constexpr int64_t kMaxSeconds = 9'999'999'999;  // ten digits, so that names sort by time
  int64_t seconds = std::max<int64_t>(std::time(nullptr), std::min(last_seconds(folder), kMaxSeconds - 1) + 1);
  do {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(seconds++));
    const std::string name = concat(kHead, digits, ".", host_name(), ".", ::getpid(), ".", count++, suffix);
    path_ = (fs::path(folder) / name).string();
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail_with("cannot be created", errno);
}

EventFile::~EventFile() { ::close(fd_); }

void EventFile::fail_with(const char* what, int error_number) const {
  fail(path_, ": ", what, ": ", std::strerror(error_number));
}

void EventFile::append(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  std::string record = length + little_endian(masked(crc32c(length)), 4);
  record += data;
  record += little_endian(masked(crc32c(data)), 4);
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t written = ::write(fd_, record.data() + done, record.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int reason = written == 0 ? EIO : errno;
      [[maybe_unused]] const int cut = ::ftruncate(fd_, end_);  // otherwise later records could not be read
      fail_with("cannot be written", reason);
    }
    done += static_cast<std::size_t>(written);
  }
  end_ += static_cast<int64_t>(record.size());
}

void EventFile::sync() {
  if (flush_to_disk(fd_) != 0 && errno != EINVAL) fail_with("cannot be written", errno);  // EINVAL: not a disk
}

}  // namespace tandem::tensorboard
