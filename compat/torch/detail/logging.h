// LOG(INFO) << "text"; CHECK and CAFFE_ENFORCE of c10/util/Logging.h. Apart from torch/torch.h, because other libraries
// define LOG and CHECK too.
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
#ifndef VLOG_IS_ON
#define VLOG_IS_ON(level) ((level) <= 0)
#endif
#ifndef VLOG_IF
#define VLOG_IF(level, condition) LOG_IF(INFO, VLOG_IS_ON(level) && (condition))
#endif
#define C10_LOG_EVERY_MS(severity, ms) LOG(severity)
#define C10_LOG_FIRST_N(severity, n) LOG(severity)
#define C10_LOG_EVERY_N(severity, n) LOG(severity)

/// `CHECK(condition) << "text";` throws Error with the text unless the condition holds; CHECK_EQ(a, b) and its siblings
/// also give both values. FATAL_IF throws, against its name but as in LibTorch, unless the condition holds.
#ifndef FATAL_IF
#define FATAL_IF(condition) \
  (condition) ? (void)0 : ::tandem::compat::Discard() & ::tandem::compat::FailedCheck().stream()
#endif
#ifndef CHECK
#define CHECK(condition) FATAL_IF(condition) << "Check failed: " #condition " "
#define CHECK_EQ(a, b) TORCH_CHECK_EQ(a, b)
#define CHECK_NE(a, b) TORCH_CHECK_NE(a, b)
#define CHECK_LT(a, b) TORCH_CHECK_LT(a, b)
#define CHECK_LE(a, b) TORCH_CHECK_LE(a, b)
#define CHECK_GT(a, b) TORCH_CHECK_GT(a, b)
#define CHECK_GE(a, b) TORCH_CHECK_GE(a, b)
#define CHECK_NOTNULL(pointer) TORCH_CHECK_NOTNULL(pointer)
#endif
#ifndef DLOG
#ifdef NDEBUG
#define DLOG(severity) \
  while (false) LOG(severity)
#else
#define DLOG(severity) LOG(severity)
#endif
#endif
#ifndef DCHECK
#ifdef NDEBUG
#define DCHECK(condition) \
  while (false) FATAL_IF(condition) << "Check failed: " #condition " "
#else
#define DCHECK(condition) FATAL_IF(condition) << "Check failed: " #condition " "
#endif
#define DCHECK_EQ(a, b) TORCH_DCHECK_EQ(a, b)
#define DCHECK_NE(a, b) TORCH_DCHECK_NE(a, b)
#define DCHECK_LT(a, b) TORCH_DCHECK_LT(a, b)
#define DCHECK_LE(a, b) TORCH_DCHECK_LE(a, b)
#define DCHECK_GT(a, b) TORCH_DCHECK_GT(a, b)
#define DCHECK_GE(a, b) TORCH_DCHECK_GE(a, b)
#define DCHECK_NOTNULL(pointer) TORCH_DCHECK_NOTNULL(pointer)
#endif

/// Throw Error with the parts as its message, the siblings unless the condition holds.
#define CAFFE_THROW(...) ::tandem::compat::fail("" __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_FINITE(condition, ...) TORCH_CHECK_WITH(EnforceFiniteError, condition __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_WITH_CALLER(condition, ...) CAFFE_ENFORCE(condition __VA_OPT__(, ) __VA_ARGS__)
#define TANDEM_COMPAT_ENFORCE(a, op, b, ...)                                                           \
  do {                                                                                                 \
    const auto& tandem_a = (a);                                                                        \
    const auto& tandem_b = (b);                                                                        \
    if (!(tandem_a op tandem_b))                                                                       \
      ::tandem::compat::fail("", "Check failed: " #a " " #op " " #b " (", tandem_a, " vs. ", tandem_b, \
                             "). " __VA_OPT__(, ) __VA_ARGS__);                                        \
  } while (false)
#define CAFFE_ENFORCE_EQ(a, b, ...) TANDEM_COMPAT_ENFORCE(a, ==, b __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_NE(a, b, ...) TANDEM_COMPAT_ENFORCE(a, !=, b __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_LE(a, b, ...) TANDEM_COMPAT_ENFORCE(a, <=, b __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_LT(a, b, ...) TANDEM_COMPAT_ENFORCE(a, <, b __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_GE(a, b, ...) TANDEM_COMPAT_ENFORCE(a, >=, b __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_GT(a, b, ...) TANDEM_COMPAT_ENFORCE(a, >, b __VA_OPT__(, ) __VA_ARGS__)
