// Removing a prefix from the names of a state dict.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {

/// The names, without `prefix` where they start with it. Throws Error if two of them become equal.
std::vector<std::string> without_prefix(std::vector<std::string> names, const std::string& prefix);
/// The same for the names of tensors.
OrderedDict<std::string, Tensor> without_prefix(const OrderedDict<std::string, Tensor>& state,
                                                const std::string& prefix);

/// The prefix that wrappers have put before all of the names: "module." of DataParallel and "_orig_mod." of a compiled
/// module, in any order. It ends before a wrapper with which a name in `own` starts, too.
std::string wrapping(const std::vector<std::string>& names, const std::vector<std::string>& own = {});
/// The state dict without that prefix.
OrderedDict<std::string, Tensor> unwrapped(const OrderedDict<std::string, Tensor>& state);

}  // namespace tandem::serialize
