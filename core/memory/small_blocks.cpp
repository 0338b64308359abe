// A chunk starts with the headers of its slabs. They are found from any address in it, because chunks are
// aligned to their size.
#include "tandem/core/memory/small_blocks.h"

#include <sys/mman.h>

#include <bit>

namespace tandem::cpu {
namespace {

constexpr std::size_t kChunk = LargeBlocks::kHuge;
constexpr int kSlabs = 16;
constexpr std::size_t kSlab = kChunk / kSlabs;
constexpr uint32_t kAllFree = (1u << kSlabs) - 1;

template <class T>
void link(T*& list, T* item) {
  item->before = nullptr;
  item->after = list;
  if (list != nullptr) list->before = item;
  list = item;
}
template <class T>
void unlink(T*& list, T* item) {
  (item->before != nullptr ? item->before->after : list) = item->after;
  if (item->after != nullptr) item->after->before = item->before;
}

}  // namespace

struct SmallBlocks::Slab {
  Slab *before, *after;  // in the list of slabs of its size with free blocks
  FreeBlock* free;
  char *fresh, *end;  // the part not handed out yet
  uint32_t bytes, live;
  int index;

  bool full() const { return free == nullptr && end - fresh < static_cast<std::ptrdiff_t>(bytes); }
};

struct SmallBlocks::Chunk {
  Chunk *before, *after;  // in the list of chunks with free slabs
  uint32_t free_slabs;    // one bit per slab
  Slab slabs[kSlabs];

  static Chunk* of(void* place) {
    auto* at = static_cast<char*>(place);
    return reinterpret_cast<Chunk*>(at - reinterpret_cast<uintptr_t>(at) % kChunk);
  }
  char* begin(int slab) {
    constexpr std::size_t kHeader = (sizeof(Chunk) + kAlign - 1) / kAlign * kAlign;
    return reinterpret_cast<char*>(this) + (slab == 0 ? kHeader : static_cast<std::size_t>(slab) * kSlab);
  }
  char* end(int slab) { return reinterpret_cast<char*>(this) + static_cast<std::size_t>(slab + 1) * kSlab; }
};

FreeBlock* SmallBlocks::allocate(SizeClass sc) {
  Slab* slab = open_[sc.index];
  if (slab == nullptr && (slab = new_slab(sc)) == nullptr) return nullptr;
  FreeBlock* block = slab->free;
  if (block != nullptr) {
    slab->free = block->next;
  } else {
    block = reinterpret_cast<FreeBlock*>(slab->fresh);
    slab->fresh += sc.bytes;
  }
  ++slab->live;
  live_ += sc.bytes;
  if (slab->full()) unlink(open_[sc.index], slab);
  return block;
}

void SmallBlocks::deallocate(FreeBlock* block) noexcept {
  Chunk* chunk = Chunk::of(block);
  Slab* slab = &chunk->slabs[reinterpret_cast<uintptr_t>(block) % kChunk / kSlab];
  if (slab->full()) link(open_[slab->index], slab);
  block->next = slab->free;
  slab->free = block;
  live_ -= slab->bytes;
  if (--slab->live == 0) free_slab(slab);
}

SmallBlocks::Slab* SmallBlocks::new_slab(SizeClass sc) {
  if (open_chunks_ == nullptr) {
    void* memory = large_.allocate_chunk();
    if (memory == nullptr) return nullptr;
    auto* chunk = static_cast<Chunk*>(memory);
    chunk->free_slabs = kAllFree;
    link(open_chunks_, chunk);
    ++chunks_;
  }
  Chunk* chunk = open_chunks_;
  const int i = std::countr_zero(chunk->free_slabs);
  chunk->free_slabs &= chunk->free_slabs - 1;
  if (chunk->free_slabs == 0) unlink(open_chunks_, chunk);
  Slab* slab = &chunk->slabs[i];
  *slab = {nullptr, nullptr, nullptr, chunk->begin(i), chunk->end(i), static_cast<uint32_t>(sc.bytes), 0, sc.index};
  link(open_[sc.index], slab);
  return slab;
}

void SmallBlocks::free_slab(Slab* slab) {
  unlink(open_[slab->index], slab);
  Chunk* chunk = Chunk::of(slab);
  if (chunk->free_slabs == 0) link(open_chunks_, chunk);
  chunk->free_slabs |= 1u << (slab - chunk->slabs);
  if (chunk->free_slabs != kAllFree) return;
  unlink(open_chunks_, chunk);
  --chunks_;
  large_.deallocate(chunk, kChunk);
}

void SmallBlocks::drop_free_pages() noexcept {
  for (Chunk* chunk = open_chunks_; chunk != nullptr; chunk = chunk->after)
    for (int i = 1; i < kSlabs; ++i)  // the first slab shares its pages with the chunk's header
      if ((chunk->free_slabs >> i & 1) != 0) madvise(chunk->begin(i), kSlab, MADV_DONTNEED);
}

}  // namespace tandem::cpu
