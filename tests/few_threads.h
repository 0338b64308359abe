// A process that can start a few threads and then no more, for the length of a scope: each takes so much
// address space for its stack that it soon runs out.
#pragma once
#include <pthread.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TANDEM_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TANDEM_TEST_SANITIZED 1
#endif
#endif

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
  /// False where stacks cannot be set so, and under sanitizers, which keep books of every stack.
  bool works() const {
#ifdef TANDEM_TEST_SANITIZED
    return false;
#else
    return works_;
#endif
  }

 private:
  pthread_attr_t before_;
  bool works_ = false;
};

}  // namespace tandem::test
