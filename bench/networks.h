// Networks of other kinds than the published models, written by hand as a user would. bench_models trains both.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/any_module.h"

namespace networks {

/// gan: a generator of transposed convolutions and a discriminator, 32 x 32. video: 3-d convolutions. lm: embedding, two
/// LSTM layers, softmax over 10,000 words. attention: four blocks of attention by hand. tcn: dilated 1-d convolutions with
/// gates. unet: 128 x 128.
const std::vector<std::string>& names();

struct Network {
  tandem::nn::AnyModule model;
  tandem::Tensor input, target;  // the output is [N, classes, ...] or [N, T, classes]
  bool adam;
};
/// Throws Error for an unknown name. bench/models.py has the same networks in PyTorch.
Network make(const std::string& name, int64_t batch);

}  // namespace networks
