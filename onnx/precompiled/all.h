// Compiled once for all sources of the library.
#include "tandem/autograd/ops.h"
#include "tandem/onnx/operators.h"
