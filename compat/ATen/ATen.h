// ATen's main header; includes all of torch/torch.h.
#pragma once
#include "torch/torch.h"
