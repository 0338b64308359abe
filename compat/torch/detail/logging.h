// LOG(INFO) << "text"; of c10/util/Logging.h. Apart from torch/torch.h, because other libraries define LOG too.
#pragma once
#include <iostream>
#include <sstream>

#include "torch/detail/check.h"

namespace tandem::compat {

enum class Severity { INFO, WARNING, ERROR, FATAL };

/// Writes a line to standard error at the end of the statement; a fatal one throws Error instead.
class LogLine {
 public:
  LogLine(Severity severity, const char* file, int line) : severity_(severity) {
    const std::string path = file;
    text_ << '[' << "IWEF"[static_cast<int>(severity)] << ' ' << path.substr(path.rfind('/') + 1) << ':' << line
          << "] ";
  }
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine() noexcept(false) {
    if (severity_ == Severity::FATAL) throw Error(text_.str());
    std::cerr << text_.str() + '\n';
  }
  std::ostream& stream() { return text_; }

 private:
  Severity severity_;
  std::ostringstream text_;
};

}  // namespace tandem::compat

#ifndef LOG
#define LOG(severity) ::tandem::compat::LogLine(::tandem::compat::Severity::severity, __FILE__, __LINE__).stream()
#endif
#ifndef LOG_IF
#define LOG_IF(severity, condition) !(condition) ? (void)0 : ::tandem::compat::Discard() & LOG(severity)
#endif
/// Only messages of level 0 and less are written.
#ifndef VLOG
#define VLOG(level) LOG_IF(INFO, (level) <= 0)
#endif
