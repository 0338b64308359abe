// Reducer's errors about missing and superfluous gradients. Internal.
#pragma once
#include <string>
#include <vector>

#include "tandem/parallel/distributed_data_parallel/reducer.h"

namespace tandem::distributed {

/// At the end of a pass: the parameters that are not ready had no gradient.
[[noreturn]] void fail_incomplete(const ReducerOptions& options, const std::vector<std::string>& names,
                                  const std::vector<char>& ready);
/// The parameter is ready, but received a gradient; a `second` one in this pass, or its first.
[[noreturn]] void fail_surplus(const ReducerOptions& options, const std::string& name, bool second);

}  // namespace tandem::distributed
