// How much memory a process holds when tensors of many sizes come and go: run by hand,
//   build/tests/core/allocation_storm [MEGABYTES]          (default 200)
// beside `python tests/core/allocation_storm.py [MEGABYTES]`, the same loops in PyTorch. MEGABYTES bounds the
// bytes live at a time. Each line: seconds, and megabytes resident above the start.
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

// The minimal standard generator: the same numbers as in the script.
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

// Twice: a process that has met every size holds no more.
template <class Sample>
void growing(double most, Sample sample) {
  for (int round = 0; round < 2; ++round)
    for (int i = 1; i <= 100; ++i) {
      const Tensor x = touched(most * i / 100);
      sample();
    }
}

// Sizes from 40 KB to a quarter of `most`, each as likely as the double of it; random ones go first.
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

// A size at a time, of those that small blocks have.
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
  touched(1e6);  // the threads start
  cpu::empty_cache();
  measure("growing", [&](auto sample) { growing(most, sample); });
  measure("mixed", [&](auto sample) { mixed(most, sample); });
  measure("small", [&](auto sample) { small(most, sample); });
}
