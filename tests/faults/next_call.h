// Defines a call of the C library that passes its calls on: to the sanitizer's definition of it, or else to the next
// one that the loader finds.
//
// The sources that use this do not include the headers that declare the calls: these rename some (open() to open64())
// and give types and exception specifications that differ between C libraries.
#pragma once
#include <dlfcn.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

#include "tandem/tests/faults/faults.h"

namespace tandem::faults {

template <class F>
F* next_call(F*& known, F* sanitizer, const char* name) {
  F* found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = sanitizer != nullptr ? sanitizer : reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  return found;
}

/// Whether code or data at this address is in a library of this name.
inline bool is_in(const char* library, const void* address) {
  Dl_info found;
  return ::dladdr(address, &found) != 0 && std::strstr(found.dli_fname, library) != nullptr;
}

/// Like fails(), and sets errno.
inline bool fails_with(Kind kind, int error) {
  if (!fails(kind)) return false;
  errno = error;
  return true;
}

}  // namespace tandem::faults

/// Defines next_NAME, which calls the definition after this program's.
#define TANDEM_NEXT(Result, name, parameters, arguments)                             \
  extern "C" __attribute__((weak)) Result __interceptor_##name parameters;           \
  static Result next_##name parameters {                                             \
    static Result(*known) parameters = nullptr;                                      \
    return tandem::faults::next_call(known, &__interceptor_##name, #name) arguments; \
  }

/// Defines NAME, which returns `failure` with errno `error` where calls of this kind have to fail.
#define TANDEM_CALL(kind, error, failure, Result, name, parameters, arguments)         \
  TANDEM_NEXT(Result, name, parameters, arguments)                                     \
  extern "C" Result name parameters {                                                  \
    if (tandem::faults::fails_with(tandem::faults::Kind::kind, error)) return failure; \
    return next_##name arguments;                                                      \
  }
