#include "tandem/cli/launch/output_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tandem::cli {

constexpr std::size_t kMaxDone = 1 << 16;  // so erasing moves each byte a few times at most

void OutputQueue::add(std::string_view text) {
  if (error_ == 0) text_ += text;
}

void OutputQueue::write_some() {
  pollfd ready{fd_, POLLOUT, 0};
  while (!empty() && error_ == 0 && ::poll(&ready, 1, 0) == 1) {
    // A pipe that is ready accepts PIPE_BUF bytes without blocking, and perhaps no more.
    const std::size_t bytes = std::min<std::size_t>(text_.size() - done_, PIPE_BUF);
    const ssize_t written = ::write(fd_, text_.data() + done_, bytes);
    if (written >= 0)
      done_ += static_cast<std::size_t>(written);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      error_ = errno;
  }
  if (error_ != 0) done_ = text_.size();
  if (empty() || done_ > kMaxDone) {
    text_.erase(0, done_);
    done_ = 0;
  }
}

void LineCutter::write(std::string_view line) {
  out_->add(prefix_);
  out_->add(line);
  out_->add("\n");
  if (tail_.size() == kTailLines) tail_.pop_front();
  tail_.emplace_back(line.substr(0, kTailBytes));
}

void LineCutter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t room = kLongestLine - pending_.size();
    const std::size_t newline = bytes.find('\n');
    const std::size_t length = std::min({newline, bytes.size(), room});
    const std::string_view part = bytes.substr(0, length);
    // A line of exactly the longest length ends at its newline, not before it.
    const bool ended = length == newline, cut = !ended && length == room && bytes.size() > room;
    bytes.remove_prefix(length + (ended ? 1 : 0));
    if (!ended && !cut) {
      pending_ += part;
      return;
    }
    if (pending_.empty()) {
      write(part);
    } else {
      pending_ += part;
      write(pending_);
      pending_.clear();
    }
  }
}

void LineCutter::finish() {
  if (!pending_.empty()) write(pending_);
  pending_.clear();
}

std::deque<std::string> LineCutter::last_lines() const {
  std::deque<std::string> out = tail_;
  if (!pending_.empty()) out.push_back(pending_.substr(0, kTailBytes));
  if (out.size() > kTailLines) out.pop_front();
  return out;
}

}  // namespace tandem::cli
