// The CPU allocator's blocks up to 32 KiB: slabs of equal-sized blocks, 16 slabs per chunk; chunks come from
// LargeBlocks.
//
// A slab with no block in use can serve any size; a chunk with no slab in use returns to LargeBlocks. Not
// thread-safe.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tandem/core/memory/large_blocks.h"

namespace tandem::cpu {

/// A free block stores a pointer to the next one.
struct FreeBlock {
  FreeBlock* next;
};

class SmallBlocks {
 public:
  static constexpr std::size_t kLimit = std::size_t{32} << 10, kAlign = 64;
  static constexpr int kClasses = 33;

  /// Class c has 64 * (c + 1) bytes up to 256, then four sizes per power of two. `bytes` must be at most
  /// kLimit.
  static SizeClass size_class(std::size_t bytes) {
    if (bytes <= kAlign) return {0, kAlign};
    const std::size_t units = (bytes + kAlign - 1) / kAlign;
    const int log = static_cast<int>(std::bit_width(units - 1)) - 1;  // 2^log < units <= 2^(log+1), units >= 2
    const int shift = log >= 2 ? log - 2 : 0;
    const std::size_t steps = (units + (std::size_t{1} << shift) - 1) >> shift;  // 5..8 when log >= 2, else 2..4
    const int index = (log >= 2 ? 4 * (log - 1) - 4 : -1) + static_cast<int>(steps);
    return {index, (steps << shift) * kAlign};
  }

  explicit SmallBlocks(LargeBlocks& large) : large_(large) {}
  /// nullptr if the system has no memory left.
  FreeBlock* allocate(SizeClass sc);
  void deallocate(FreeBlock* block) noexcept;
  /// Returns the pages of free slabs to the system but keeps their addresses.
  void drop_free_pages() noexcept;

  /// Bytes of blocks handed out, and bytes of chunks.
  std::size_t live() const { return live_; }
  std::size_t held() const { return chunks_ * LargeBlocks::kHuge; }

 private:
  struct Slab;
  struct Chunk;

  Slab* new_slab(SizeClass sc);
  void free_slab(Slab* slab);

  LargeBlocks& large_;
  Slab* open_[kClasses] = {};     // slabs with free blocks, by size
  Chunk* open_chunks_ = nullptr;  // chunks with free slabs
  std::size_t live_ = 0, chunks_ = 0;
};

}  // namespace tandem::cpu
