#pragma once
#include "tandem/parallel/shared/parallel_apply.h"  // has moved there; this path goes with version 0.3
