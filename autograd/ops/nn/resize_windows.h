// The weighted means of antialiased resizing, one axis at a time. Shared by interpolate and by the resizing of
// pictures; internal to their sources.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem::autograd {

/// The new element of window i is the sum of the old elements first[i], first[i] + 1, … first[i] + count[i] - 1, with
/// weights that add up to 1.
struct ResizeWindows {
  std::vector<int64_t> first, count;
  std::vector<double> weights;  ///< of all windows, one after the other
};

/// The windows of the new elements begin, begin + 1, … begin + count - 1. Each element e is the mean of those of the
/// `from` old ones within the filter's support around its centre (e + 1/2) step. Where step exceeds 1, the filter is
/// stretched by it, which is the antialiasing. The filter is a triangle or, if `cubic`, Keys's cubic convolution with
/// A = -1/2. from and count are at least 1, begin and step at least 0.
ResizeWindows resize_windows(int64_t from, int64_t begin, int64_t count, double step, bool cubic);

}  // namespace tandem::autograd
