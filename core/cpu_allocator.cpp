// Size classes: four steps for every power of two, so a block is at most 25 % larger than asked (plus
// rounding to 64). Small classes (to 32 KiB) have free lists a thread; lists that grow long, and those of
// ended threads, go to a central list. Large blocks live in central lists only.
#include "tandem/core/cpu_allocator.h"

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "tandem/core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_NO_CACHE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_NO_CACHE 1
#endif
#endif

namespace tandem {
namespace cpu {
namespace {

constexpr std::size_t kAlign = 64, kSlab = std::size_t{256} << 10, kSmallLimit = std::size_t{32} << 10;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr int kClasses = 160, kSmallClasses = 40;

struct Block {
  Block* next;
};
struct List {
  Block* head = nullptr;
  uint32_t count = 0;
  void push(Block* block) {
    block->next = head;
    head = block;
    ++count;
  }
  Block* pop() {
    Block* block = head;
    if (block != nullptr) {
      head = block->next;
      --count;
    }
    return block;
  }
};

// Class c holds blocks of (4 + c % 4) * 2^(c / 4) * 16 bytes: 64, 80→128 … rounded up to a multiple of 64.
struct SizeClass {
  int index;
  std::size_t bytes;
};
[[maybe_unused]] SizeClass size_class(std::size_t bytes) {
  if (bytes <= kAlign) return {0, kAlign};
  const std::size_t units = (bytes + kAlign - 1) / kAlign;  // of 64 bytes
  const int log = std::bit_width(units - 1) - 1;            // 2^log < units <= 2^(log+1), units >= 2
  const int shift = log >= 2 ? log - 2 : 0;
  const std::size_t quarter =
      (units + (std::size_t{1} << shift) - 1) >> shift;  // 5..8 when log >= 2, else 2..4
  const int index = log >= 2 ? 4 * (log - 1) + static_cast<int>(quarter) - 4 : static_cast<int>(quarter) - 1;
  return {index, (quarter << shift) * kAlign};
}

struct Central {
  std::mutex mutex;
  List lists[kClasses];
  std::size_t bytes_of[kClasses] = {};
  char* slab = nullptr;
  std::size_t slab_left = 0;
};
// Never destroyed: tensors with static storage duration may be freed late.
Central& central() {
  static Central* instance = new Central;
  return *instance;
}
std::atomic<uint64_t> from_system{0};

void* system_allocate(std::size_t bytes) {
  from_system.fetch_add(1, std::memory_order_relaxed);
  const std::size_t align = bytes >= kHuge ? kHuge : kAlign;
  const std::size_t whole = (bytes + align - 1) / align * align;
  void* block = std::aligned_alloc(align, whole);
  check(block != nullptr, "out of memory: could not allocate ", bytes, " bytes on the CPU");
  if (bytes >= kHuge) madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

struct ThreadCache {
  List lists[kSmallClasses];
  ~ThreadCache();
};
[[gnu::tls_model("initial-exec")]] thread_local ThreadCache* thread_cache = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool thread_ended = false;

ThreadCache::~ThreadCache() {
  thread_cache = nullptr;
  thread_ended = true;
  Central& c = central();
  std::lock_guard lock(c.mutex);
  for (int i = 0; i < kSmallClasses; ++i)
    while (Block* block = lists[i].pop()) c.lists[i].push(block);
}

[[maybe_unused]] ThreadCache* cache() {
  if (thread_cache != nullptr) [[likely]]
    return thread_cache;
  if (thread_ended) return nullptr;
  thread_local ThreadCache instance;
  return thread_cache = &instance;
}

// A batch of small blocks from the central list, or cut from a slab; one is returned, the rest go to `local`.
[[maybe_unused]] void* refill(List* local, SizeClass sc) {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  const std::size_t batch = sc.bytes <= 1024 ? 16 : 4;
  void* first = c.lists[sc.index].pop();
  for (std::size_t i = first != nullptr; i < batch; ++i) {
    Block* block = c.lists[sc.index].pop();
    if (block == nullptr) {
      if (c.slab_left < sc.bytes) {
        c.slab = static_cast<char*>(system_allocate(kSlab));
        c.slab_left = kSlab;
      }
      block = reinterpret_cast<Block*>(c.slab);
      c.slab += sc.bytes;
      c.slab_left -= sc.bytes;
    }
    if (first == nullptr)
      first = block;
    else if (local != nullptr)
      local->push(block);
    else {
      c.lists[sc.index].push(block);
      break;
    }
  }
  return first;
}

[[maybe_unused]] void* allocate_large(SizeClass sc) {
  check(sc.index < kClasses, "out of memory: could not allocate ", sc.bytes, " bytes on the CPU");
  {
    Central& c = central();
    std::lock_guard lock(c.mutex);
    c.bytes_of[sc.index] = sc.bytes;
    if (Block* block = c.lists[sc.index].pop()) return block;
  }
  try {
    return system_allocate(sc.bytes);
  } catch (const Error&) {  // what the cache holds may be enough
    empty_cache();
    return system_allocate(sc.bytes);
  }
}

}  // namespace

void* allocate(std::size_t bytes) {
  check(bytes < (std::size_t{1} << 46), "out of memory: could not allocate ", bytes, " bytes on the CPU");
#ifdef TANDEM_NO_CACHE
  return system_allocate(bytes == 0 ? kAlign : bytes);
#else
  const SizeClass sc = size_class(bytes);
  if (sc.bytes > kSmallLimit) return allocate_large(sc);
  ThreadCache* local = cache();
  List* list = local != nullptr ? &local->lists[sc.index] : nullptr;
  if (list != nullptr)
    if (Block* block = list->pop()) return block;
  return refill(list, sc);
#endif
}

void deallocate(void* block, std::size_t bytes) noexcept {
#ifdef TANDEM_NO_CACHE
  std::free(block);
#else
  const SizeClass sc = size_class(bytes);
  if (sc.bytes <= kSmallLimit) {
    if (ThreadCache* local = cache()) {
      List& list = local->lists[sc.index];
      list.push(static_cast<Block*>(block));
      if (list.count <= (sc.bytes <= 1024 ? 512u : 32u)) return;
      Central& c = central();
      std::lock_guard lock(c.mutex);
      for (uint32_t half = list.count / 2; half > 0; --half) c.lists[sc.index].push(list.pop());
      return;
    }
  }
  Central& c = central();
  std::lock_guard lock(c.mutex);
  c.lists[sc.index].push(static_cast<Block*>(block));
#endif
}

void empty_cache() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  for (int i = 0; i < kClasses; ++i)
    if (c.bytes_of[i] > kSmallLimit)
      while (Block* block = c.lists[i].pop()) std::free(block);
}

uint64_t system_allocations() { return from_system.load(std::memory_order_relaxed); }

}  // namespace cpu

namespace {
constexpr int kMaxIndex = 64;
struct alignas(64) Counter {
  std::atomic<int64_t> current{0}, peak{0};
  std::atomic<uint64_t> made{0};
};
Counter counters[2][kMaxIndex];
Counter& counter(Device device) {
  return counters[static_cast<int>(device.type())][device.has_index() ? device.index() : 0];
}
}  // namespace

namespace detail {
void count_memory(Device device, int64_t bytes) {
  Counter& c = counter(device);
  const int64_t now = c.current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes < 0) return;
  c.made.fetch_add(1, std::memory_order_relaxed);
  int64_t peak = c.peak.load(std::memory_order_relaxed);
  while (now > peak && !c.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}
}  // namespace detail

MemoryStats memory_stats(Device device) {
  const Counter& c = counter(device);
  return {c.current.load(), c.peak.load(), c.made.load()};
}
void reset_peak_memory_stats(Device device) { counter(device).peak = counter(device).current.load(); }

}  // namespace tandem
