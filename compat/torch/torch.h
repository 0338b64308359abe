// LibTorch's main header: programs written for LibTorch compile against Tandem with this include path alone.
//
// The standard headers are those that LibTorch's headers include: programs rely on them.
#pragma once
#include "tandem/core/base/cpp20.h"  // first: see there

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cctype>
#include <cfloat>
#include <chrono>
#include <climits>
#include <cmath>
#include <condition_variable>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/printed_names.h"
#include "tandem/tandem.h"
#include "torch/data/detail/data_shuttle.h"
#include "torch/data/detail/sequencers.h"
#include "torch/detail/aten.h"
#include "torch/detail/check.h"
#include "torch/detail/containers.h"
#include "torch/detail/core.h"
#include "torch/detail/cuda.h"
#include "torch/detail/dispatch.h"
#include "torch/detail/enumtype.h"
#include "torch/detail/factories.h"
#include "torch/detail/functions.h"
#include "torch/detail/record.h"
#include "torch/detail/static.h"
#include "torch/detail/tempfile.h"
#include "torch/detail/tensor_arg.h"
#include "torch/detail/util.h"
#include "torch/detail/values.h"
#include "torch/library.h"
#include "torch/namespaces.h"

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 15
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.15.0"

#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) TANDEM_MODULE_IMPL(Name, ImplType)
#define TORCH_ARG(T, name) TANDEM_ARG(T, name)

// Further LibTorch names.
namespace torch::autograd {
using tandem::AutoGradMode;
using tandem::GradMode;
using tensor_list = std::vector<Tensor>;
using variable_list = std::vector<Tensor>;
}  // namespace torch::autograd
namespace torch {
using autograd::variable_list;
using tandem::CUDAGeneratorImpl;
using tandem::pickle_load;  // programs that call these link tandem_pt
using tandem::pickle_save;
namespace detail {
inline const bool modules_print_torch_names = tandem::nn::print_torch_names();
using TensorDataContainer = tandem::TensorLiteral;
using tandem::detail::createCPUGenerator;
using tandem::detail::getDefaultCPUGenerator;
}  // namespace detail
namespace jit {
using tandem::serialize::CompilationUnit;
}
}  // namespace torch
namespace torch::data {
namespace example {
using tandem::data::example::NoTarget;
}
using datasets::BatchDataset;
using datasets::Dataset;
}  // namespace torch::data
// torch/linalg.h, which LibTorch 2.0 has and later versions do not.
namespace torch::linalg {
using namespace tandem::linalg;
}
namespace c10 {
using tandem::Dict;
namespace ivalue {
using tandem::ivalue::Tuple;
}
}  // namespace c10
