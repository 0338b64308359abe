// The output of a rank: a pipe whose lines go to the launcher's output and, unchanged, to a log file.
#pragma once
#include <memory>
#include <string>

#include "tandem/cli/launch/output_lines.h"
#include "tandem/core/base/descriptor.h"

namespace tandem::cli {

/// A file that receives the bytes of all runs of a rank.
class RankLog {
 public:
  /// Creates or empties the file. Throws UsageError if that fails.
  explicit RankLog(std::string path);
  /// Writes nothing after an error.
  void write(std::string_view bytes);
  const std::string& path() const { return path_; }
  /// The errno of the write that failed; 0 if none did.
  int error() const { return error_; }

 private:
  std::string path_;
  tandem::detail::Descriptor fd_;
  int error_ = 0;
};

class RankStream {
 public:
  /// Opens the pipe. `out` and `log` (null: none) must outlive this. Throws Error if that fails.
  RankStream(std::string prefix, OutputQueue& out, RankLog* log);

  /// The end for the rank. Close it once the rank has been started: the pipe ends when all writers have.
  int write_end() const { return write_end_.get(); }
  void close_write_end() { write_end_ = tandem::detail::Descriptor(); }
  /// The end to poll; -1 once the pipe has ended.
  int read_end() const { return read_end_.get(); }
  /// Reads what is there, at most 64 KiB. Returns false if there was nothing.
  bool read();
  /// Reads all that is there, and closes the pipe.
  void finish();
  const OutputQueue& queue() const { return *out_; }
  const LineCutter& lines() const { return lines_; }

 private:
  void close_read_end();
  OutputQueue* out_;
  LineCutter lines_;
  RankLog* log_;
  tandem::detail::Descriptor read_end_, write_end_;
};

}  // namespace tandem::cli
