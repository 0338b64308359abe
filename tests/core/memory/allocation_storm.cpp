// Measures a process's memory while tensors of many sizes come and go. Run by hand,
//   build/tests/core/allocation_storm [MEGABYTES]          (default 200)
// next to `python tests/core/memory/allocation_storm.py [MEGABYTES]`, the same loops in PyTorch. MEGABYTES bounds
// the live bytes. Each line reports seconds, and resident megabytes above the start.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr double kMB = 1e6;

double resident() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*d %ld", &pages) != 1) std::abort();
  std::fclose(file);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMB;
}

// The minimal standard generator, which produces the same numbers as the script's.
double draw() {
  static uint64_t state = 1;
  state = state * 48271 % 2147483647;
  return static_cast<double>(state) / 2147483647.0;
}

Tensor touched(double bytes) { return empty({static_cast<int64_t>(bytes)}, kByte).fill_(1); }

template <class Loop>
void measure(const char* name, Loop loop) {
  const double start = resident();
  double peak = start;
  const auto begin = std::chrono::steady_clock::now();
  loop([&] { peak = std::max(peak, resident()); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double after = resident();
  cpu::empty_cache();
  std::printf("%-8s %6.2f s   peak %7.1f   nothing live %7.1f   emptied %7.1f\n", name, seconds, peak - start,
              after - start, resident() - start);
}

// Runs twice: a process that has seen every size must not hold more.
template <class Sample>
void growing(double most, Sample sample) {
  for (int round = 0; round < 2; ++round)
    for (int i = 1; i <= 100; ++i) {
      const Tensor x = touched(most * i / 100);
      sample();
    }
}

// Sizes from 40 KB to a quarter of `most`, log-uniform; a random block is freed first.
template <class Sample>
void mixed(double most, Sample sample) {
  std::vector<Tensor> live;
  double bytes = 0;
  for (int i = 0; i < 5000; ++i) {
    const double size = std::floor(40e3 * std::pow(most / 4 / 40e3, draw()));
    while (bytes + size > most) {
      std::swap(live[static_cast<std::size_t>(draw() * static_cast<double>(live.size()))], live.back());
      bytes -= static_cast<double>(live.back().numel());
      live.pop_back();
    }
    live.push_back(touched(size));
    bytes += size;
    if (i % 16 == 0) sample();
  }
}

// One size at a time, in the range of small blocks.
template <class Sample>
void small(double most, Sample sample) {
  for (double size = 256; size <= 32e3; size *= 2) {
    std::vector<Tensor> live;
    for (double bytes = 0; bytes < most / 4; bytes += size) live.push_back(touched(size));
    sample();
  }
}

}  // namespace

int main(int argc, char** argv) {
  NoGradGuard guard;
  const double most = (argc > 1 ? std::atof(argv[1]) : 200) * kMB;
  touched(1e6);  // start the threads
  cpu::empty_cache();
  measure("growing", [&](auto sample) { growing(most, sample); });
  measure("mixed", [&](auto sample) { mixed(most, sample); });
  measure("small", [&](auto sample) { small(most, sample); });
}
