// LibTorch's umbrella header.
#pragma once
#include "torch/torch.h"
