// The order of sums, which all methods of a kernel follow, and on CUDA those of strict mode (cuda/strict). An element's
// bits then depend on its own row, image or line, and on the sizes of one such: neither on the method nor on the batch,
// and never on the number of threads.
//
// Matrix products, linear and recurrent layers: the products of an element are added one after the other along the depth,
// in pieces of piece_depth(). Each piece begins with 0 and is multiplied by alpha; the pieces are added to beta C one
// after the other. (Half types: in float32, and beta C is added last.) With one column (n == 1) the products of a row that
// is contiguous are added in lanes, as by dot(). So an element's bits depend on the depth, on whether there is one column,
// and on its own factors.
//
// Convolutions: one chain of products in the order of the weights (channel, row, column), to which the bias is added. The
// method for depthwise convolutions begins the chain with the bias. Weights are finite: a product with a zero of the
// padding may be left out. So is the gradient of the input where it is a convolution (Conv2dShape::turns()): in the order
// of output channel, row and column of the rotated weights. Otherwise the products of each tap are a matrix product over
// the output channels, and the taps are added in order.
//
// Reductions: see core/cpu/reduce_plan.h. The batch is the outermost dimension in memory. Sums over the batch, such as the
// gradients of weights and the statistics of a batch, have an order of their own, which depends on the batch.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tandem {

/// The products in one chain, of k > 0: pieces are of equal length, but for the last. A panel of so many rows stays in L1.
template <class T>
constexpr int64_t piece_depth(int64_t k) {
  const int64_t most = 2048 / static_cast<int64_t>(sizeof(T)), pieces = (k + most - 1) / most;
  return (k + pieces - 1) / pieces;
}

/// Rows that are multiplied with the bytes of an int8 matrix (core/cpu/linalg/quantized_linear.cpp).
inline constexpr int64_t kFewInt8Rows = 16;
/// More rows are multiplied with so many rows of the matrix at a time, 1 MiB of them. A last one is a product of one column.
constexpr int64_t int8_part(int64_t k) {
  return std::clamp<int64_t>((1 << 18) / std::max<int64_t>(1, k) / 64 * 64, 64, 1024);
}

}  // namespace tandem
