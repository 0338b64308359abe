#include "tandem/cli/launch/rank_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tandem/cli/options.h"

namespace tandem::cli {

RankLog::RankLog(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
  require(fd_.get() >= 0, "--log-dir: ", path_, " cannot be written: ", std::strerror(errno));
}

void RankLog::write(std::string_view bytes) {
  while (!bytes.empty() && error_ == 0) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error_ = errno;
  }
}

RankStream::RankStream(std::string prefix, OutputQueue& out, RankLog* log)
    : out_(&out), lines_(std::move(prefix), out), log_(log) {
  int ends[2];
  check(::pipe2(ends, O_CLOEXEC) == 0, "cannot open a pipe for a rank's output: ", std::strerror(errno),
        errno == EMFILE ? " (see ulimit -n: each rank needs two, and two more with --log-dir)" : "");
  read_end_ = tandem::detail::Descriptor(ends[0]);
  write_end_ = tandem::detail::Descriptor(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // the rank's end has its own file description and stays blocking
}

void RankStream::close_read_end() {
  read_end_ = tandem::detail::Descriptor();
  lines_.finish();
}

bool RankStream::read() {
  std::array<char, 1 << 16> buffer;
  if (!read_end_) return false;
  const ssize_t got = ::read(read_end_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    close_read_end();
    return false;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (log_ != nullptr) log_->write(bytes);
  lines_.feed(bytes);
  return true;
}

void RankStream::finish() {
  while (read()) {
  }
  if (read_end_) close_read_end();
}

}  // namespace tandem::cli
