// Compiled once for all sources of the tool.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tandem/autograd/ops.h"
#include "tandem/nn/nn.h"
