// The caching allocator's bookkeeping, with numbers in place of memory and streams.
#include "tandem/cuda/allocator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tandem/core/error.h"

using namespace tandem;
using namespace tandem::cuda_impl;

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

StreamId stream(uintptr_t number) { return reinterpret_cast<StreamId>(number); }

// A GPU with `total` bytes. Events are numbers; an event is reached once its stream has run.
class FakeSource final : public MemorySource {
 public:
  explicit FakeSource(std::size_t total) : total_(total) {}
  void* allocate(std::size_t bytes) override {
    ++allocations;
    if (used() + bytes > total_) return nullptr;
    void* at = reinterpret_cast<void*>(next_);
    next_ += bytes + kMiB;
    blocks_[at] = bytes;
    return at;
  }
  void free(void* memory) noexcept override { bad_frees += static_cast<int>(blocks_.erase(memory)) ^ 1; }
  Room room() override { return {total_ - used(), total_}; }
  void synchronize() override {
    ++synchronizations;
    pending_.clear();
  }
  bool may_wait() override { return captured.empty(); }
  bool records(StreamId of) override { return captured.contains(of); }
  EventId mark(StreamId of) override {
    CHECK(!captured.contains(of));
    ++events;
    pending_.emplace(++event_, of);
    return reinterpret_cast<EventId>(event_);
  }
  bool reached(EventId event) override { return !pending_.contains(reinterpret_cast<uintptr_t>(event)); }
  void drop(EventId) noexcept override { --events; }
  void run(StreamId of) {
    std::erase_if(pending_, [&](const auto& entry) { return entry.second == of; });
  }
  std::size_t used() const {
    std::size_t sum = 0;
    for (const auto& [at, bytes] : blocks_) sum += bytes;
    return sum;
  }

  int allocations = 0, bad_frees = 0, synchronizations = 0, events = 0;
  std::set<StreamId> captured;

 private:
  std::size_t total_;
  uintptr_t next_ = kMiB, event_ = 0;
  std::map<void*, std::size_t> blocks_;
  std::map<uintptr_t, StreamId> pending_;
};

char* bytes_of(void* memory) { return static_cast<char*>(memory); }

}  // namespace

TEST_CASE("sizes are rounded, and segments have size classes") {
  CHECK(CachingAllocator::rounded(1) == 512);
  CHECK(CachingAllocator::rounded(512) == 512);
  CHECK(CachingAllocator::rounded(513) == 1024);
  CHECK(CachingAllocator::segment_size(512) == 2 * kMiB);
  CHECK(CachingAllocator::segment_size(kMiB) == 2 * kMiB);
  CHECK(CachingAllocator::segment_size(kMiB + 512) == 20 * kMiB);
  CHECK(CachingAllocator::segment_size(10 * kMiB) == 10 * kMiB);
  CHECK(CachingAllocator::segment_size(11 * kMiB) == 12 * kMiB);
}

TEST_CASE("zero bytes request nothing") {
  FakeSource source(kMiB);
  CachingAllocator a(source, "cuda:0");
  CHECK(a.allocate(0, nullptr) == nullptr);
  a.free(nullptr);
  CHECK(source.allocations == 0);
}

TEST_CASE("small blocks are cut from one segment and merged again") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(100, nullptr);
  void* y = a.allocate(1000, nullptr);
  void* z = a.allocate(kKiB, nullptr);
  CHECK(source.allocations == 1);
  CHECK(bytes_of(y) == bytes_of(x) + 512);
  CHECK(bytes_of(z) == bytes_of(y) + 1024);
  CHECK(a.use().allocated == 512 + 1024 + 1024);
  CHECK(a.use().reserved == 2 * kMiB);
  a.free(y);
  CHECK(a.allocate(700, nullptr) == y);  // the smallest that fits
  a.free(x);
  a.free(z);
  a.free(y);  // between free neighbours
  CHECK(a.use().allocated == 0);
  CHECK(a.allocate(kMiB, nullptr) == x);  // one block again
  CHECK(source.allocations == 1);
}

