// Compiled once for all sources of the tool. No more: what a source does not need costs it more time than including the
// rest by itself.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "tandem/autograd/ops.h"
