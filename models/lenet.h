// LeNet with rectifiers and average pooling, for small images.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/nn/sequential.h"

namespace tandem::models {

struct LeNetOptions {
  LeNetOptions(int64_t num_classes = 10) : num_classes_(num_classes) {}
  TANDEM_ARG(int64_t, num_classes);
  /// Of the images.
  TANDEM_ARG(int64_t, channels) = 1;
  TANDEM_ARG(int64_t, height) = 28;
  TANDEM_ARG(int64_t, width) = 28;
};

/// Features after the convolutions, which the first linear layer takes: 50 per remaining pixel. Throws Error for images
/// smaller than 14 x 14.
int64_t lenet_features(const LeNetOptions& options);

/// From [N, channels, height, width] to [N, num_classes]: conv1, relu1, pool1, conv2, relu2, pool2, flatten, fc1,
/// relu3, fc2 (Y. LeCun et al.: Gradient-based learning applied to document recognition. 1998). Throws Error for images
/// smaller than 14 x 14.
nn::Sequential lenet(const LeNetOptions& options = {});

}  // namespace tandem::models
