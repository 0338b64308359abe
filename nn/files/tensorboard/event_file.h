// Appends records to one event file of TensorBoard: events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER.
//
// A record is what TFRecord files hold: its length (8 bytes), the masked CRC-32C of these bytes, the data, and their
// masked CRC-32C. Each goes to the system in one write, so a process that is killed loses at most the record that it
// was writing.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::tensorboard {

class EventFile {
 public:
  /// Creates the folder and, in it, a new file whose name sorts after those of all other event files there: readers
  /// take them in this order. Throws Error.
  EventFile(const std::string& folder, const std::string& suffix);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Throws Error if it cannot be written, for example when the disk is full;
  /// the file then ends with the record before.
  void append(std::string_view data);
  /// Waits until the records are on the disk. Throws Error.
  void sync();
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail_with(const char* what, int error_number) const;
  std::string path_;
  int fd_ = -1;
  int64_t end_ = 0;
};

/// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view data);

}  // namespace tandem::tensorboard
