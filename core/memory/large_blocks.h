// The CPU allocator's blocks above 32 KiB: address ranges that are split, merged and returned to the system.
//
// A free block stores its size and a pointer to the next block. Free lists are kept by size, and the next
// request of a size takes the block of that size freed last. If the list is empty, a larger block is split or
// free neighbours are merged, whatever requests they came from. Not thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::cpu {

/// The free list of a size, and the size that a request is rounded up to.
struct SizeClass {
  int index;
  std::size_t bytes;
};

class LargeBlocks {
 public:
  /// The alignment of memory from the system and the size of allocate_chunk(): a huge page.
  static constexpr std::size_t kHuge = std::size_t{2} << 20;

  /// At least `bytes` bytes, aligned to 4 KiB; nullptr if the system has none. `bytes` must be above 32 KiB.
  void* allocate(std::size_t bytes);
  /// `bytes` must be the value passed to allocate.
  void deallocate(void* block, std::size_t bytes) noexcept;
  /// kHuge bytes, aligned to kHuge; nullptr if the system has none. Freed by deallocate.
  void* allocate_chunk();

  /// Returns free memory to the system, longest unused first, until at most `limit` bytes are held. Only
  /// whole huge pages can be returned.
  void release(std::size_t limit) noexcept;

  /// Bytes obtained from the system and not returned, bytes of them handed out, and requests to the system.
  std::size_t held() const { return held_; }
  std::size_t live() const { return live_; }
  uint64_t system_allocations() const { return system_allocations_; }

 private:
  struct Block;
  // Eight sizes per power of two from 32 KiB to 2^46. List 0 holds the pieces too small for any request.
  static constexpr int kLists = 250;

  static SizeClass size_class(std::size_t bytes);
  static int list_of(std::size_t bytes);
  static Block* sorted(Block* list, bool (*before)(const Block*, const Block*));

  void* hand_out(Block* block, std::size_t bytes);
  void insert(char* at, std::size_t bytes, uint64_t freed);
  Block* take(std::size_t bytes, std::size_t align, std::size_t largest);
  Block* find(std::size_t bytes, std::size_t align);
  Block* grow(std::size_t bytes);
  Block* take_all();
  void join();
  void give_back(Block* block, std::size_t bytes);
  std::size_t limit(std::size_t live) const;
  void next_window();

  Block* lists_[kLists] = {};
  bool joined_ = true;  // since a block was last freed
  std::size_t held_ = 0, live_ = 0;
  std::size_t peak_ = 0,
              last_peak_ = 0;  // peaks of live_ in this window of requests and in the previous one
  std::size_t replaced_ = 0;   // bytes requested to replace what the bound forced out
  int widened_ = 0;            // times the bound was widened
  uint64_t requests_ = 0, system_allocations_ = 0;
};

}  // namespace tandem::cpu
