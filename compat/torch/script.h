// Tensors and modules as in torch/torch.h, which programs also get from this header.
// There is no TorchScript (torch::jit).
#pragma once
#include <torch/torch.h>
