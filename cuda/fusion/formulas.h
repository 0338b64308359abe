// The kernels that a queue may hold: their formulas as source text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/dtype.h"

namespace tandem::cuda_impl {

/// kCore: see fusion/core.h. kOther: no formula, but the kernel need not wait for calls that have no memory in common
/// with it.
enum class FormulaKind : uint8_t {
  kUnary,
  kGradient,
  kBinary,
  kComparison,
  kTernary,
  kWhere,
  kCopy,
  kFill,
  kNormalize,
  kCore,
  kOther,
};

struct Formula {
  FormulaKind kind;
  /// Of the kernel in its family's table; kCore: in read_call.cpp; kOther: how many arguments it writes, the first ones.
  std::size_t index = 0;
  std::string_view type = {};    ///< of the operation: "tandem::ops::Relu"
  uint32_t types = ~uint32_t{};  ///< bit i: the ScalarType i that it computes in
};

/// `kernel` is a KernelFunction of the CUDA backend's table. nullptr if it has no formula.
const Formula* find_formula(const void* kernel);

/// "float", "tandem::BFloat16", …; "" for a dtype that generated kernels do not have.
std::string_view cpp_name(ScalarType type);

}  // namespace tandem::cuda_impl
