// Leaves that autocast converts together: those that were first used in one region are taken to be used together in the
// following ones, too. One kernel then converts all, and one node their gradients. Only on devices whose backend
// has such a kernel. Internal to autocast.cpp.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::autocast {

/// The leaves of t's group that can be converted with it, t among them; empty if t is in no group. A leaf is left out
/// while a hook waits for its gradient, which would otherwise come at the end of a backward pass.
std::vector<Tensor> group_of(const Tensor& t);
/// Makes a group per device of the leaves that are in none.
void make_groups(const std::vector<Tensor>& leaves);
void leave_group(const Tensor& leaf);

/// float32 leaves of one device in a half type. Recorded, as one node.
std::vector<Tensor> convert_all(const std::vector<Tensor>& leaves, ScalarType type);

}  // namespace tandem::autocast
