// What every .cu file includes first: CUDA's device language and the launch of a kernel, from the folder that
// the build puts on the include path.
#pragma once
#include <device_language.h>
