// update_buffers: lets a module's forward change its buffers so that a ParameterServer with shards produces
// the same buffers on any number of devices.
//
//   const Tensor mean = x.mean(0);
//   nn::update_buffers({running}, {mean}, [m = momentum](std::vector<Tensor>& buffers,
//                                                        const std::vector<Tensor>& values) {
//     buffers[0].mul_(1 - m).add_(values[0], m);
//   });
#pragma once
#include "tandem/autograd/buffer_updates.h"

namespace tandem::nn {
using autograd::update_buffers;
}
