// Arguments of three numbers, which several operations on volumes share. Internal to their sources.
#pragma once
#include <array>

#include "tandem/core/tensor.h"

namespace tandem::autograd {

using Triple = std::array<int64_t, 3>;

/// One number for all three dimensions, or three with the depth first. Throws Error unless value has one or three
/// numbers, each from `least` to INT32_MAX.
inline Triple triple(const char* operation, const char* what, IntArrayRef value, int64_t least) {
  check(value.size() == 1 || value.size() == 3, operation, ": ", what, " takes one number or three, got ", value);
  Triple out;
  for (std::size_t d = 0; d < 3; ++d) {
    out[d] = value[value.size() == 1 ? 0 : d];
    check(out[d] >= least && out[d] <= INT32_MAX, operation, ": ", what, " must be from ", least, " to ", INT32_MAX,
          ", got ", value);
  }
  return out;
}

}  // namespace tandem::autograd
