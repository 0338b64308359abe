#include "tandem/cuda/fusion/formulas.h"

#include <unordered_map>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/layer_norm.h"
#include "tandem/core/backend/ternary.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/compare_ops.h"
#include "tandem/core/formulas/ternary_ops.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::cuda_impl {
namespace {

// Both compilers spell it "… [with Op = tandem::ops::Relu; …]" or "… [Op = tandem::ops::Relu]".
template <class Op>
constexpr std::string_view type_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::size_t begin = text.find("Op = ") + 5, end = text.find_first_of(";]", begin);
  return text.substr(begin, end - begin);
}

template <class... Ts>
constexpr uint32_t bits_of(TypeList<Ts...>) {
  return ((uint32_t{1} << static_cast<int>(scalar_type_of<Ts>)) | ...);
}

using Formulas = std::unordered_map<const void*, Formula>;

Formulas make_formulas() {
  Formulas all;
  const auto add = [&]<class... Ops>(FormulaKind kind, TypeList<Ops...>, const auto& kernels, const auto& types) {
    std::size_t index = 0;
    const auto one = [&](std::string_view type, uint32_t of) {
      all.insert({&kernels[index], {kind, index, type, of}});
      ++index;
    };
    (one(type_name<Ops>(), types.template operator()<Ops>()), ...);
  };
  const auto own = []<class Op>() {
    uint32_t types = bits_of(typename Op::Types{});
    if constexpr (requires { Op::divides; }) types &= bits_of(FloatTypes{});  // integers: division by zero is a fault
    return types;
  };
  const auto floats = []<class Op>() { return bits_of(FloatTypes{}); };
  const Backend& b = *cuda_backend();
  add(FormulaKind::kUnary, ops::UnaryOps{}, b.unary.value, own);
  add(FormulaKind::kGradient, ops::GradientOps{}, b.unary.gradient, floats);
  add(FormulaKind::kBinary, ops::BinaryOps{}, b.binary.value, own);
  add(FormulaKind::kTernary, ops::TernaryOps{}, b.ternary.value, own);
  add(FormulaKind::kComparison, ops::CompareOps{}, b.comparison.value, own);
  all.insert({&b.ternary.where, {FormulaKind::kWhere}});
  all.insert({&b.copy.copy, {FormulaKind::kCopy}});
  all.insert({&b.copy.fill, {FormulaKind::kFill}});
  all.insert({&b.batch_norm.normalize, {FormulaKind::kNormalize}});
  all.insert({&b.layer_norm.forward, {FormulaKind::kCore, 0}});
  all.insert({&b.layer_norm.backward, {FormulaKind::kCore, 1}});
  all.insert({&b.batch_norm.backward, {FormulaKind::kCore, 2}});
  // These come between a normalisation and what follows it.
  all.insert({&b.batch_norm.track, {FormulaKind::kOther, 3}});
  all.insert({&b.batch_norm.statistics, {FormulaKind::kOther, 2}});
  all.insert({&b.conv.forward, {FormulaKind::kOther, 1}});
  return all;
}

}  // namespace

const Formula* find_formula(const void* kernel) {
  static const Formulas formulas = make_formulas();
  const auto found = formulas.find(kernel);
  return found == formulas.end() ? nullptr : &found->second;
}

std::string_view cpp_name(ScalarType type) {
  switch (type) {
    case kByte:
      return "uint8_t";
    case kChar:
      return "int8_t";
    case kShort:
      return "int16_t";
    case kInt:
      return "int32_t";
    case kLong:
      return "int64_t";
    case kHalf:
      return "tandem::Half";
    case kFloat:
      return "float";
    case kDouble:
      return "double";
    case kBool:
      return "bool";
    case kBFloat16:
      return "tandem::BFloat16";
    default:
      return "";
  }
}

}  // namespace tandem::cuda_impl
