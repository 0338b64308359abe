// What the replaced functions of the C library offer to simulations.
#pragma once
#include <functional>

namespace tandem::simulation {

/// The mutexes that `action` locks, outside simulations, are no steps at which another thread may be chosen. For those
/// of caches, whose use depends on what the process did before.
void silence_mutexes_of(const std::function<void()>& action);

}  // namespace tandem::simulation
