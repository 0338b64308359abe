// Models and inputs that are the same in every run.
#pragma once
#include <memory>

#include "tandem/tandem.h"

namespace tandem::distributed {

/// A module with the same initial values on every rank.
template <class M>
std::shared_ptr<M> seeded() {
  const GeneratorGuard guard{Generator(3)};
  return std::make_shared<M>();
}

/// [4, 5], different on every rank.
inline Tensor inputs_of(int rank) {
  const GeneratorGuard guard{Generator(static_cast<uint64_t>(50 + rank))};
  return randn({4, 5});
}

}  // namespace tandem::distributed
