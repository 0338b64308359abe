// Calls that take memory. Those for the C library's own thread-local objects never fail: it ends the process then.
#include <link.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "tandem/core/base/sanitizers.h"
#include "tandem/tests/faults/next_call.h"

using tandem::faults::fails_with;
using tandem::faults::Kind;

// dlsym() takes memory itself, so it cannot find these.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
__attribute__((weak)) void* __interceptor_malloc(size_t);
__attribute__((weak)) void* __interceptor_calloc(size_t, size_t);
__attribute__((weak)) void* __interceptor_realloc(void*, size_t);
__attribute__((weak)) void* __interceptor_memalign(size_t, size_t);
}

namespace {

// The code of the dynamic loader, which makes the thread-local variables of libraries.
uintptr_t g_loader_begin = 0, g_loader_end = 0;

int find_loader(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "/ld-") == nullptr) return 0;
  g_loader_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      g_loader_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
  return 1;
}
[[gnu::constructor]] void know_loader() { dl_iterate_phdr(find_loader, nullptr); }

bool no_memory(void* caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  return (at < g_loader_begin || at >= g_loader_end) && fails_with(Kind::kMemory, ENOMEM);
}

void* aligned(size_t alignment, size_t bytes) {
  return __interceptor_memalign != nullptr ? __interceptor_memalign(alignment, bytes)
                                           : __libc_memalign(alignment, bytes);
}

}  // namespace

#define TANDEM_NO_MEMORY no_memory(__builtin_return_address(0))

extern "C" {

void* malloc(size_t bytes) {
  if (TANDEM_NO_MEMORY) return nullptr;
  return __interceptor_malloc != nullptr ? __interceptor_malloc(bytes) : __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  if (TANDEM_NO_MEMORY) return nullptr;
  return __interceptor_calloc != nullptr ? __interceptor_calloc(count, bytes) : __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) {
  if (TANDEM_NO_MEMORY) return nullptr;
  return __interceptor_realloc != nullptr ? __interceptor_realloc(old, bytes) : __libc_realloc(old, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) { return TANDEM_NO_MEMORY ? nullptr : aligned(alignment, bytes); }
void* memalign(size_t alignment, size_t bytes) { return TANDEM_NO_MEMORY ? nullptr : aligned(alignment, bytes); }

int posix_memalign(void** made, size_t alignment, size_t bytes) {
  void* const block = TANDEM_NO_MEMORY ? nullptr : aligned(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *made = block;
  return 0;
}

}  // extern "C"

TANDEM_NEXT(int, __cxa_thread_atexit_impl, (void (*end)(void*), void* object, void* library), (end, object, library))
extern "C" int __cxa_thread_atexit_impl(void (*end)(void*), void* object, void* library) {
  const tandem::faults::Pause pause;
  return next___cxa_thread_atexit_impl(end, object, library);
}

// The address sanitizer ends the process if a new thread cannot learn of its own stack.
TANDEM_NEXT(int, pthread_getattr_np, (unsigned long thread, void* how), (thread, how))
extern "C" int pthread_getattr_np(unsigned long thread, void* how) {
  const tandem::faults::Pause pause;
  return next_pthread_getattr_np(thread, how);
}

// Functions of libstdc++ that end the process without memory, because they are noexcept inside: the constructors and
// increments of directory iterators.
#define TANDEM_PAUSED(name, parameters, arguments) \
  TANDEM_NEXT(void*, name, parameters, arguments)  \
  extern "C" void* name parameters {               \
    const tandem::faults::Pause pause;             \
    return next_##name arguments;                  \
  }
#define TANDEM_ITERATOR(prefix)                                                                                   \
  TANDEM_PAUSED(prefix##C2ERKNS0_4pathENS_17directory_optionsEPSt10error_code,                                    \
                (void* self, const void* path, unsigned char options, void* error), (self, path, options, error)) \
  TANDEM_PAUSED(prefix##C1ERKNS0_4pathENS_17directory_optionsEPSt10error_code,                                    \
                (void* self, const void* path, unsigned char options, void* error), (self, path, options, error)) \
  TANDEM_PAUSED(prefix##ppEv, (void* self), (self))                                                               \
  TANDEM_PAUSED(prefix##9incrementERSt10error_code, (void* self, void* error), (self, error))
TANDEM_ITERATOR(_ZNSt10filesystem7__cxx1118directory_iterator)
TANDEM_ITERATOR(_ZNSt10filesystem7__cxx1128recursive_directory_iterator)

TANDEM_CALL(kMap, ENOMEM, reinterpret_cast<void*>(-1), void*, mmap,
            (void* at, size_t bytes, int protection, int flags, int fd, long offset),
            (at, bytes, protection, flags, fd, offset))
TANDEM_CALL(kMap, ENOMEM, reinterpret_cast<void*>(-1), void*, mmap64,
            (void* at, size_t bytes, int protection, int flags, int fd, long offset),
            (at, bytes, protection, flags, fd, offset))

#ifdef TANDEM_ASAN
// The address sanitizer's operator new does not call malloc(). Its operator delete takes what malloc() has returned,
// if told so.
extern "C" const char* __asan_default_options() { return "alloc_dealloc_mismatch=0"; }

void* operator new(size_t bytes) {
  if (void* const block = malloc(bytes)) return block;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  if (void* const block = aligned_alloc(static_cast<size_t>(alignment), bytes)) return block;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
#endif
