// Compiled once per test program. Sources see the names of <torch/torch.h> only, as ported programs do.
#include <torch/torch.h>
