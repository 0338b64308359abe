// The inside of ProcessGroup.
#pragma once
#include "tandem/parallel/distributed/group_state.h"

namespace tandem::distributed {

struct ProcessGroup::Impl {
  explicit Impl(std::shared_ptr<GroupState> the_state) : state(std::move(the_state)) {}
  const std::shared_ptr<GroupState> state;
};

}  // namespace tandem::distributed
