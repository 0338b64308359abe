// LeNet.
#include "tandem/models/lenet.h"

#include "tandem/core/base/checked_sizes.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/layers/pooling.h"

namespace tandem::models {

int64_t lenet_features(const LeNetOptions& o) {
  // conv 3x3, pool 2x2, conv 5x5, pool 2x2
  const int64_t height = ((o.height() - 2) / 2 - 4) / 2, width = ((o.width() - 2) / 2 - 4) / 2;
  check(height >= 1 && width >= 1, "lenet: images must have at least 14 x 14 pixels, got ", o.height(), " x ",
        o.width());
  return multiply_sizes("lenet", 50, multiply_sizes("lenet", height, width));
}

nn::Sequential lenet(const LeNetOptions& o) {
  const int64_t features = lenet_features(o);
  nn::Sequential model;
  model->push_back("conv1", nn::Conv2d(nn::Conv2dOptions(o.channels(), 20, 3)));
  model->push_back("relu1", nn::ReLU());
  model->push_back("pool1", nn::AvgPool2d(nn::AvgPool2dOptions(2)));
  model->push_back("conv2", nn::Conv2d(nn::Conv2dOptions(20, 50, 5)));
  model->push_back("relu2", nn::ReLU());
  model->push_back("pool2", nn::AvgPool2d(nn::AvgPool2dOptions(2)));
  model->push_back("flatten", nn::Flatten());
  model->push_back("fc1", nn::Linear(features, 128));
  model->push_back("relu3", nn::ReLU());
  model->push_back("fc2", nn::Linear(128, o.num_classes()));
  return model;
}

}  // namespace tandem::models
