#include "tandem/parallel/distributed/gloo/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "tandem/core/base/clock.h"
#include "tandem/core/threads/spin.h"

namespace tandem::distributed {

namespace {

constexpr std::size_t kSlotBytes = 1 << 20, kBlockBytes = 4096;
constexpr int kMostRanks = 1024;  // each has a part of a slot in all_to_all
// About 10 and 100 us. Ranks that share cores sleep earlier, to let the others run.
constexpr int kSpins = 200, kSpinsAlone = 2000;
constexpr int64_t kTick = 100'000'000;  // nanoseconds between two looks at the other processes

// The words are shared among processes, so these are not FUTEX_PRIVATE.
void sleep_on(uint32_t& word, uint32_t value, int64_t nanoseconds) {
  const timespec time{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}
void wake_all(uint32_t& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

std::size_t round_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Gloo's ring gives every rank a chunk of so many bytes (gloo/allreduce.cc).
std::size_t ring_chunk(std::size_t total, std::size_t item, std::size_t segment_bytes, std::size_t ranks) {
  const std::size_t most = item * std::max<std::size_t>(1, segment_bytes / item);
  const std::size_t segments = round_up(std::max((total + most - 1) / most, 2 * ranks), ranks);
  return segments / ranks * round_up((total + segments - 1) / segments, item);
}

}  // namespace

// In shared memory, which begins as zeros.
struct SharedMemory::Member {
  alignas(64) uint32_t round;  // the last one published; others sleep on it
  uint32_t left;               // no more rounds will come
  uint32_t tags[2], more[2];   // of the last two rounds
};

SharedMemory::SharedMemory(int rank, int size)
    : rank_(rank),
      size_(size),
      spins_(size <= static_cast<int>(std::thread::hardware_concurrency()) ? kSpinsAlone : kSpins) {
  const auto ranks = static_cast<std::size_t>(size);
  bytes_ = round_up(ranks * sizeof(Member), kBlockBytes) + ranks * 2 * kSlotBytes;
  char boot[64] = "";
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(boot, sizeof boot, file) == nullptr) boot[0] = '\0';
    std::fclose(file);
  }
  struct stat processes = {}, network = {};
  if (boot[0] == '\0' || stat("/proc/self/ns/pid", &processes) != 0 || stat("/proc/self/ns/net", &network) != 0) return;
  if (rank == 0) {
    memory_ = tandem::detail::Descriptor(memfd_create("tandem-group", MFD_CLOEXEC));
    if (!memory_ || ftruncate(memory_.get(), static_cast<off_t>(bytes_)) != 0) return;
  }
  std::snprintf(place_.machine, sizeof place_.machine, "%.40s %llu %llu %zu", boot,
                static_cast<unsigned long long>(processes.st_ino), static_cast<unsigned long long>(network.st_ino),
                kSlotBytes);
  place_.process = getpid();
  place_.descriptor = memory_.get();
}

SharedMemory::~SharedMemory() {
  if (begin_ == nullptr) return;
  abort();
  munmap(begin_, bytes_);
}

bool SharedMemory::open(const std::vector<Place>& places) {
  if (size_ > kMostRanks) return false;
  for (const Place& place : places) {
    if (place.machine[0] == '\0' || std::memcmp(place.machine, place_.machine, sizeof place.machine) != 0) return false;
    processes_.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, place.process, 0)));
    if (!processes_.back()) return false;
  }
  if (rank_ != 0) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", places[0].process, places[0].descriptor);
    memory_ = tandem::detail::Descriptor(::open(path, O_RDWR | O_CLOEXEC));
  }
  if (!memory_) return false;
  void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (at == MAP_FAILED) return false;
  begin_ = static_cast<char*>(at);
  return true;
}

SharedMemory::Member& SharedMemory::member(int rank) const { return reinterpret_cast<Member*>(begin_)[rank]; }

char* SharedMemory::slot(int rank, uint32_t round) const {
  const std::size_t slots = round_up(static_cast<std::size_t>(size_) * sizeof(Member), kBlockBytes);
  return begin_ + slots + (static_cast<std::size_t>(rank) * 2 + round % 2) * kSlotBytes;
}

bool SharedMemory::publish(const CallOptions& options, bool more) {
  if (aborted_) fail("the call was given up");
  Member& own = member(rank_);
  ++round_;
  own.tags[round_ % 2] = options.tag;
  own.more[round_ % 2] = more;
  std::atomic_ref(own.round).store(round_, std::memory_order_release);
  wake_all(own.round);
  const int64_t end = nanoseconds_now() + std::chrono::nanoseconds(options.timeout).count();
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    await(r, options, end);
    more = more || member(r).more[round_ % 2] != 0;
  }
  return more;
}

// A rank that does something else has another tag; so it is waited for until the time is over, as Gloo does.
void SharedMemory::await(int rank, const CallOptions& options, int64_t end) {
  Member& other = member(rank);
  uint32_t seen = 0;
  const auto here = [&] {
    seen = std::atomic_ref(other.round).load(std::memory_order_acquire);
    return static_cast<int32_t>(seen - round_) >= 0 && other.tags[round_ % 2] == options.tag;
  };
  if (spin_until(here, spins_)) return;
  while (!here()) {
    if (aborted_) fail("the call was given up");
    check_alive();
    const int64_t left = end - nanoseconds_now();
    if (left <= 0) fail("no answer in time from rank " + std::to_string(rank));
    sleep_on(other.round, seen, std::min(left, kTick));
  }
}

