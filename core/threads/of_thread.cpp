// The objects of a thread form a list. A POSIX thread-specific key runs their destruction at thread exit.
#include "tandem/core/threads/of_thread.h"

#include <pthread.h>

#include <atomic>
#include <utility>

namespace tandem::detail {
namespace {

constinit thread_local ThreadObject* objects = nullptr;

void free_objects(void*) {
  while (objects != nullptr) {
    ThreadObject* const object = std::exchange(objects, objects->next);
    object->free(object);
  }
}

// The key plus one. A thread that loses the race to create it deletes its own key. Without a key, objects
// leak.
constinit std::atomic<std::size_t> key{0};

std::size_t make_key() {
  pthread_key_t made{};
  if (pthread_key_create(&made, free_objects) != 0) return 0;
  std::size_t first = 0;
  if (key.compare_exchange_strong(first, std::size_t{made} + 1)) return std::size_t{made} + 1;
  pthread_key_delete(made);
  return first;
}

}  // namespace

void free_with_thread(ThreadObject* object) noexcept {
  object->next = std::exchange(objects, object);
  std::size_t known = key.load(std::memory_order_relaxed);
  if (known == 0) known = make_key();
  if (known != 0) pthread_setspecific(static_cast<pthread_key_t>(known - 1), object);
}

}  // namespace tandem::detail
