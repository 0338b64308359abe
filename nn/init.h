// Initial values of tensors (LibTorch's torch::nn::init). All change the tensor in place, unrecorded, and
// give it back; random ones draw from the default generator.
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
/// The identity. Throws Error unless the tensor is a matrix.
Tensor eye_(Tensor matrix);
/// A convolution that hands its input on: weight [out, in, …], 3 to 5 dimensions.
Tensor dirac_(Tensor tensor);
/// X. Glorot, Y. Bengio: Understanding the difficulty of training deep feedforward neural networks. 2010.
Tensor xavier_uniform_(Tensor tensor, double gain = 1);
Tensor xavier_normal_(Tensor tensor, double gain = 1);
/// K. He et al.: Delving deep into rectifiers. 2015. `a` is the slope of a leaky ReLU.
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                        NonlinearityType nonlinearity = kLeakyReLU);
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                       NonlinearityType nonlinearity = kLeakyReLU);
/// Rows (or columns, where there are fewer of them) of length `gain`, at right angles; 2 dimensions or more.
Tensor orthogonal_(Tensor tensor, double gain = 1);
/// `sparsity` of each column zero, the rest normal.
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);

double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

/// {fan in, fan out} of a weight [out, in, …]. Throws Error below two dimensions.
struct Fans {
  int64_t in = 0, out = 0;
};
Fans calculate_fans(const Tensor& weight);

/// While it lives, the functions above leave tensors as they are (and draw nothing) on this thread: for
/// values that are copied in right after.
class SkipGuard {
 public:
  SkipGuard();
  ~SkipGuard();
  SkipGuard(const SkipGuard&) = delete;
  SkipGuard& operator=(const SkipGuard&) = delete;

 private:
  bool previous_;
};
bool is_skipped();

}  // namespace tandem::nn::init
