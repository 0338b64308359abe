// Marks copies of values that follow from an operation's numbers and sizes.
#pragma once

namespace tandem::detail {

inline thread_local bool copies_constants = false;

/// In its scope this thread copies to a device what an operation computes on the host from numbers and sizes, such as a
/// table of positions. A captured step records such values, as it records a number; it refuses to copy others from the
/// host, which could be other ones at a replay.
class ConstantCopies {
 public:
  ConstantCopies() : before_(copies_constants) { copies_constants = true; }
  ~ConstantCopies() { copies_constants = before_; }
  ConstantCopies(const ConstantCopies&) = delete;
  ConstantCopies& operator=(const ConstantCopies&) = delete;

 private:
  const bool before_;
};

}  // namespace tandem::detail
