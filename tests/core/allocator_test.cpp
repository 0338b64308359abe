// The CPU's allocator: memory that its cache holds does not make an allocation fail.
#include "tandem/core/cpu_allocator.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "tandem/core/error.h"

using namespace tandem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED  // they need the address space for themselves
namespace {
// While it lives, the process may grow by `bytes` only.
class GrowthLimit {
 public:
  explicit GrowthLimit(std::size_t bytes) {
    long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    REQUIRE(file != nullptr);
    REQUIRE(std::fscanf(file, "%ld", &pages) == 1);
    std::fclose(file);
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~GrowthLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};
}  // namespace

TEST_CASE("an allocation that fails is tried again without the cache") {
  constexpr std::size_t kMiB = std::size_t{1} << 20, kCached = 1024 * kMiB, kLarger = 1200 * kMiB;
  cpu::deallocate(cpu::allocate(kCached), kCached);  // never touched: costs no memory
  GrowthLimit limit(600 * kMiB);
  void* block = cpu::allocate(kLarger);
  CHECK(block != nullptr);
  cpu::deallocate(block, kLarger);
  CHECK_THROWS_WITH_AS(cpu::allocate(8 * kLarger), doctest::Contains("out of memory"), Error);
  cpu::empty_cache();
}
#endif

TEST_CASE("sizes beyond any machine are refused") {
  CHECK_THROWS_WITH_AS(cpu::allocate(std::size_t{1} << 46), doctest::Contains("out of memory"), Error);
  CHECK_THROWS_WITH_AS(cpu::allocate(~std::size_t{0}), doctest::Contains("out of memory"), Error);
}
