// Addresses without memory, and places for what has died.
#include "tandem/core/capture/recorded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "tandem/core/error.h"
#include "tandem/core/memory/cpu_allocator.h"

namespace tandem::detail {
namespace {

// Addresses cost nothing; few ranges are easier to search.
constexpr std::size_t kRange = std::size_t{1} << 34, kHuge = std::size_t{2} << 20;
// As the CPU's allocator, and as wide as its kernels' vectors.
constexpr std::size_t kAlignment = 64;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
std::size_t in_pages(std::size_t bytes) { return rounded_up(std::max<std::size_t>(bytes, 1), page_bytes()); }

}  // namespace

constinit thread_local RecordedMemory* recorded_memory = nullptr;

RecordedMemory::~RecordedMemory() {
  for (const auto& [data, bytes] : ranges_) munmap(data, bytes);
}

Storage RecordedMemory::make(std::size_t nbytes, Device device) {
  // Large storages begin with a huge page, as those of the CPU's allocator; small ones have none, which a neighbour's
  // elements would touch.
  const bool large = nbytes >= kHuge;
  const std::size_t bytes = in_pages(nbytes);
  const auto place = [&] {
    const auto address = reinterpret_cast<uintptr_t>(next_);
    return next_ + (large ? rounded_up(address, kHuge) - address : 0);
  };
  if (next_ == nullptr || place() + bytes > end_) {
    const std::size_t range = std::max(bytes + kHuge, kRange);
    void* data = mmap(nullptr, range, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      full_ = true;
      return {};
    }
    next_ = static_cast<char*>(data);
    end_ = next_ + range;
    ranges_.emplace_back(next_, range);
  }
  Block block;
  block.data = place();
  block.bytes = nbytes;
  block.device = device;
  madvise(block.data, bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  next_ = block.data + bytes;
  numbers_.emplace(block.data, static_cast<int>(blocks_.size()));
  blocks_.push_back(block);
  auto owner = std::make_unique<Owner>(Owner{shared_from_this(), blocks_.size() - 1});
  Storage storage = borrow_storage(
      block.data, nbytes, device,
      [](void*, void* context) {
        const std::unique_ptr<Owner> owner(static_cast<Owner*>(context));
        owner->memory->release(owner->index);
      },
      owner.get());
  owner.release();
  return storage;
}

int RecordedMemory::find(const void* data) const {
  const auto found = numbers_.find(data);
  return found != numbers_.end() ? found->second : -1;
}

int RecordedMemory::use(const void* data, int call) {
  const int number = find(data);
  if (number < 0) return -1;
  Block& block = blocks_[static_cast<std::size_t>(number)];
  if (block.first < 0) block.first = call;
  block.last = call;
  return number;
}

void RecordedMemory::release(std::size_t index) noexcept {
  Block& block = blocks_[index];
  block.alive = false;
  if (!placed_) return;
  count_memory(block.device, -static_cast<int64_t>(block.bytes));
  madvise(block.data, in_pages(block.bytes), MADV_DONTNEED);
}

bool RecordedMemory::touched() const {
  if (full_) return true;
  std::vector<unsigned char> resident;
  for (const Block& block : blocks_) {
    const std::size_t bytes = in_pages(block.bytes);
    resident.assign(bytes / page_bytes(), 0);
    if (mincore(block.data, bytes, resident.data()) != 0) return true;
    if (std::ranges::any_of(resident, [](unsigned char flags) { return (flags & 1) != 0; })) return true;
  }
  return false;
}

// Each block in turn at the lowest place that is free while it is needed or, with `high`, at the highest one that makes
// the whole no larger. Returns the bytes of all.
std::size_t RecordedMemory::arrange(const std::vector<Block*>& blocks, bool high) {
  std::vector<const Block*> done;  // by place
  std::size_t total = 0;
  for (Block* block : blocks) {
    constexpr auto kNone = std::numeric_limits<std::size_t>::max();
    std::size_t end = 0, found = kNone;
    for (const Block* other : done) {
      if (other->first > block->last || other->last < block->first) continue;
      if (end + block->bytes <= other->at && (high || found == kNone)) found = end;
      end = std::max(end, rounded_up(other->at + other->bytes, kAlignment));
    }
    block->at = found == kNone || (high && end + block->bytes <= total) ? end : found;
    total = std::max(total, block->at + block->bytes);
    done.insert(std::ranges::upper_bound(done, block->at, {}, &Block::at), block);
  }
  return total;
}

void RecordedMemory::place(TensorList results) {
  std::vector<std::pair<TensorImpl*, int>> moved;
  for (const Tensor& t : results) {
    const int number = t.defined() && t.impl()->storage ? find(t.impl()->storage->data()) : -1;
    // Another tensor on the storage would stay where it is.
    if (number < 0 || t.impl()->storage.use_count() > 1 || blocks_[static_cast<std::size_t>(number)].first < 0)
      continue;
    blocks_[static_cast<std::size_t>(number)].last = std::numeric_limits<int>::max();
    moved.emplace_back(t.impl(), number);
    t.impl()->storage = Storage();
  }
  std::vector<Block*> dead;
  for (Block& block : blocks_) {
    if (block.alive)
      count_memory(block.device, static_cast<int64_t>(block.bytes));
    else if (block.first >= 0)
      dead.push_back(&block);
  }
  // No way is the best one for all networks.
  std::vector<Block*> best;
  bool best_high = false;
  std::size_t total = std::numeric_limits<std::size_t>::max();
  const auto attempt = [&](const auto& before) {
    std::ranges::stable_sort(dead, before);
    for (const bool high : {false, true}) {
      const std::size_t bytes = arrange(dead, high);
      if (bytes >= total) continue;
      total = bytes;
      best = dead;
      best_high = high;
    }
  };
  attempt([](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  attempt([](const Block* a, const Block* b) { return a->last - a->first > b->last - b->first; });
  attempt([](const Block* a, const Block* b) { return a->first < b->first; });
  arrange(best, best_high);
  together_ = make_storage(total, best.empty() ? Device(kCPU, 0) : best.front()->device);
  placed_ = true;
  for (const auto& [impl, number] : moved) {
    impl->storage = placed(number);
    impl->refresh();
  }
}

const Storage& RecordedMemory::placed(int storage) {
  Block& block = blocks_[static_cast<std::size_t>(storage)];
  if (!block.placed) {
    if (block.alive)
      block.placed = borrow_storage(block.data, block.bytes, block.device, nullptr, nullptr);
    else
      block.placed = borrow_storage(
          static_cast<char*>(together_->data()) + block.at, block.bytes, block.device,
          [](void*, void* together) { delete static_cast<Storage*>(together); }, new Storage(together_));
  }
  return block.placed;
}

}  // namespace tandem::detail
