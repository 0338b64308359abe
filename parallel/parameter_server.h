#pragma once
#include "tandem/parallel/parameter_server/parameter_server.h"  // has moved there; this path goes with version 0.3
