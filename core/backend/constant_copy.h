// Marks copies of values that depend on sizes alone.
#pragma once

namespace tandem::detail {

inline thread_local bool copies_constants = false;

/// In its scope this thread copies to a device what depends on sizes alone, such as a table of positions: a captured step
/// records such values, while it refuses to copy others from the host, which could be other ones at a replay.
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
