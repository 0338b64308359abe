// Forwards to torch/torch.h.
#pragma once
#include <torch/torch.h>