TEST_CASE("a freed block immediately serves its own stream and no other") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(kMiB, stream(1));
  a.free(x);
  void* y = a.allocate(kMiB, stream(2));
  CHECK(y != x);
  CHECK(a.allocate(kMiB, stream(1)) == x);
  CHECK(source.events == 0);
}

TEST_CASE("a block used by another stream waits for it") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(5 * kMiB, stream(1));
  void* rest = a.allocate(14 * kMiB, stream(1));
  a.used_by(x, stream(1));  // its own stream: nothing to wait for
  a.used_by(x, stream(2));
  a.used_by(x, stream(2));
  a.used_by(x, stream(3));
  a.free(x);
  CHECK(source.events == 2);
  CHECK(a.use().allocated == a.use().reserved - (a.use().reserved - 14 * kMiB));
  CHECK(a.allocate(5 * kMiB, stream(1)) != x);
  source.run(stream(2));
  CHECK(a.allocate(5 * kMiB, stream(1)) != x);
  source.run(stream(3));
  CHECK(a.allocate(5 * kMiB, stream(1)) == x);
  CHECK(source.events == 0);
  CHECK(source.synchronizations == 0);
  a.free(rest);
}

TEST_CASE("a block used by a stream under capture gets its event after the capture") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(20 * kMiB, stream(1));
  a.used_by(x, stream(2));
  a.used_by(x, stream(3));
  source.captured = {stream(2)};
  a.free(x);
  CHECK(source.events == 1);
  source.run(stream(3));
  CHECK(a.allocate(20 * kMiB, stream(1)) != x);
  source.captured.clear();
  CHECK(a.allocate(20 * kMiB, stream(1)) != x);  // gets its event now
  CHECK(source.events == 1);
  source.run(stream(2));
  CHECK(a.allocate(20 * kMiB, stream(1)) == x);
  CHECK(source.events == 0);
}

TEST_CASE("during a capture nothing waits for the GPU or returns memory to it") {
  FakeSource source(40 * kMiB);
  CachingAllocator a(source, "cuda:0");
  a.free(a.allocate(20 * kMiB, stream(1)));
  source.captured = {stream(9)};
  a.empty_cache();
  CHECK(a.use().reserved == 20 * kMiB);
  CHECK_THROWS_WITH_AS(a.allocate(30 * kMiB, stream(1)), doctest::Contains("out of memory"), OutOfMemoryError);
  CHECK(source.synchronizations == 0);
  CHECK(a.use().reserved == 20 * kMiB);
  source.captured.clear();
  CHECK(a.allocate(30 * kMiB, stream(1)) != nullptr);
}

TEST_CASE("freeing a block forgets its users") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(kKiB, stream(1));
  a.used_by(x, stream(2));
  a.free(x);
  source.run(stream(2));
  void* again = a.allocate(kKiB, stream(1));
  CHECK(again == x);
  a.free(again);
  CHECK(source.events == 0);
}

