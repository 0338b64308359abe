// What is armed, and the counter.
#include "tandem/tests/faults/faults.h"

#include <atomic>

namespace tandem::faults {
namespace {

constinit std::atomic<int> g_kind{-1};
constinit std::atomic<int64_t> g_calls{0}, g_nth{0};
constinit thread_local int paused = 0;

}  // namespace

void arm(Kind kind, int64_t nth) {
  g_calls = 0;
  g_nth = nth;
  g_kind = static_cast<int>(kind);
}

Outcome disarm() {
  g_kind = -1;
  const int64_t calls = g_calls, nth = g_nth;
  return {calls, nth > 0 && calls >= nth};
}

bool expects_failure() {
  const int kind = g_kind;
  return kind >= 0 && g_nth > 0 && !is_harmless(static_cast<Kind>(kind));
}

Pause::Pause() { ++paused; }
Pause::~Pause() { --paused; }

bool fails(Kind kind) {
  if (g_kind.load(std::memory_order_relaxed) != static_cast<int>(kind) || paused != 0) return false;
  return g_calls.fetch_add(1, std::memory_order_relaxed) + 1 == g_nth.load(std::memory_order_relaxed);
}

}  // namespace tandem::faults
