#pragma once
#include "tandem/parallel/shared/device_copies.h"  // has moved there; this path goes with version 0.3
