// The C library's own functions behind those of interpose.cpp.
#pragma once
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace tandem::simulation {

/// A function that is looked up on first use, also before constructors have run.
template <class Function>
class Real {
 public:
  constexpr Real(const char* name, const char* preferred = nullptr) : name_(name), preferred_(preferred) {}
  template <class... Args>
  auto operator()(Args... args) {
    return get()(args...);
  }
  Function* get() {
    void* found = at_.load(std::memory_order_relaxed);
    if (found == nullptr) at_.store(found = look_up(), std::memory_order_relaxed);
    return reinterpret_cast<Function*>(found);
  }

 private:
  // A sanitizer linked into the program has its function under another name.
  void* look_up() const {
    void* found = preferred_ != nullptr ? dlsym(RTLD_DEFAULT, preferred_) : nullptr;
    return found != nullptr ? found : dlsym(RTLD_NEXT, name_);
  }
  const char* const name_;
  const char* const preferred_;
  std::atomic<void*> at_{nullptr};
};

extern constinit Real<long(long, ...)> real_syscall;

}  // namespace tandem::simulation
