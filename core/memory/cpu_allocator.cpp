// Small blocks have per-thread free lists. Surplus blocks, and those of ended threads, go to the central
// slabs. Large blocks are central. Under the address sanitizer every block comes from the system's allocator.
#include "tandem/core/memory/cpu_allocator.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tandem/core/base/sanitizers.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/error.h"
#include "tandem/core/memory/small_blocks.h"
#include "tandem/core/profile/profile_memory.h"
#include "tandem/core/threads/of_thread.h"

namespace tandem::cpu {
namespace {

[[noreturn, gnu::cold]] void out_of_memory(std::size_t bytes) {
  throw OutOfMemoryError(concat("out of memory: could not allocate ", bytes, " bytes on the CPU, ", reserved_bytes(),
                                " bytes are in use; try a smaller batch", profiler::detail::largest_storages(kCPU)));
}

#ifdef TANDEM_ASAN
std::atomic<uint64_t> from_system{0};
#endif

struct Central {
  std::mutex mutex;
  LargeBlocks large;
  SmallBlocks small{large};
  uint32_t emptied = 0;  // number of times the cache was emptied
};
// Never destroyed: tensors with static storage duration may be freed late.
Central& central() {
  static Central* instance = new Central;
  return *instance;
}

struct FreeList {
  FreeBlock* head = nullptr;
  uint32_t count = 0;
  void push(FreeBlock* block) {
    block->next = head;
    head = block;
    ++count;
  }
  FreeBlock* pop() {
    FreeBlock* block = head;
    if (block != nullptr) {
      head = block->next;
      --count;
    }
    return block;
  }
};

struct ThreadCache {
  FreeList lists[SmallBlocks::kClasses];
  uint32_t emptied = 0;  // Central::emptied when this cache was last emptied
  ~ThreadCache();
};
[[gnu::tls_model("initial-exec")]] thread_local ThreadCache* thread_cache = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool thread_ended = false;

// Must run under the central mutex, like everything that takes a Central.
void give_up(Central& c, FreeList& list, uint32_t count) {
  for (; count > 0; --count) c.small.deallocate(list.pop());
}
void empty_thread(Central& c, ThreadCache& local) {
  for (FreeList& list : local.lists) give_up(c, list, list.count);
  local.emptied = c.emptied;
}

ThreadCache::~ThreadCache() {
  thread_cache = nullptr;
  thread_ended = true;
  Central& c = central();
  std::lock_guard lock(c.mutex);
  empty_thread(c, *this);
}

[[maybe_unused]] ThreadCache* cache() {
  if (thread_cache != nullptr) [[likely]]
    return thread_cache;
  if (thread_ended) return nullptr;
  return thread_cache = &tandem::detail::of_thread<ThreadCache>();
}

void release_cache() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  ++c.emptied;
  if (thread_cache != nullptr) empty_thread(c, *thread_cache);
  c.small.drop_free_pages();
  c.large.release(0);
}

// Runs `take(central)` under the mutex. If it finds nothing, empties the cache and tries once more.
template <class Take>
void* take_central(std::size_t bytes, Take take) {
  Central& c = central();
  for (int tries = 0; tries < 2; ++tries) {
    {
      std::lock_guard lock(c.mutex);
      if (void* block = take(c)) return block;
    }
    if (tries == 0) release_cache();
  }
  out_of_memory(bytes);
}

// Fetches a batch of small blocks: returns one and caches the rest in the thread.
[[maybe_unused, gnu::noinline]] void* refill(ThreadCache* local, SizeClass sc) {
  return take_central(sc.bytes, [&](Central& c) -> void* {
    FreeBlock* first = c.small.allocate(sc);
    if (local == nullptr || first == nullptr) return first;
    if (local->emptied != c.emptied) empty_thread(c, *local);
    for (int more = sc.bytes <= 1024 ? 15 : 3; more > 0; --more)
      if (FreeBlock* block = c.small.allocate(sc)) local->lists[sc.index].push(block);
    return first;
  });
}

[[maybe_unused, gnu::noinline]] void* allocate_large(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 46) out_of_memory(bytes);
  return take_central(bytes, [&](Central& c) { return c.large.allocate(bytes); });
}

// Frees half of a thread's list, or all of its lists if the cache was emptied.
[[maybe_unused, gnu::noinline]] void shorten(ThreadCache& local, FreeList& list) noexcept {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  if (local.emptied != c.emptied) return empty_thread(c, local);
  give_up(c, list, list.count / 2);
}

}  // namespace

void* allocate(std::size_t bytes) {
#ifdef TANDEM_ASAN
  if (bytes >= std::size_t{1} << 46) out_of_memory(bytes);
  from_system.fetch_add(1, std::memory_order_relaxed);
  constexpr std::size_t kAlign = SmallBlocks::kAlign;
  void* block = std::aligned_alloc(kAlign, bytes == 0 ? kAlign : (bytes + kAlign - 1) / kAlign * kAlign);
  if (block == nullptr) out_of_memory(bytes);
  return block;
#else
  if (bytes > SmallBlocks::kLimit) return allocate_large(bytes);
  const SizeClass sc = SmallBlocks::size_class(bytes);
  ThreadCache* local = cache();
  if (local != nullptr)
    if (FreeBlock* block = local->lists[sc.index].pop()) return block;
  return refill(local, sc);
#endif
}

void deallocate(void* block, std::size_t bytes) noexcept {
#ifdef TANDEM_ASAN
  std::free(block);
#else
  if (bytes <= SmallBlocks::kLimit) {
    const SizeClass sc = SmallBlocks::size_class(bytes);
    if (ThreadCache* local = cache()) {
      FreeList& list = local->lists[sc.index];
      list.push(static_cast<FreeBlock*>(block));
      if (list.count > (sc.bytes <= 1024 ? 512u : 32u)) shorten(*local, list);
      return;
    }
  }
  Central& c = central();
  std::lock_guard lock(c.mutex);
  if (bytes <= SmallBlocks::kLimit)
    c.small.deallocate(static_cast<FreeBlock*>(block));
  else
    c.large.deallocate(block, bytes);
#endif
}

void empty_cache() {
  free_scratch();
  release_cache();
}

std::size_t reserved_bytes() {
  std::lock_guard lock(central().mutex);
  return central().large.held();
}

std::size_t cached_bytes() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  return c.large.held() - c.large.live() + c.small.held() - c.small.live();
}

uint64_t system_allocations() {
#ifdef TANDEM_ASAN
  return from_system.load(std::memory_order_relaxed);
#else
  std::lock_guard lock(central().mutex);
  return central().large.system_allocations();
#endif
}

void lock_for_fork() { central().mutex.lock(); }
void unlock_after_fork() { central().mutex.unlock(); }

}  // namespace tandem::cpu
