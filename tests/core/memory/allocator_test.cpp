// The CPU allocator: cached memory serves any size, surplus returns to the system, and the cache never makes
// an allocation fail.
#include "tandem/core/memory/cpu_allocator.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "tandem/core/base/sanitizers.h"
#include "tandem/core/memory/small_blocks.h"
#include "tandem/tandem.h"

using namespace tandem;

#if !defined(TANDEM_ASAN) && !defined(TANDEM_TSAN)  // sanitizers need the address space and the memory themselves
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Size of the process in bytes: its address space, or its resident pages.
std::size_t process_bytes(bool in_memory) {
  long all = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%ld %ld", &all, &resident) == 2);
  std::fclose(file);
  return static_cast<std::size_t>(in_memory ? resident : all) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// While it lives, the process can grow by at most `bytes`.
class GrowthLimit {
 public:
  explicit GrowthLimit(std::size_t bytes) {
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(process_bytes(false) + bytes);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~GrowthLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

// Blocks of one size, with every page touched, that are freed together.
class Blocks {
 public:
  Blocks(std::size_t count, std::size_t bytes) : bytes_(bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      blocks_.push_back(cpu::allocate(bytes));
      for (std::size_t at = 0; at < bytes; at += 4096) static_cast<char*>(blocks_.back())[at] = 1;
    }
  }
  ~Blocks() {
    for (void* block : blocks_) cpu::deallocate(block, bytes_);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

 private:
  std::vector<void*> blocks_;
  std::size_t bytes_;
};

}  // namespace

TEST_CASE("a failed allocation is retried without the cache") {
  constexpr std::size_t kCached = 1024 * kMiB, kLarger = 1200 * kMiB;
  cpu::deallocate(cpu::allocate(kCached), kCached);  // never touched: costs no memory
  GrowthLimit limit(600 * kMiB);
  void* block = cpu::allocate(kLarger);
  CHECK(block != nullptr);
  cpu::deallocate(block, kLarger);
  CHECK_THROWS_WITH_AS(cpu::allocate(8 * kLarger), doctest::Contains("out of memory"), OutOfMemoryError);
  cpu::empty_cache();
}

TEST_CASE("freed blocks of any size can serve another size") {
  cpu::empty_cache();
  for (const std::size_t bytes : {std::size_t{600}, std::size_t{30000}, std::size_t{100000}, 3 * kMiB}) {
    CAPTURE(bytes);
    GrowthLimit limit(220 * kMiB);
    Blocks(150 * kMiB / bytes, bytes);
    Blocks(1, 190 * kMiB);
    Blocks(150 * kMiB / 2000, 2000);
    CHECK_THROWS_AS(Blocks(1, 400 * kMiB), Error);
    Blocks(1, 190 * kMiB);
    cpu::empty_cache();
  }
}

TEST_CASE("varying sizes keep little more than the largest in memory") {
  // What is kept follows the peak of the last 131,072 requests at most, which other cases must not have set.
  for (int i = 0; i < 131072; ++i) cpu::deallocate(cpu::allocate(40000), 40000);
  cpu::empty_cache();
  const std::size_t start = process_bytes(true);
  std::size_t peak = start;
  for (std::size_t bytes = 10 * kMiB; bytes <= 200 * kMiB; bytes += 10 * kMiB) {
    Blocks block(1, bytes);
    peak = std::max(peak, process_bytes(true));
  }
  for (std::size_t bytes = 64; bytes <= 4 * kMiB; bytes *= 2) {
    Blocks blocks(40 * kMiB / std::max(bytes, std::size_t{4096}), bytes);
    peak = std::max(peak, process_bytes(true));
  }
  CHECK(peak - start < 300 * kMiB);
  cpu::empty_cache();
  CHECK(process_bytes(true) < start + 20 * kMiB);
}

TEST_CASE("kernels keep no workspace as large as a tensor") {
  cpu::empty_cache();
  const std::size_t start = process_bytes(true);
  const auto sorted = [] { return std::get<0>(rand({3 << 20}).sort()); };
  sorted();
  cpu::empty_cache();
  CHECK(process_bytes(true) < start + 20 * kMiB);
}

TEST_CASE("a small live block does not hold a large block's memory") {
  cpu::empty_cache();
  const std::size_t start = cpu::reserved_bytes();
  cpu::deallocate(cpu::allocate(200 * kMiB), 200 * kMiB);
  void* stays = cpu::allocate(100000);
  cpu::empty_cache();
  CHECK(cpu::reserved_bytes() <= start + 4 * kMiB);
  cpu::deallocate(stays, 100000);
}

TEST_CASE("reserved and cached bytes") {
  cpu::empty_cache();
  const std::size_t reserved = cpu::reserved_bytes(), cached = cpu::cached_bytes();
  void* block = cpu::allocate(50 * kMiB);
  CHECK(cpu::reserved_bytes() >= reserved + 50 * kMiB);
  CHECK(cpu::reserved_bytes() <= reserved + 60 * kMiB);
  cpu::deallocate(block, 50 * kMiB);
  CHECK(cpu::cached_bytes() >= cached + 50 * kMiB);
  cpu::empty_cache();
  CHECK(cpu::reserved_bytes() <= reserved);
}

TEST_CASE("a repeated round of many sizes eventually needs nothing from the system") {
  cpu::empty_cache();
  const auto round = [] {
    std::mt19937 random(1);
    std::vector<std::pair<void*, std::size_t>> live;
    for (int i = 0; i < 1000; ++i) {
      const std::size_t bytes = (std::size_t{40000} << random() % 11) + random() % 40000;
      live.emplace_back(cpu::allocate(bytes), bytes);  // never touched
      for (int frees = static_cast<int>(random() % (live.size() > 60 ? 4 : 2)); frees > 0; --frees) {
        std::swap(live[random() % live.size()], live.back());
        cpu::deallocate(live.back().first, live.back().second);
        live.pop_back();
      }
    }
    for (auto [block, bytes] : live) cpu::deallocate(block, bytes);
  };
  for (int i = 0; i < 60; ++i) round();
  const uint64_t taken = cpu::system_allocations();
  for (int i = 0; i < 10; ++i) round();
  CHECK(cpu::system_allocations() <= taken + 2);
  cpu::empty_cache();
}

TEST_CASE("a warm training step requests nothing from the system") {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(1, 6, 5)), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Conv2d(nn::Conv2dOptions(6, 16, 5)), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                     nn::Linear(256, 120), nn::ReLU(), nn::Linear(120, 10));
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  const auto epoch = [&] {
    for (const int64_t batch : {64, 64, 64, 17}) {  // the last one is smaller
      optimizer.zero_grad();
      cross_entropy_loss(net->forward(rand({batch, 1, 28, 28})), randint(10, {batch}, kLong)).backward();
      optimizer.step();
    }
  };
  const int threads = get_num_threads();
  set_num_threads(1);  // when one of several gets its first task, which takes scratch memory, depends on the load
  for (int i = 0; i < 2; ++i) epoch();
  const uint64_t taken = cpu::system_allocations();
  for (int i = 0; i < 5; ++i) epoch();
  CHECK(cpu::system_allocations() == taken);
  set_num_threads(threads);
}
#endif

