// Included first by every .cu file: CUDA's device language and kernel launches, from the folder that the
// build puts on the include path.
#pragma once
#include <device_language.h>
