#include "tandem/tests/simulation/store.h"

namespace tandem::simulation {

namespace {
constexpr Time kSilence = 10 * kSecond;  // until a call of a store that does not answer fails
}

void SimulatedStore::travel(const char* what, const std::string& key) {
  Scheduler& scheduler = world_.scheduler;
  scheduler.trace([&] { return std::string("store ") + what + " " + key; });
  if (const Time delay = world_.delay(); delay > 0) scheduler.sleep_until(scheduler.now() + delay);
  world_.check_alive();
  if (world_.store_is_silent()) {
    scheduler.sleep_until(scheduler.now() + kSilence);
    throw distributed::DistributedError("simulated: the store does not answer");
  }
  if (world_.store_fails()) throw distributed::DistributedError("simulated: the store has closed the connection");
}

}  // namespace tandem::simulation
