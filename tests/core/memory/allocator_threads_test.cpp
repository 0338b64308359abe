// The CPU allocator under several threads: no two live blocks share a byte, whichever thread frees them.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core/memory/cpu_allocator.h"

using namespace tandem;

namespace {

struct Block {
  unsigned char* data;
  std::size_t bytes;
  unsigned char mark;
};

Block make(std::mt19937& random) {
  const std::size_t bytes = (std::size_t{16} << random() % 16) + random() % 4096;
  auto* data = static_cast<unsigned char*>(cpu::allocate(bytes));
  const auto mark = static_cast<unsigned char>(random());
  std::memset(data, mark, bytes);
  return {data, bytes, mark};
}

// Frees the block; returns whether it was aligned and still held what was written.
bool end(const Block& block) {
  bool good = reinterpret_cast<uintptr_t>(block.data) % 64 == 0;
  for (std::size_t i = 0; i < block.bytes; ++i) good = good && block.data[i] == block.mark;
  cpu::deallocate(block.data, block.bytes);
  return good;
}

// Lets threads pass blocks to each other.
struct Exchange {
  std::mutex mutex;
  std::vector<Block> blocks;
};

bool work(Exchange& exchange, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Block> own;
  bool good = true;
  for (int i = 0; i < 1500; ++i) {
    own.push_back(make(random));
    if (random() % 3 == 0) {
      std::lock_guard lock(exchange.mutex);
      exchange.blocks.push_back(own.back());
      own.pop_back();
      std::swap(exchange.blocks[random() % exchange.blocks.size()], exchange.blocks.back());
      own.push_back(exchange.blocks.back());
      exchange.blocks.pop_back();
    }
    while (own.size() > 40 || (!own.empty() && random() % 2 == 0)) {
      std::swap(own[random() % own.size()], own.back());
      good = end(own.back()) && good;
      own.pop_back();
    }
    if (random() % 200 == 0) cpu::empty_cache();
  }
  std::lock_guard lock(exchange.mutex);
  exchange.blocks.insert(exchange.blocks.end(), own.begin(), own.end());
  return good;
}

}  // namespace

TEST_CASE("blocks of random sizes keep their bytes, whichever thread frees them") {
  Exchange exchange;
  std::array<bool, 4> good{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < good.size(); ++i) threads.emplace_back([&, i] { good[i] = work(exchange, i + 1); });
  for (std::thread& thread : threads) thread.join();
  for (const bool one : good) CHECK(one);
  for (const Block& block : exchange.blocks) CHECK(end(block));
  cpu::empty_cache();
  CHECK(cpu::cached_bytes() < std::size_t{8} << 20);
}

TEST_CASE("the lock around fork() keeps other threads out") {
  cpu::lock_for_fork();
  bool done = false;
  std::thread other([&] {
    cpu::deallocate(cpu::allocate(1 << 20), 1 << 20);
    done = true;
  });
  cpu::unlock_after_fork();
  other.join();
  CHECK(done);
}
