// Normalize: shifts and scales images with values from 0 to 1 as a network expects them.
#pragma once
#include <utility>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"

namespace tandem::cli {

class NormalizeImpl : public nn::Cloneable<NormalizeImpl> {
 public:
  /// ImageNet's, which most networks for coloured images were trained with.
  NormalizeImpl() : NormalizeImpl({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}) {}
  /// Of each channel.
  NormalizeImpl(std::vector<double> means, std::vector<double> deviations)
      : means_(std::move(means)), deviations_(std::move(deviations)) {
    reset();
  }
  void reset() override {
    const auto channels = static_cast<int64_t>(means_.size());
    mean = register_buffer("mean", tensor(means_, kFloat).view({1, channels, 1, 1}));
    std = register_buffer("std", tensor(deviations_, kFloat).view({1, channels, 1, 1}));
  }
  /// Gray images are repeated for all channels.
  Tensor forward(const Tensor& images) { return (images - mean) / std; }

  Tensor mean, std;

 private:
  std::vector<double> means_, deviations_;
};
TANDEM_MODULE(Normalize);

}  // namespace tandem::cli
