// Compiled once for all sources of the library.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "tandem/autograd/record.h"
#include "tandem/nn/optim/param_group.h"
