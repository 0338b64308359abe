// Initialisation of tensors (LibTorch's torch::nn::init). All functions modify the tensor in place without
// recording and return it; random ones draw from the default generator.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"

namespace tandem::nn::init {

using FanModeType = FanMode;
using NonlinearityType = Nonlinearity;

Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
Tensor constant_(Tensor tensor, Scalar value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
/// Fills with the identity. Throws Error unless the tensor is a matrix.
Tensor eye_(Tensor matrix);
/// Fills a convolution weight [out, in, …] of 3 to 5 dimensions so that the convolution preserves its input.
Tensor dirac_(Tensor tensor);
/// X. Glorot, Y. Bengio: Understanding the difficulty of training deep feedforward neural networks. 2010.
Tensor xavier_uniform_(Tensor tensor, double gain = 1);
Tensor xavier_normal_(Tensor tensor, double gain = 1);
/// K. He et al.: Delving deep into rectifiers. 2015. `a` is the slope of a leaky ReLU.
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                        NonlinearityType nonlinearity = kLeakyReLU);
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                       NonlinearityType nonlinearity = kLeakyReLU);
/// Orthogonal rows (or columns, if there are fewer columns) of length `gain`; at least 2 dimensions.
Tensor orthogonal_(Tensor tensor, double gain = 1);
/// Sets the fraction `sparsity` of each column to zero and draws the rest from a normal distribution.
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);

double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

/// {fan in, fan out} of a weight [out, in, …]. Throws Error for fewer than two dimensions.
struct Fans {
  int64_t in = 0, out = 0;
};
Fans calculate_fans(const Tensor& weight);

/// While alive, makes the functions above leave tensors unchanged and draw no random numbers on this thread.
/// Use it when values are copied in right afterwards.
class SkipGuard {
 public:
  [[nodiscard]] explicit SkipGuard(bool skip = true);
  ~SkipGuard();
  SkipGuard(const SkipGuard&) = delete;
  SkipGuard& operator=(const SkipGuard&) = delete;

 private:
  bool previous_;
};
bool is_skipped();

}  // namespace tandem::nn::init