TEST_CASE("small blocks have four sizes per power of two") {
  std::vector<std::size_t> sizes{64, 128, 192, 256};
  for (std::size_t power = 256; power < cpu::SmallBlocks::kLimit; power *= 2)
    for (std::size_t quarters = 5; quarters <= 8; ++quarters) sizes.push_back(power / 4 * quarters);
  std::map<int, std::size_t> by_index;
  bool right = true;
  for (std::size_t bytes = 0, at = 0; bytes <= cpu::SmallBlocks::kLimit; ++bytes) {
    while (sizes[at] < bytes) ++at;
    const cpu::SizeClass found = cpu::SmallBlocks::size_class(bytes);
    right = right && found.bytes == sizes[at] && found.index >= 0 && found.index < cpu::SmallBlocks::kClasses &&
            by_index.emplace(found.index, found.bytes).first->second == found.bytes;
  }
  CHECK(right);
  CHECK(by_index.size() == sizes.size());
}

TEST_CASE("a chunk's slabs serve sixteen sizes of small blocks, and a chunk without blocks is given back") {
  cpu::LargeBlocks large;
  cpu::SmallBlocks small(large);
  std::vector<cpu::FreeBlock*> blocks;
  std::size_t bytes = 0;
  for (const std::size_t size :
       {64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560}) {
    blocks.push_back(small.allocate(cpu::SmallBlocks::size_class(size)));
    bytes += size;
    CHECK(blocks.back() != nullptr);
    CHECK(std::count(blocks.begin(), blocks.end(), blocks.back()) == 1);
    CHECK(small.live() == bytes);
    CHECK(small.held() == (blocks.size() <= 16 ? 1 : 2) * cpu::LargeBlocks::kHuge);
  }
  for (cpu::FreeBlock* block : blocks) small.deallocate(block);
  CHECK(small.live() == 0);
  CHECK(small.held() == 0);
  CHECK(large.live() == 0);
  large.release(0);
  CHECK(large.held() == 0);
}

TEST_CASE("sizes too large for any machine are rejected") {
  CHECK_THROWS_WITH_AS(cpu::allocate(std::size_t{1} << 46), doctest::Contains("out of memory"), OutOfMemoryError);
  CHECK_THROWS_WITH_AS(cpu::allocate(~std::size_t{0}), doctest::Contains("out of memory"), OutOfMemoryError);
}
