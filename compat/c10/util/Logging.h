// torch/torch.h and the macros of LibTorch's log.
#pragma once
#include <torch/torch.h>

#include "torch/detail/logging.h"
