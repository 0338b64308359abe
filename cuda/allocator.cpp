// Free lists are ordered by (stream, size). The blocks of a segment are linked, so neighbours can be merged.
#include "tandem/cuda/allocator.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tandem/core/error.h"
#include "tandem/core/profile/profile_memory.h"
#include "tandem/core/threads/spin.h"

namespace tandem::cuda_impl {

namespace {
constexpr std::size_t kAlignment = 512, kMiB = std::size_t{1} << 20;
constexpr std::size_t kSmall = kMiB;  // requests up to this share small segments
constexpr std::size_t kSmallSegment = 2 * kMiB, kLargeSegment = 20 * kMiB;
constexpr std::size_t kOwnSegment = 10 * kMiB;  // from here on a request gets its own segment

std::string mib(std::size_t bytes) {
  const std::size_t tenths = (bytes * 10 + kMiB / 2) / kMiB;
  return concat(tenths / 10, ".", tenths % 10, " MiB");
}

// The lock is held for a fraction of a microsecond, some hundred times in a step. Two threads that slept for it took 1.5
// times as long as one, most of it for waking.
class Lock {
 public:
  explicit Lock(std::mutex& mutex) : lock_(mutex, std::defer_lock) {
    if (!spin_until([this] { return lock_.try_lock(); })) lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};
}  // namespace

struct CachingAllocator::Block {
  char* data;
  std::size_t size;
  StreamId stream;
  PoolId pool;
  bool small, free = false;
  Block *before = nullptr, *after = nullptr;  // neighbours in the segment
  std::vector<StreamId> users;                // further streams
  std::vector<EventId> marks;                 // events of those streams, recorded after the free
  bool held = false, freed = false;           // hold()
};

bool CachingAllocator::Order::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return std::less<>()(a->stream, b->stream);
  if (a->size != b->size) return a->size < b->size;
  return std::less<>()(a->data, b->data);
}

std::size_t CachingAllocator::rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
std::size_t CachingAllocator::segment_size(std::size_t bytes) {
  if (bytes <= kSmall) return kSmallSegment;
  if (bytes < kOwnSegment) return kLargeSegment;
  return (bytes + kSmallSegment - 1) / kSmallSegment * kSmallSegment;
}

CachingAllocator::CachingAllocator(MemorySource& source, std::string name) : source_(source), name_(std::move(name)) {
  pools_[0];
}
// Memory still in use is released when the process ends.
CachingAllocator::~CachingAllocator() {
  release_reached(/*wait=*/true);
  for (auto& [id, pool] : pools_) {
    free_segments(pool);
    for (auto* blocks : {&pool.small, &pool.large})
      for (Block* block : *blocks) delete block;
  }
  for (const auto& [data, block] : live_) delete block;
}

std::set<CachingAllocator::Block*, CachingAllocator::Order>& CachingAllocator::list(Pool& pool, std::size_t bytes,
                                                                                    const Block* block) {
  const bool small = block != nullptr ? block->small : bytes <= kSmall;
  return small ? pool.small : pool.large;
}

void* CachingAllocator::allocate(std::size_t bytes, StreamId stream, PoolId id) {
  if (bytes == 0) return nullptr;
  if (bytes >= std::size_t{1} << 46)
    throw OutOfMemoryError(concat("out of memory on ", name_, ": requested ", mib(bytes)));
  bytes = rounded(bytes);
  const Lock lock(mutex_);
  if (!waiting_.empty()) release_reached(/*wait=*/false);
  const auto found = pools_.find(id);
  check(found != pools_.end() && !found->second.retired, name_, ": no memory pool ", id);
  Pool& pool = found->second;
  Block* block = take_free(pool, bytes, stream, /*any=*/false);
  if (block == nullptr) block = new_segment(bytes, stream, id);
  if (block == nullptr) block = take_free(pool, bytes, stream, /*any=*/true);
  if (block == nullptr) exhausted(bytes);
  split(block, bytes);
  live_.emplace(block->data, block);
  ++pool.live;
  ++use_.allocations;
  use_.allocated += block->size;
  use_.allocated_peak = std::max(use_.allocated_peak, use_.allocated);
  return block->data;
}

// The smallest free block of the stream that holds `bytes`. Without `any`, a huge block is not broken up for
// a small piece and a small request is not served from a large segment; `any` is for a GPU out of memory.
CachingAllocator::Block* CachingAllocator::take_free(Pool& pool, std::size_t bytes, StreamId stream, bool any) {
  auto& blocks = list(pool, bytes, nullptr);
  Block key{nullptr, bytes, stream, 0, false, false, nullptr, nullptr, {}, {}};
  const auto at = blocks.lower_bound(&key);
  if (at == blocks.end() || (*at)->stream != stream)
    return any && bytes <= kSmall ? take_free(pool, kSmall + kAlignment, stream, any) : nullptr;
  if (!any && bytes >= kOwnSegment && (*at)->size >= bytes + kLargeSegment) return nullptr;
  if (!any && bytes < kOwnSegment && (*at)->size > 4 * kLargeSegment) return nullptr;
  Block* block = *at;
  blocks.erase(at);
  block->free = false;
  return block;
}

// nullptr if the GPU has no memory left.
CachingAllocator::Block* CachingAllocator::new_segment(std::size_t bytes, StreamId stream, PoolId pool) {
  const std::size_t size = segment_size(bytes);
  void* data = request(size);
  if (data == nullptr) return nullptr;
  use_.reserved += size;
  use_.reserved_peak = std::max(use_.reserved_peak, use_.reserved);
  return new Block{static_cast<char*>(data), size, stream, pool, bytes <= kSmall, false, nullptr, nullptr, {}, {}};
}

// Allocates GPU memory; if there is none left, frees the cache and tries once more.
void* CachingAllocator::request(std::size_t bytes) {
  ++use_.system_allocations;
  if (void* data = source_.allocate(bytes)) return data;
  if (!source_.may_wait()) return nullptr;
  release_reached(/*wait=*/true);
  std::size_t freed = 0;
  for (auto& [id, pool] : pools_)
    if (id == 0 || pool.retired)
      freed += free_segments(pool);  // the pools of captured steps are needed for their replays
  return freed == 0 ? nullptr : source_.allocate(bytes);
}

void CachingAllocator::exhausted(std::size_t bytes) {
  const auto room = source_.room();
  throw OutOfMemoryError(concat("out of memory on ", name_, ": requested ", mib(bytes), "\n  the GPU has ",
                                mib(room.total), ", ", mib(room.free), " free; this process holds ", mib(use_.reserved),
                                ", ", mib(use_.allocated), " of it in tensors (peak ", mib(use_.allocated_peak),
                                ")\n  try a smaller batch, or NoGradGuard where no gradients are needed",
                                profiler::detail::largest_storages(kCUDA)));
}

// What remains after `bytes` becomes a free block, if it is large enough.
void CachingAllocator::split(Block* block, std::size_t bytes) {
  const std::size_t rest = block->size - bytes;
  if (rest < (block->small ? kAlignment : kSmall)) return;
  auto* tail =
      new Block{block->data + bytes, rest, block->stream, block->pool, block->small, true, block, block->after, {}, {}};
  if (block->after != nullptr) block->after->before = tail;
  block->after = tail;
  block->size = bytes;
  list(pools_[block->pool], 0, tail).insert(tail);
}

void CachingAllocator::free(void* memory) noexcept try {
  if (memory == nullptr) return;
  const Lock lock(mutex_);
  const auto found = live_.find(memory);
  if (found == live_.end()) {
    std::fprintf(stderr, "tandem: %s: freed memory that was not allocated here\n", name_.c_str());
    return;
  }
  Block* block = found->second;
  live_.erase(found);
  use_.allocated -= block->size;
  --pools_[block->pool].live;
  if (block->held)
    block->freed = true;
  else
    let_go(block);
} catch (const std::exception& error) {
  std::fprintf(stderr, "tandem: %s: %s\n", name_.c_str(), error.what());
}

// The block is free as soon as the streams that use it permit.
void CachingAllocator::let_go(Block* block) {
  if (block->users.empty()) return release(block);
  waiting_.push_back(block);
  mark_users(block);
}

void CachingAllocator::hold(PoolId pool, const void* memory) {
  const Lock lock(mutex_);
  const auto found = live_.find(const_cast<void*>(memory));
  if (found == live_.end() || found->second->pool != pool || found->second->held) return;
  pools_[pool].held.push_back(found->second);
  found->second->held = true;
}
bool CachingAllocator::freed(PoolId pool, const void* memory) const {
  const Lock lock(mutex_);
  return std::ranges::any_of(pools_.at(pool).held,
                             [&](const Block* block) { return block->data == memory && block->freed; });
}
void CachingAllocator::release_held(PoolId pool) noexcept {
  const Lock lock(mutex_);
  for (Block* block : std::exchange(pools_[pool].held, {})) try {
      block->held = false;
      if (std::exchange(block->freed, false)) let_go(block);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tandem: %s: %s\n", name_.c_str(), error.what());
    }
}

void CachingAllocator::used_by(void* memory, StreamId stream) {
  const Lock lock(mutex_);
  const auto found = live_.find(memory);
  if (found == live_.end()) return;  // not allocated here
  Block* block = found->second;
  if (stream == block->stream || std::ranges::find(block->users, stream) != block->users.end()) return;
  block->users.push_back(stream);
}

void CachingAllocator::release(Block* block) {
  Pool& pool = pools_[block->pool];
  block->free = true;
  if (Block* left = block->before; left != nullptr && left->free) {
    list(pool, 0, left).erase(left);
    join(left, block);
    block = left;
  }
  if (Block* right = block->after; right != nullptr && right->free) {
    list(pool, 0, right).erase(right);
    join(block, right);
  }
  list(pool, 0, block).insert(block);
  if (pool.retired && pool.live == 0) free_segments(pool);
}

// `neighbour` follows `block` directly.
void CachingAllocator::join(Block* block, Block* neighbour) {
  block->size += neighbour->size;
  block->after = neighbour->after;
  if (block->after != nullptr) block->after->before = block;
  delete neighbour;
}

// Streams being captured get their event after the capture has ended.
void CachingAllocator::mark_users(Block* block) {
  std::erase_if(block->users, [&](StreamId stream) {
    if (source_.records(stream)) return false;
    block->marks.push_back(source_.mark(stream));
    return true;
  });
}

void CachingAllocator::release_reached(bool wait) {
  if (waiting_.empty()) return;
  for (Block* block : waiting_)
    if (!block->users.empty()) mark_users(block);
  if (wait) source_.synchronize();
  for (Block* block : waiting_)
    while (!block->marks.empty() && source_.reached(block->marks.back())) {
      source_.drop(block->marks.back());
      block->marks.pop_back();
    }
  const auto waits = [](const Block* block) { return !block->marks.empty() || !block->users.empty(); };
  const auto done = std::stable_partition(waiting_.begin(), waiting_.end(), waits);
  const std::vector<Block*> released(done, waiting_.end());
  waiting_.erase(done, waiting_.end());
  for (Block* block : released) release(block);
}

// Returns the number of bytes freed.
std::size_t CachingAllocator::free_segments(Pool& pool) {
  std::size_t freed = 0;
  for (auto* blocks : {&pool.small, &pool.large})
    std::erase_if(*blocks, [&](Block* block) {
      if (block->before != nullptr || block->after != nullptr) return false;
      source_.free(block->data);
      freed += block->size;
      delete block;
      return true;
    });
  use_.reserved -= freed;
  return freed;
}

void CachingAllocator::empty_cache() {
  const Lock lock(mutex_);
  if (!source_.may_wait()) return release_reached(/*wait=*/false);
  release_reached(/*wait=*/true);
  for (auto& [id, pool] : pools_)
    if (id == 0 || pool.retired) free_segments(pool);
  std::erase_if(pools_, [](const auto& entry) {
    const Pool& pool = entry.second;
    return pool.retired && pool.live == 0 && pool.small.empty() && pool.large.empty();
  });
}

PoolId CachingAllocator::new_pool() {
  const Lock lock(mutex_);
  pools_[next_pool_];
  return next_pool_++;
}

void CachingAllocator::retire_pool(PoolId id) {
  const Lock lock(mutex_);
  const auto found = pools_.find(id);
  if (found == pools_.end() || id == 0) return;
  found->second.retired = true;
  if (found->second.live == 0) free_segments(found->second);
}

MemoryUse CachingAllocator::use() const {
  const Lock lock(mutex_);
  return use_;
}
void CachingAllocator::reset_peaks() {
  const Lock lock(mutex_);
  use_.allocated_peak = use_.allocated;
  use_.reserved_peak = use_.reserved;
}

}  // namespace tandem::cuda_impl
