#pragma once
#include "tandem/parallel/shared/collectives.h"  // has moved there; this path goes with version 0.3
