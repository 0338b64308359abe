// The caching allocator of one logical device: stream-ordered, without a call of the driver once it is warm.
//
// A block belongs to the stream that it was allocated for. Freed, it may serve that stream's next request at
// once, since the work that used it stands before in the stream; other streams never see it. Memory used by
// further streams is registered by `used_by`; it waits for an event of each. Why not cudaMallocAsync: a call
// costs several times a look into a list, its pools cannot be counted by stream, and a captured step must own
// its memory: that is a pool here.
//
// Small requests (up to 1 MiB) are cut from segments of 2 MiB, larger ones from segments of 20 MiB, the
// largest have their own; free neighbours are joined. Safe from several threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/cuda/memory_source.h"

namespace tandem::cuda_impl {

/// A set of segments that serves captured steps alone; 0: everybody's.
using PoolId = uint64_t;

struct AllocatorStats {
  std::size_t allocated = 0, allocated_peak = 0;  ///< bytes of blocks handed out
  std::size_t reserved = 0, reserved_peak = 0;    ///< bytes taken from the card
  uint64_t requests = 0, segments = 0;            ///< blocks handed out, calls of the card, so far
};

class CachingAllocator {
 public:
  /// `name`: the device, for messages. The source outlives the allocator.
  CachingAllocator(MemorySource& source, std::string name);
  ~CachingAllocator();

  /// At least `bytes` bytes, aligned to 512; nullptr for none. With the card exhausted the cache is freed and
  /// the request tried once more, then cut from any free block of the stream; then Error with the figures.
  void* allocate(std::size_t bytes, StreamId stream, PoolId pool = 0);
  /// Any thread. Logs what was not allocated here.
  void free(void* memory) noexcept;
  /// `stream` works with the block too: it is not reused before what it holds now has ended.
  void used_by(void* memory, StreamId stream);

  /// Gives free segments back to the card; waits for it first where blocks wait for streams. Does nothing
  /// while a step is being captured on the card.
  void empty_cache();
  PoolId new_pool();
  /// No more is allocated from it: its memory goes back to the card when the last block is freed.
  void retire_pool(PoolId pool);

  AllocatorStats stats() const;
  void reset_peaks();

  /// The size that a request is rounded to, and that of the segment it would be cut from.
  static std::size_t rounded(std::size_t bytes);
  static std::size_t segment_size(std::size_t rounded_bytes);

 private:
  struct Block;
  struct Order {
    bool operator()(const Block* a, const Block* b) const;
  };
  struct Pool {
    std::set<Block*, Order> small, large;  // free blocks by (stream, size, place)
    std::size_t live = 0;                  // blocks handed out
    bool retired = false;
  };

  Block* take_free(Pool& pool, std::size_t bytes, StreamId stream, bool any);
  Block* new_segment(std::size_t bytes, StreamId stream, PoolId pool);
  void* request(std::size_t bytes);
  void split(Block* block, std::size_t bytes);
  void release(Block* block);
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
  std::vector<Block*> waiting_;  // freed, but other streams have not passed their marks
  AllocatorStats stats_;
  PoolId next_pool_ = 1;
};

}  // namespace tandem::cuda_impl
