// Limits the process to a few new threads for the duration of a scope: each thread's stack takes so much address
// space that it soon runs out.
#pragma once
#include <pthread.h>

#include "tandem/tests/sanitized.h"

namespace tandem::test {

class FewThreads {
 public:
  FewThreads() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&before_);
    pthread_getattr_default_np(&attributes);
    works_ = pthread_attr_setstacksize(&attributes, std::size_t{1} << 45) == 0 &&
             pthread_setattr_default_np(&attributes) == 0;
    pthread_attr_destroy(&attributes);
  }
  ~FewThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  /// False where stack sizes cannot be set, and under sanitizers, which track every stack.
  bool works() const { return works_ && !kSanitized; }

 private:
  pthread_attr_t before_;
  bool works_ = false;
};

}  // namespace tandem::test
