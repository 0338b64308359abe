// The caching allocator of one logical device: stream-ordered, without driver calls once it is warm.
//
// A block belongs to the stream it was allocated for. Once freed it can serve that stream's next request at
// once, because the work that used it precedes in the stream; other streams never get it. If further streams
// use a block, `used_by` registers them, and the freed block waits for an event of each. cudaMallocAsync is
// not used for three reasons: a call costs several times a list lookup, its pools cannot be accounted for by
// stream, and a captured step must own its memory, which here is a pool.
//
// Small requests (up to 1 MiB) are cut from segments of 2 MiB, larger ones from segments of 20 MiB; the
// largest get their own segments. Free neighbours are merged. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/core/backend/memory_use.h"
#include "tandem/cuda/memory_source.h"

namespace tandem::cuda_impl {

/// A set of segments reserved for captured steps; 0 is the shared pool.
using PoolId = uint64_t;

class CachingAllocator {
 public:
  /// `name` is the device's name, for messages. The source must outlive the allocator.
  CachingAllocator(MemorySource& source, std::string name);
  ~CachingAllocator();

  /// At least `bytes` bytes, aligned to 512; nullptr for 0 bytes. If the GPU is out of memory, frees the
  /// cache and tries again, then cuts from any free block of the stream, then throws Error with the memory
  /// figures.
  void* allocate(std::size_t bytes, StreamId stream, PoolId pool = 0);
  /// May be called from any thread. Logs memory that was not allocated here.
  void free(void* memory) noexcept;
  /// `stream` uses the block too: once freed, it is not reused before the work now queued there has
  /// completed.
  void used_by(void* memory, StreamId stream);

  /// Returns free segments to the GPU; first waits for the GPU if freed blocks wait for streams. Frees
  /// nothing while a step is being captured on the GPU.
  void empty_cache();
  PoolId new_pool();
  /// Stops allocation from the pool; its memory returns to the GPU when the last block is freed.
  void retire_pool(PoolId pool);

  /// From here until release_held(), the block is not reused although it may be freed: work that is not on a stream yet
  /// will use it. Nothing if it is not of this pool.
  void hold(PoolId pool, const void* memory);
  /// Whether the block is held and has been freed.
  bool freed(PoolId pool, const void* memory) const;
  /// Lets the pool's blocks be reused that were freed.
  void release_held(PoolId pool) noexcept;

  MemoryUse use() const;
  void reset_peaks();

  /// The size a request is rounded up to, and the size of the segment it would be cut from.
  static std::size_t rounded(std::size_t bytes);
  static std::size_t segment_size(std::size_t rounded_bytes);

 private:
  struct Block;
  struct Order {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct Pool {
    std::set<Block*, Order> small, large;  // free blocks by (stream, size, address)
    std::size_t live = 0;                  // blocks handed out
    bool retired = false;
    std::vector<Block*> held;
  };

  Block* take_free(Pool& pool, std::size_t bytes, StreamId stream, bool any);
  Block* new_segment(std::size_t bytes, StreamId stream, PoolId pool);
  void* request(std::size_t bytes);
  void split(Block* block, std::size_t bytes);
  void release(Block* block);
  void let_go(Block* block);
  void join(Block* block, Block* neighbour);
  void mark_users(Block* block);
  void release_reached(bool wait);
  std::size_t free_segments(Pool& pool);
  [[noreturn]] void exhausted(std::size_t bytes);
  static std::set<Block*, Order>& list(Pool& pool, std::size_t bytes, const Block* block);

  MemorySource& source_;
  std::string name_;
  mutable std::mutex mutex_;
  std::unordered_map<PoolId, Pool> pools_;
  std::unordered_map<void*, Block*> live_;
  std::vector<Block*> waiting_;  // freed, but other streams have not reached their events
  MemoryUse use_;
  PoolId next_pool_ = 1;
};

}  // namespace tandem::cuda_impl
