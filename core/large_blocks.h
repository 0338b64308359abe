// The CPU allocator's blocks above 32 KiB: address ranges that are cut, joined and given back by need.
//
// A free block holds its size and the next one inside itself; lists are by size, and a freed block is the
// first that the next request of its size finds. When the list is empty a larger block is cut, or free
// neighbours are joined, whichever request they came from. Not safe from several threads by itself.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::cpu {

/// Where blocks of a size are listed, and the size that a request is rounded to.
struct SizeClass {
  int index;
  std::size_t bytes;
};

class LargeBlocks {
 public:
  /// The alignment of what comes from the system, and the size of `allocate_chunk`: a huge page.
  static constexpr std::size_t kHuge = std::size_t{2} << 20;

  /// At least `bytes` bytes, aligned to 4 KiB; nullptr when the system has none. `bytes`: above 32 KiB.
  void* allocate(std::size_t bytes);
  /// `bytes` as given to allocate.
  void deallocate(void* block, std::size_t bytes) noexcept;
  /// kHuge bytes, aligned to kHuge; nullptr when the system has none. Goes back by deallocate.
  void* allocate_chunk();

  /// Gives free memory back to the system, the longest unused first, until at most `limit` bytes are held.
  /// Only whole huge pages can go back.
  void release(std::size_t limit) noexcept;

  /// Bytes that the system gave and has not got back, those handed out of them, and times that it gave some.
  std::size_t held() const { return held_; }
  std::size_t live() const { return live_; }
  uint64_t system_allocations() const { return system_allocations_; }

 private:
  struct Block;
  // Eight sizes for every power of two from 32 KiB to 2^46; list 0 has the pieces too small for any request.
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
  bool joined_ = true;  // since the last block was freed
  std::size_t held_ = 0, live_ = 0;
  std::size_t peak_ = 0,
              last_peak_ = 0;  // the most that was live in this window of requests, in the last one
  std::size_t replaced_ = 0;   // bytes taken in place of what the bound made go back
  int widened_ = 0;            // times that the bound was widened
  uint64_t requests_ = 0, system_allocations_ = 0;
};

}  // namespace tandem::cpu
