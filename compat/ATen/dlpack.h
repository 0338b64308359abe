// DLPack's structs.
#pragma once
#include "tandem/core/dlpack_structs.h"
