// Merges the lines of several processes into one stream: each is written whole, after a mark of its process.
#pragma once
#include <deque>
#include <string>
#include <string_view>

namespace tandem::cli {

/// Bytes that wait until a descriptor accepts them, so that a slow reader does not block the launcher.
class OutputQueue {
 public:
  /// Does not own `fd`.
  explicit OutputQueue(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  /// Dropped after an error.
  void add(std::string_view text);
  bool empty() const { return done_ == text_.size(); }
  /// Whether so much waits that sources should wait, too.
  bool full() const { return text_.size() - done_ > (1 << 18); }
  /// Writes as much as the descriptor accepts at once; call it when poll() reports POLLOUT. A blocking
  /// descriptor stays blocking, because other processes share it.
  void write_some();
  /// The errno of the write that failed; 0 if none did.
  int error() const { return error_; }

 private:
  int fd_;
  std::string text_;
  std::size_t done_ = 0;  // of text_, already written
  int error_ = 0;
};

/// One stream of a process, cut into lines.
class LineCutter {
 public:
  /// A longer line is cut into pieces of this many bytes, each written as a line.
  static constexpr std::size_t kLongestLine = 1 << 16;
  /// What last_lines() has: so many lines, and of each at most so many bytes.
  static constexpr std::size_t kTailLines = 5, kTailBytes = 400;

  /// `prefix` is written before each line. `out` must outlive this.
  LineCutter(std::string prefix, OutputQueue& out) : prefix_(std::move(prefix)), out_(&out) {}
  void feed(std::string_view bytes);
  /// Writes the last line if it has no newline.
  void finish();
  /// The lines fed last, without prefix; the last one may have no newline yet.
  std::deque<std::string> last_lines() const;

 private:
  void write(std::string_view line);
  std::string prefix_, pending_;
  OutputQueue* out_;
  std::deque<std::string> tail_;
};

}  // namespace tandem::cli
