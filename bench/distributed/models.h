// Models and the median, for measurements on several devices and in several processes.
#pragma once
#include <algorithm>
#include <vector>

#include "tandem/tandem.h"

namespace bench {

using namespace tandem;
using Tensors = std::vector<Tensor>;

inline double median(std::vector<double> v) {
  check(!v.empty(), "nothing was measured");
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct LeNetImpl : nn::Cloneable<LeNetImpl> {
  LeNetImpl() { reset(); }
  void reset() override {
    conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 20, 3)));
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(20, 50, 5)));
    fc1 = register_module("fc1", nn::Linear(800, 128));
    fc2 = register_module("fc2", nn::Linear(128, 10));
  }
  Tensor forward(Tensor x) {
    x = avg_pool2d(relu(conv1(x)), 2);
    x = avg_pool2d(relu(conv2(x)), 2);
    return fc2(relu(fc1(x.flatten(1))));
  }
  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::Linear fc1{nullptr}, fc2{nullptr};
};

/// 24 layers of 512 x 512: 25.2 MB of parameters.
struct MlpImpl : nn::Cloneable<MlpImpl> {
  static constexpr int kLayers = 24, kWidth = 512;
  MlpImpl() { reset(); }
  void reset() override {
    layers.clear();
    for (int i = 0; i < kLayers; ++i)
      layers.push_back(register_module("fc" + std::to_string(i), nn::Linear(kWidth, kWidth)));
  }
  Tensor forward(Tensor x) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = layers[i](x);
      if (i + 1 < layers.size()) x = relu(x);
    }
    return x;
  }
  std::vector<nn::Linear> layers;
};

}  // namespace bench
