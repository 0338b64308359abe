// LibTorch's header for modules; includes all of torch/torch.h.
#pragma once
#include "torch/torch.h"