void SharedMemory::check_alive() {
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    pollfd ended{processes_[static_cast<std::size_t>(r)].get(), POLLIN, 0};
    if (std::atomic_ref(member(r).left).load(std::memory_order_acquire) == 0 && poll(&ended, 1, 0) <= 0) continue;
    // It may have published this round before it left.
    if (static_cast<int32_t>(std::atomic_ref(member(r).round).load(std::memory_order_acquire) - round_) >= 0) continue;
    fail("rank " + std::to_string(r) + " has left the group");
  }
}

void SharedMemory::fail(const std::string& why) {
  abort();
  throw std::runtime_error("shared memory: " + why);
}

void SharedMemory::abort() noexcept {
  aborted_ = true;
  std::atomic_ref(member(rank_).left).store(1, std::memory_order_release);
  for (int r = 0; r < size_; ++r) wake_all(member(r).round);
}

// Reduces bytes [at, at + bytes) of the round, which are bytes from `whole` on of the call's data.
void SharedMemory::combine(char* to, std::size_t at, std::size_t bytes, std::size_t whole, const Reduction& r) const {
  if (r.chunk == 0) {
    for (std::size_t done = 0; done < bytes; done += kBlockBytes)
      combine_pairs(to + done, 0, size_, at + done, std::min(kBlockBytes, bytes - done), r);
    return;
  }
  // A chunk comes from the rank before its owner and goes down the ring to it.
  while (bytes > 0) {
    const std::size_t owner = whole / r.chunk, n = std::min(bytes, (owner + 1) * r.chunk - whole);
    const auto source = [&](int steps) {
      return published((static_cast<int>(owner) - steps % size_ + size_) % size_) + at;
    };
    r.function(to, source(2), source(1), n / r.item);
    for (int steps = 3; steps <= size_; ++steps) r.function(to, source(steps), to, n / r.item);
    to += n, at += n, whole += n, bytes -= n;
  }
}

// At most kBlockBytes of ranks [first, first + ranks), in pairs of neighbours.
void SharedMemory::combine_pairs(char* to, int first, int ranks, std::size_t at, std::size_t bytes,
                                 const Reduction& r) const {
  if (ranks == 2) return r.function(to, published(first) + at, published(first + 1) + at, bytes / r.item);
  alignas(64) char right[kBlockBytes];
  combine_pairs(to, first, ranks / 2, at, bytes, r);
  combine_pairs(right, first + ranks / 2, ranks / 2, at, bytes, r);
  r.function(to, to, right, bytes / r.item);
}

// Two ranks both add everything. More of them add a part each, and read those of the others in a second round.
void SharedMemory::all_reduce(void* data, std::size_t count, std::size_t item, ReduceFunction function, bool ring,
                              std::size_t segment_bytes, const CallOptions& options) {
  char* const own = static_cast<char*>(data);
  const auto ranks = static_cast<std::size_t>(size_);
  const std::size_t bytes = count * item;
  const Reduction reduction{function, item, ring ? ring_chunk(bytes, item, segment_bytes, ranks) : 0};
  for (std::size_t at = 0; at < bytes; at += kSlotBytes) {
    const std::size_t n = std::min(kSlotBytes, bytes - at);
    std::memcpy(own_slot(), own + at, n);
    publish(options, false);
    if (size_ == 2) {
      combine(own + at, 0, n, at, reduction);
      continue;
    }
    const std::size_t part = (n / item + ranks - 1) / ranks * item;
    const auto begin = [&](int r) { return std::min(n, static_cast<std::size_t>(r) * part); };
    combine(own_slot(), begin(rank_), begin(rank_ + 1) - begin(rank_), at + begin(rank_), reduction);
    publish(options, false);
    for (int r = 0; r < size_; ++r) std::memcpy(own + at + begin(r), published(r), begin(r + 1) - begin(r));
  }
}

void SharedMemory::broadcast(void* data, std::size_t bytes, int root, const CallOptions& options) {
  char* const own = static_cast<char*>(data);
  for (std::size_t at = 0; at < bytes; at += kSlotBytes) {
    const std::size_t n = std::min(kSlotBytes, bytes - at);
    if (rank_ == root) std::memcpy(own_slot(), own + at, n);
    publish(options, false);
    if (rank_ != root) std::memcpy(own + at, published(root), n);
  }
}

// The pointer of no bytes may be null.
void SharedMemory::all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions& options) {
  const std::size_t most = *std::max_element(bytes, bytes + size_);
  for (std::size_t at = 0; at < most; at += kSlotBytes) {
    const auto here = [&](int r) { return std::min(kSlotBytes, bytes[r] - at); };
    if (bytes[rank_] > at) std::memcpy(own_slot(), static_cast<const char*>(in) + at, here(rank_));
    publish(options, false);
    char* to = static_cast<char*>(out);
    for (int r = 0; r < size_; to += bytes[r++])
      if (bytes[r] > at) std::memcpy(to + at, published(r), here(r));
  }
}

// A slot has as many bytes for every rank. Only the sender and the receiver know how many there are.
void SharedMemory::all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                              const CallOptions& options) {
  const std::size_t stride = kSlotBytes / static_cast<std::size_t>(size_) / 64 * 64;
  bool more = true;
  for (std::size_t at = 0; more; at += stride) {
    more = false;
    const char* from = static_cast<const char*>(in);
    for (int r = 0; r < size_; from += in_bytes[r++]) {
      if (in_bytes[r] > at) std::memcpy(own_slot() + r * stride, from + at, std::min(stride, in_bytes[r] - at));
      more = more || in_bytes[r] > at + stride;
    }
    more = publish(options, more);
    char* to = static_cast<char*>(out);
    for (int r = 0; r < size_; to += out_bytes[r++])
      if (out_bytes[r] > at) std::memcpy(to + at, published(r) + rank_ * stride, std::min(stride, out_bytes[r] - at));
  }
}

}  // namespace tandem::distributed
