// Options of Linear, Bilinear, Flatten, Unflatten.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in_features);
  TANDEM_ARG(int64_t, out_features);
  TANDEM_ARG(bool, bias) = true;
};

struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in1_features);
  TANDEM_ARG(int64_t, in2_features);
  TANDEM_ARG(int64_t, out_features);
  TANDEM_ARG(bool, bias) = true;
};

struct FlattenOptions {
  TANDEM_ARG(int64_t, start_dim) = 1;
  TANDEM_ARG(int64_t, end_dim) = -1;
};

struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TANDEM_ARG(int64_t, dim);
  TANDEM_ARG(std::vector<int64_t>, sizes);
};

}  // namespace tandem::nn
