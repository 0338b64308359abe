// How much free memory is kept depends only on counts: up to 64 MiB or a quarter of the peak use in the last
// 65,536 to 131,072 requests, whichever is more. Beyond that, the memory unused for longest goes back to the
// system before more is requested. If that keeps happening, as with steps that fragment memory, the quarter
// becomes a half and then the whole, so that a repeated step eventually needs nothing from the system.
#include "tandem/core/memory/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace tandem::cpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20, kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kHuge = LargeBlocks::kHuge, kGranule = 4096;
constexpr int kFirstLog = 15;                 // sizes start above 2^15 bytes
constexpr std::size_t kShared = 32 * kMiB;    // the most requested ahead from the system
constexpr std::size_t kMedium = kShared / 8;  // requests up to this size fetch more than they need
constexpr std::size_t kSlack = 64 * kMiB;
constexpr uint64_t kWindow = 65536;
constexpr std::size_t kReplacementsBeforeWidening = 32;  // the bound widens after this many times its size was replaced

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
std::size_t round_down(std::size_t bytes, std::size_t to) { return bytes / to * to; }
char* align_up(char* at, std::size_t to) { return at + (-reinterpret_cast<uintptr_t>(at) & (to - 1)); }

// Memory aligned to kHuge. Newer kernels align it by themselves.
char* map(std::size_t bytes) {
  const auto request = [](std::size_t n) {
    void* at = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
  };
  char* data = request(bytes);
  if (data == nullptr) return nullptr;
  if (align_up(data, kHuge) != data) {
    munmap(data, bytes);
    char* wide = request(bytes + kHuge);
    if (wide == nullptr) return nullptr;
    data = align_up(wide, kHuge);
    const std::size_t before = static_cast<std::size_t>(data - wide);
    if (before != 0) munmap(wide, before);
    if (before != kHuge) munmap(data + bytes, kHuge - before);
  }
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

struct LargeBlocks::Block {
  Block* next;
  std::size_t bytes;
  uint64_t freed;  // the number of requests before the block was freed

  char* begin() { return reinterpret_cast<char*>(this); }
  char* end() { return begin() + bytes; }
};

// 2^log < bytes <= 2^(log + 1), in steps of an eighth of 2^log.
SizeClass LargeBlocks::size_class(std::size_t bytes) {
  const int log = static_cast<int>(std::bit_width(bytes - 1)) - 1, shift = log - 3;
  const std::size_t steps = (bytes + (std::size_t{1} << shift) - 1) >> shift;  // 9..16
  return {(log - kFirstLog) * 8 + static_cast<int>(steps) - 8, steps << shift};
}

// The last list whose requests a block of `bytes` bytes can serve.
int LargeBlocks::list_of(std::size_t bytes) {
  const int log = static_cast<int>(std::bit_width(bytes)) - 1;
  if (log < kFirstLog) return 0;
  const std::size_t steps = bytes >> (log - 3);  // 8..15
  return std::min(kLists - 1, (log - kFirstLog) * 8 + static_cast<int>(steps) - 8);
}

void* LargeBlocks::allocate(std::size_t bytes) {
  const SizeClass sc = size_class(bytes);
  Block* block = lists_[sc.index];
  if (block == nullptr || block->bytes != sc.bytes) return hand_out(find(sc.bytes, kGranule), sc.bytes);
  lists_[sc.index] = block->next;
  return hand_out(block, sc.bytes);
}

void* LargeBlocks::allocate_chunk() { return hand_out(find(kHuge, kHuge), kHuge); }

void* LargeBlocks::hand_out(Block* block, std::size_t bytes) {
  if (block == nullptr) return nullptr;
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  if (++requests_ % kWindow == 0) next_window();
  return block;
}

void LargeBlocks::deallocate(void* memory, std::size_t bytes) noexcept {
  const SizeClass sc = size_class(bytes);
  auto* block = static_cast<Block*>(memory);
  *block = {lists_[sc.index], sc.bytes, requests_};
  lists_[sc.index] = block;
  live_ -= sc.bytes;
  joined_ = false;
}

void LargeBlocks::insert(char* at, std::size_t bytes, uint64_t freed) {
  if (bytes == 0) return;
  Block*& list = lists_[list_of(bytes)];
  auto* block = reinterpret_cast<Block*>(at);
  *block = {list, bytes, freed};
  list = block;
}

// Splits a block of `bytes` bytes off one of the smallest free blocks that can hold it and that is not larger
// than `largest`.
LargeBlocks::Block* LargeBlocks::take(std::size_t bytes, std::size_t align, std::size_t largest) {
  for (int i = list_of(bytes); i < kLists; ++i)
    for (Block** at = &lists_[i]; *at != nullptr; at = &(*at)->next) {
      Block* block = *at;
      if (block->bytes > largest) break;
      char *begin = align_up(block->begin(), align), *end = block->end();
      if (begin + bytes > end) continue;
      *at = block->next;
      const uint64_t freed = block->freed;
      insert(block->begin(), static_cast<std::size_t>(begin - block->begin()), freed);
      insert(begin + bytes, static_cast<std::size_t>(end - begin) - bytes, freed);
      return reinterpret_cast<Block*>(begin);
    }
  return nullptr;
}

// `bytes` is the size of a size class. Well below the bound, blocks keep their sizes, so a step's requests
// soon find matching blocks without merging. Near the bound, neighbours are merged before a much larger block
// is split, which fragments memory less.
LargeBlocks::Block* LargeBlocks::find(std::size_t bytes, std::size_t align) {
  const bool room = held_ + round_up(bytes, kHuge) <= limit(live_ + bytes);
  Block* block = take(bytes, align, room ? kNoLimit : bytes + bytes / 4);
  if (block != nullptr) return block;
  if (!joined_) join();
  block = take(bytes, align, kNoLimit);
  return block != nullptr ? block : grow(bytes);
}

// Gets a block from the system, with spare space for further ones if the bound allows.
LargeBlocks::Block* LargeBlocks::grow(std::size_t bytes) {
  const std::size_t exact = round_up(bytes, kHuge), most = limit(live_ + bytes);
  std::size_t size = exact;
  if (bytes <= kMedium) size = std::clamp(round_down(held_ / 8, kHuge), exact, kShared);
  if (held_ + size > most) size = exact;
  if (held_ + size > most) {
    release(most - size);
    replaced_ += size;
    if (replaced_ / kReplacementsBeforeWidening > most && widened_ < 2) {
      ++widened_;
      replaced_ = 0;
    }
  }
  char* data = map(size);
  if (data == nullptr && size != exact) data = map(size = exact);
  if (data == nullptr) return nullptr;
  held_ += size;
  ++system_allocations_;
  insert(data + bytes, size - bytes, requests_);
  joined_ = false;
  return reinterpret_cast<Block*>(data);
}

// The result is never below `live`.
std::size_t LargeBlocks::limit(std::size_t live) const {
  const std::size_t peak = std::max({peak_, last_peak_, live});
  return peak + std::max(kSlack, peak >> (2 - widened_));
}

void LargeBlocks::next_window() {
  last_peak_ = std::exchange(peak_, live_);
  release(limit(live_));
}

LargeBlocks::Block* LargeBlocks::take_all() {
  Block* all = nullptr;
  for (Block*& list : lists_)
    while (Block* block = list) {
      list = block->next;
      block->next = all;
      all = block;
    }
  return all;
}

// Merges lists of 1, 2, 4 ... blocks, which needs no memory.
LargeBlocks::Block* LargeBlocks::sorted(Block* list, bool (*before)(const Block*, const Block*)) {
  const auto merged = [before](Block* a, Block* b) {
    Block* head = nullptr;
    for (Block** end = &head;; end = &(*end)->next) {
      if (a == nullptr || b == nullptr) {
        *end = a != nullptr ? a : b;
        return head;
      }
      Block*& first = before(b, a) ? b : a;
      *end = first;
      first = first->next;
    }
  };
  Block* runs[64] = {};
  while (list != nullptr) {
    Block* run = list;
    list = list->next;
    run->next = nullptr;
    int i = 0;
    for (; runs[i] != nullptr; ++i) run = merged(std::exchange(runs[i], nullptr), run);
    runs[i] = run;
  }
  Block* all = nullptr;
  for (Block* run : runs) all = merged(run, all);
  return all;
}

void LargeBlocks::join() {
  Block* block = sorted(take_all(), [](const Block* a, const Block* b) { return a < b; });
  while (block != nullptr) {
    Block* next = block->next;
    for (; next != nullptr && block->end() == next->begin(); next = next->next) {
      block->bytes += next->bytes;
      block->freed = std::max(block->freed, next->freed);
    }
    insert(block->begin(), block->bytes, block->freed);
    block = next;
  }
  joined_ = true;
}

void LargeBlocks::release(std::size_t limit) noexcept {
  if (limit == 0) {
    replaced_ = 0;
    widened_ = 0;
  }
  if (held_ <= limit || held_ == live_) return;
  join();
  Block* block = sorted(take_all(), [](const Block* a, const Block* b) { return a->freed < b->freed; });
  while (block != nullptr) {
    Block* next = block->next;
    if (held_ > limit)
      give_back(block, round_up(held_ - limit, kHuge));
    else
      insert(block->begin(), block->bytes, block->freed);
    block = next;
  }
}

// Returns up to `bytes` bytes of the block's whole huge pages to the system, the last ones first; keeps the
// rest.
void LargeBlocks::give_back(Block* block, std::size_t bytes) {
  char *begin = block->begin(), *end = block->end();
  const uint64_t freed = block->freed;
  char *from = align_up(begin, kHuge), *to = end - reinterpret_cast<uintptr_t>(end) % kHuge;
  if (from < to) from = std::max(from, to - std::min(bytes, static_cast<std::size_t>(to - from)));
  if (from >= to || munmap(from, static_cast<std::size_t>(to - from)) != 0)
    return insert(begin, static_cast<std::size_t>(end - begin), freed);
  held_ -= static_cast<std::size_t>(to - from);
  insert(begin, static_cast<std::size_t>(from - begin), freed);
  insert(to, static_cast<std::size_t>(end - to), freed);
}

}  // namespace tandem::cpu
