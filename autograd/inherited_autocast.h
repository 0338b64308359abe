// The autocast of another thread, or of an earlier time, in a scope. Internal.
#pragma once
#include "tandem/autograd/autocast.h"

namespace tandem::autocast::detail {

/// Leaves that are converted in the scope are not kept longer than the thread's own outermost region.
class InheritedAutocast {
 public:
  explicit InheritedAutocast(const State& inherited) : before_(state) {
    state = inherited;
    state.nesting = before_.nesting + 1;
  }
  ~InheritedAutocast() {
    state = before_;
    if (before_.nesting == 0) clear_cache();
  }
  InheritedAutocast(const InheritedAutocast&) = delete;
  InheritedAutocast& operator=(const InheritedAutocast&) = delete;

 private:
  State before_;
};

}  // namespace tandem::autocast::detail