TEST_CASE("out of GPU memory: the cache is freed and the request retried") {
  FakeSource source(64 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(30 * kMiB, nullptr);
  void* y = a.allocate(20 * kMiB, nullptr);
  a.free(x);
  CHECK(a.use().reserved == 50 * kMiB);
  void* z = a.allocate(40 * kMiB, nullptr);
  CHECK(z != nullptr);
  CHECK(a.use().reserved == 60 * kMiB);
  CHECK(a.use().reserved_peak == 60 * kMiB);
  a.used_by(y, stream(2));
  a.free(y);
  a.free(z);
  CHECK(a.allocate(60 * kMiB, nullptr) != nullptr);  // waits for stream 2
  CHECK(source.synchronizations == 1);
}

TEST_CASE("out of memory: the error reports the figures, and nothing is lost") {
  FakeSource source(64 * kMiB);
  CachingAllocator a(source, "cuda:1");
  void* x = a.allocate(50 * kMiB, nullptr);
  std::string text;
  try {
    a.allocate(20 * kMiB, nullptr);
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text.find("out of memory on cuda:1: requested 20.0 MiB") != std::string::npos);
  CHECK(text.find("the GPU has 64.0 MiB, 14.0 MiB free; this process holds 50.0 MiB, 50.0 MiB of it in tensors "
                  "(peak 50.0 MiB)") != std::string::npos);
  CHECK_THROWS_AS(a.allocate(std::size_t{1} << 60, nullptr), Error);
  CHECK(a.use().allocated == 50 * kMiB);
  a.free(x);
  CHECK(a.allocate(60 * kMiB, nullptr) != nullptr);
}

TEST_CASE("peaks and empty_cache") {
  FakeSource source(200 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* x = a.allocate(30 * kMiB, nullptr);
  void* small = a.allocate(kKiB, nullptr);
  a.free(x);
  CHECK(a.use().allocated_peak == 30 * kMiB + kKiB);
  a.reset_peaks();
  CHECK(a.use().allocated_peak == kKiB);
  CHECK(a.use().reserved_peak == 32 * kMiB);
  a.empty_cache();
  CHECK(a.use().reserved == 2 * kMiB);  // part of that segment is in use
  CHECK(source.used() == 2 * kMiB);
  a.reset_peaks();
  CHECK(a.use().reserved_peak == 2 * kMiB);
  CHECK(a.use().system_allocations == 2);
  CHECK(a.use().allocations == 2);
  a.free(small);
  a.empty_cache();
  CHECK(source.used() == 0);
  CHECK(source.bad_frees == 0);
}

TEST_CASE("pools are separate, and freed once they are retired and empty") {
  FakeSource source(200 * kMiB);
  CachingAllocator a(source, "cuda:0");
  const PoolId pool = a.new_pool();
  void* x = a.allocate(5 * kMiB, nullptr, pool);
  a.free(x);
  void* y = a.allocate(5 * kMiB, nullptr);
  CHECK(y != x);
  CHECK(a.allocate(5 * kMiB, nullptr, pool) == x);
  a.empty_cache();
  CHECK(source.used() == 40 * kMiB);
  a.free(x);
  a.empty_cache();  // the memory of captured steps is in use even when its blocks are free
  CHECK(source.used() == 40 * kMiB);
  void* last = a.allocate(kMiB, nullptr, pool);
  a.retire_pool(pool);
  CHECK_THROWS_AS(a.allocate(kMiB, nullptr, pool), Error);
  CHECK(source.used() == 42 * kMiB);
  a.free(last);
  CHECK(source.used() == 20 * kMiB);
  CHECK(a.use().reserved == 20 * kMiB);
  CHECK_THROWS_AS(a.allocate(kMiB, nullptr, PoolId{77}), Error);
  a.retire_pool(0);  // the shared pool stays
  CHECK(a.allocate(5 * kMiB, nullptr) != nullptr);
}

TEST_CASE("a held block is not reused before it is released, and is freed once") {
  FakeSource source(200 * kMiB);
  CachingAllocator a(source, "cuda:0");
  const PoolId pool = a.new_pool();
  void* x = a.allocate(5 * kMiB, nullptr, pool);
  void* other = a.allocate(5 * kMiB, nullptr);
  for (void* block : {x, x, other}) a.hold(pool, block);  // the last one is of another pool
  CHECK(!a.freed(pool, x));
  a.free(x);
  a.free(other);
  CHECK(a.freed(pool, x));
  CHECK(!a.freed(pool, other));
  CHECK(a.allocate(5 * kMiB, nullptr) == other);
  void* y = a.allocate(5 * kMiB, nullptr, pool);
  CHECK(y != x);
  a.release_held(pool);
  CHECK(!a.freed(pool, x));
  CHECK(a.allocate(5 * kMiB, nullptr, pool) == x);
  a.hold(pool, y);
  a.release_held(pool);  // what was not freed stays in use
  CHECK(a.use().allocated == 15 * kMiB);
  a.free(y);
  CHECK(a.allocate(5 * kMiB, nullptr, pool) == y);
}

TEST_CASE("out of memory: the cache of retired pools is freed, that of live pools is not") {
  FakeSource source(64 * kMiB);
  CachingAllocator a(source, "cuda:0");
  const PoolId pool = a.new_pool();
  a.free(a.allocate(40 * kMiB, nullptr, pool));
  CHECK_THROWS_AS(a.allocate(40 * kMiB, nullptr), Error);
  a.retire_pool(pool);
  CHECK(a.allocate(40 * kMiB, nullptr) != nullptr);
}

TEST_CASE("a huge block is not broken up for a small request") {
  FakeSource source(1000 * kMiB);
  CachingAllocator a(source, "cuda:0");
  void* huge = a.allocate(400 * kMiB, nullptr);
  a.free(huge);
  void* x = a.allocate(2 * kMiB, nullptr);
  CHECK(x != huge);
  void* y = a.allocate(30 * kMiB, nullptr);
  CHECK(y != huge);
  CHECK(a.allocate(390 * kMiB, nullptr) == huge);
}

TEST_CASE("out of GPU memory: free blocks in segments in use serve any size") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  a.free(a.allocate(100 * kMiB, nullptr));
  void* half = a.allocate(85 * kMiB, nullptr);  // cut from the segment, because little remains
  void* rest = a.allocate(12 * kMiB, nullptr);
  a.free(half);  // 85 MiB are free in a segment in use; the GPU has nothing left
  for (const std::size_t bytes : {kKiB, 5 * kMiB, 30 * kMiB}) {
    CAPTURE(bytes);
    void* block = a.allocate(bytes, nullptr);
    CHECK(block != nullptr);
    a.free(block);
  }
  CHECK_THROWS_AS(a.allocate(kKiB, stream(1)), Error);  // a different stream
  a.free(rest);
  a.empty_cache();
  CHECK(source.used() == 0);
  CHECK(source.bad_frees == 0);
}

TEST_CASE("memory not allocated here is not freed") {
  FakeSource source(100 * kMiB);
  CachingAllocator a(source, "cuda:0");
  int x = 0;
  a.free(&x);  // logs a line to stderr
  a.used_by(&x, stream(2));
  void* block = a.allocate(kKiB, nullptr);
  a.free(block);
  a.free(block);
  CHECK(a.use().allocated == 0);
  CHECK(source.bad_frees == 0);
}

TEST_CASE("random use: live blocks never overlap, and all memory is returned") {
  FakeSource source(2000 * kMiB);
  {
    CachingAllocator a(source, "cuda:0");
    std::map<char*, std::size_t> held;
    uint32_t state = 1;
    const auto draw = [&](uint32_t n) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % n;
    };
    for (int i = 0; i < 4000; ++i) {
      if (held.size() < 40 && draw(5) != 0) {
        const std::size_t size = 1 + draw(draw(4) == 0 ? 20000000 : 3000);
        char* at = bytes_of(a.allocate(size, stream(1 + draw(2))));
        const auto after = held.lower_bound(at);
        if (after != held.end()) REQUIRE(at + size <= after->first);
        if (after != held.begin()) REQUIRE(std::prev(after)->first + std::prev(after)->second <= at);
        REQUIRE(reinterpret_cast<uintptr_t>(at) % 512 == 0);
        held[at] = size;
      } else if (!held.empty()) {
        auto at = std::next(held.begin(), draw(static_cast<uint32_t>(held.size())));
        if (draw(3) == 0) a.used_by(at->first, stream(1 + draw(3)));
        a.free(at->first);
        held.erase(at);
      }
      if (draw(20) == 0) source.run(stream(1 + draw(3)));
      if (draw(500) == 0) a.empty_cache();
    }
    for (const auto& [at, size] : held) a.free(at);
    CHECK(a.use().allocated == 0);
    a.empty_cache();
    CHECK(source.used() == 0);
    CHECK(a.use().reserved == 0);
  }
  CHECK(source.events == 0);
  CHECK(source.bad_frees == 0);
}
