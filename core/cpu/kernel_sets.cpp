// Chooses the set of kernels. Threads that race to do so choose the same one, and none waits for another, so a
// process may fork at any time.
#include "tandem/core/cpu/kernel_sets.h"

#include <cstdlib>

#include "tandem/core/base/suggest.h"
#include "tandem/core/cpu/kernel_plugin.h"
#include "tandem/core/cpu/plugin_files.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/reproducible.h"

#ifdef __x86_64__
extern "C" void tandem_check_processor();
// Takes the check, a constructor, into programs that link the static library.
[[gnu::used]] static void (*const processor_check)() = tandem_check_processor;
#endif

namespace tandem::cpu {
namespace {

// A set that was found, or why it was not.
struct Found {
  const Backend* kernels = nullptr;
  std::string missing;
};

struct Candidate {
  const char* name;
  const char* title;
  Found (*find)();
};

#ifdef TANDEM_CPU_DISPATCH
// What the processor lacks of x86-64-v4, for which the plugin is compiled.
std::string lacking() {
  std::string list;
  const auto need = [&](bool has, const char* feature) {
    if (!has) list += (list.empty() ? "" : ", ") + std::string(feature);
  };
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512f")) return "AVX512F";
  need(__builtin_cpu_supports("avx512bw"), "AVX512BW");
  need(__builtin_cpu_supports("avx512cd"), "AVX512CD");
  need(__builtin_cpu_supports("avx512dq"), "AVX512DQ");
  need(__builtin_cpu_supports("avx512vl"), "AVX512VL");
  return list;
}

// A set without its file is missing, so that packages may leave it out; a file that does not fit is an error.
Found avx512() {
  if (const std::string lack = lacking(); !lack.empty()) return {nullptr, "this processor lacks " + lack};
  const PluginFile file = find_plugin("cpu_avx512");
  if (file.path.empty()) return {nullptr, file.missing};
  return {static_cast<const KernelPlugin*>(open_plugin(file.path, "tandem_kernel_plugin"))->kernels, ""};
}
#endif

// The library itself would not have started on a processor that lacks what it is compiled for.
Found own() { return {&kernels, ""}; }

// The fastest first.
constexpr Candidate kCandidates[] = {
#ifdef TANDEM_CPU_DISPATCH
    {"avx512", "AVX-512", avx512},
#endif
#if defined(__AVX512F__)
    {"avx512", "AVX-512", own},
#elif defined(__AVX2__)
    {"avx2", "AVX2", own},
#elif defined(__AVX__)
    {"avx", "AVX", own},
#elif defined(__SSE2__)
    {"sse2", "SSE2", own},
#elif defined(__aarch64__)
    {"neon", "NEON", own},
#else
    {"baseline", "the baseline instruction set", own},
#endif
};

const Backend& named(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Candidate& candidate : kCandidates) {
    names.emplace_back(candidate.name);
    list += (list.empty() ? "" : ", ") + names.back();
    if (name != candidate.name) continue;
    const Found found = candidate.find();
    check(found.kernels != nullptr, "TANDEM_CPU=", name, ": ", found.missing);
    return *found.kernels;
  }
  fail("TANDEM_CPU=", name, ": this build has no such kernels, it has: ", list,
       names.size() > 1 ? "" : " (-Dcpu=dispatch builds avx2 and avx512)", did_you_mean(name, names));
}

const Backend& choose() {
  reproducible();  // here, so that a wrong value is an error on every processor
  if (const char* name = std::getenv("TANDEM_CPU"); name != nullptr && *name != '\0') return named(name);
  for (const Candidate& candidate : kCandidates)
    if (const Found found = candidate.find(); found.kernels != nullptr) return *found.kernels;
  return kernels;
}

}  // namespace

std::vector<KernelSet> kernel_sets() {
  const Backend* chosen = &cpu_backend();
  std::vector<KernelSet> sets;
  for (const Candidate& candidate : kCandidates) {
    KernelSet set{candidate.name, candidate.title, "", false};
    try {
      const Found found = candidate.find();
      set.missing = found.missing;
      set.chosen = found.kernels == chosen;
    } catch (const Error& error) {
      set.missing = error.what();
    }
    sets.push_back(set);
  }
  return sets;
}

}  // namespace tandem::cpu

namespace tandem::detail {

constinit std::atomic<const Backend*> chosen_cpu_backend{nullptr};

const Backend& choose_cpu_backend() {
  const Backend& chosen = cpu::choose();
  chosen_cpu_backend.store(&chosen, std::memory_order_release);
  return chosen;
}

}  // namespace tandem::detail
