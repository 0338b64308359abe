// LibTorch's name for everything.
#pragma once
#include "torch/torch.h"
