// Options of normalisation.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);
  TANDEM_ARG(double, eps) = 1e-5;
  /// Weight of the new batch in the running statistics; nullopt: cumulative average.
  TANDEM_ARG(optional<double>, momentum) = 0.1;
  TANDEM_ARG(bool, affine) = true;
  TANDEM_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

struct InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);
  TANDEM_ARG(double, eps) = 1e-5;
  TANDEM_ARG(double, momentum) = 0.1;
  TANDEM_ARG(bool, affine) = false;
  TANDEM_ARG(bool, track_running_stats) = false;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  TANDEM_ARG(int64_t, num_groups);
  TANDEM_ARG(int64_t, num_channels);
  TANDEM_ARG(double, eps) = 1e-5;
  TANDEM_ARG(bool, affine) = true;
};

struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);
  TANDEM_ARG(double, alpha) = 1e-4;
  TANDEM_ARG(double, beta) = 0.75;
  TANDEM_ARG(double, k) = 1;
};

struct CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);
  TANDEM_ARG(double, alpha) = 1e-4;
  TANDEM_ARG(double, beta) = 0.75;
  TANDEM_ARG(int64_t, k) = 1;
};

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(double, eps) = 1e-5;
  TANDEM_ARG(bool, elementwise_affine) = true;
};

struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  /// The smallest number that changes 1 in the input's dtype, if not given.
  TANDEM_ARG(optional<double>, eps) = nullopt;
  TANDEM_ARG(bool, elementwise_affine) = true;
};

namespace functional {
struct RMSNormFuncOptions {
  RMSNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(optional<double>, eps) = nullopt;
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TANDEM_ARG(int64_t, num_groups);
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(double, eps) = 1e-5;
};
struct InstanceNormFuncOptions {
  TANDEM_ARG(Tensor, running_mean) = Tensor();
  TANDEM_ARG(Tensor, running_var) = Tensor();
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(bool, use_input_stats) = true;
  TANDEM_ARG(double, momentum) = 0.1;
  TANDEM_ARG(double, eps) = 1e-5;
};
struct BatchNormFuncOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(optional<double>, momentum) = 0.1;
  TANDEM_ARG(double, eps) = 1e-5;
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(double, eps) = 1e-5;
};
}  // namespace functional

}  // namespace tandem::nn
