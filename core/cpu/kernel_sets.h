// The sets of CPU kernels in a build, one per instruction set. A build with -Dcpu=dispatch has two: the
// library's own (AVX2) and the plugin libtandem_cpu_avx512.so. All other builds have the library's.
#pragma once
#include <string>
#include <vector>

namespace tandem::cpu {

struct KernelSet {
  std::string name;     ///< in TANDEM_CPU: "avx512"
  std::string title;    ///< "AVX-512"
  std::string missing;  ///< why this process cannot use it, in words; empty if it can
  bool chosen = false;  ///< the one that cpu_backend() uses
};

/// The sets of this build, the fastest first. Throws Error as cpu_backend() does.
std::vector<KernelSet> kernel_sets();

}  // namespace tandem::cpu
