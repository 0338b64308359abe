#include "tandem/cuda/fusion/read_call.h"

#include <algorithm>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/copy.h"
#include "tandem/core/backend/half_calls.h"
#include "tandem/core/backend/ternary.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/reproducible.h"
#include "tandem/cuda/strided.h"

namespace tandem::cuda_impl {
namespace {

bool repeats_elements(const Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.stride(d) == 0 && t.size(d) > 1) return true;
  return false;
}

// Reads the arguments of a call in their order. Each member returns whether the next ones are as they must be.
struct Reader {
  QueuedCall& to;
  const KernelCall& call;
  const Device device;
  std::size_t at = 0;

  bool fits(const Tensor& t) const {
    return t.defined() && t.device() == device && t.numel() != 0 && !cpp_name(t.scalar_type()).empty();
  }
  bool add(const Tensor& t) {
    if (!fits(t)) return false;
    to.in.push_back({borrowed(t, t.sizes(), t.strides()), Scalar(), {}});
    return true;
  }
  bool add(const Scalar& number) {
    to.in.push_back({Tensor(), number, {}});
    return !number.isComplex();
  }
  bool out() {
    const auto* t = call.argument<Tensor>(at++);
    if (t == nullptr || !fits(*t) || repeats_elements(*t)) return false;
    to.out.tensor = borrowed(*t, t->sizes(), t->strides());
    return true;
  }
  bool tensors(int count) {
    for (; count > 0; --count) {
      const auto* t = call.argument<Tensor>(at++);
      if (t == nullptr || !add(*t)) return false;
    }
    return true;
  }
  bool operands(int count) {
    for (; count > 0; --count) {
      const auto* operand = call.argument<Operand>(at++);
      if (operand == nullptr) return false;
      if (!(operand->tensor != nullptr ? add(*operand->tensor) : add(operand->scalar))) return false;
    }
    return true;
  }
  // What belongs to a channel, in the type that the call computes in.
  bool channels(int count, ScalarType type) {
    for (; count > 0; --count) {
      const auto* t = call.argument<Tensor>(at++);
      if (t == nullptr || !fits(*t) || t->scalar_type() != type) return false;
      to.in.push_back({borrowed(*t, {t->size(0), 1}, {1, 1}), Scalar(), {}});  // for [N, C, S]
    }
    return true;
  }
  bool channels_or(const Scalar& number, ScalarType type) {
    const auto* t = call.argument<Tensor>(at);
    if (t == nullptr) return false;
    if (t->defined()) return channels(1, type);
    ++at;
    return add(number);
  }
  bool number() {
    const auto* parameter = call.argument<Scalar>(at++);
    if (parameter == nullptr || parameter->isComplex()) return false;
    to.parameters[0] = *parameter;
    return true;
  }
  bool numbers() {
    const auto* parameters = call.argument<const Scalar*>(at++);
    if (parameters == nullptr) return false;
    to.has_parameters = *parameters != nullptr;
    if (to.has_parameters) std::copy_n(*parameters, 2, to.parameters);
    return true;
  }
  bool eps() {
    const auto* value = call.argument<double>(at++);
    if (value == nullptr) return false;
    to.parameters[0] = *value;
    return true;
  }
  // An argument of a core; undefined if the call has none there.
  Tensor given(std::size_t i) const {
    const auto* t = call.argument<Tensor>(i);
    return t != nullptr && t->defined() ? borrowed(*t, t->sizes(), t->strides()) : Tensor();
  }
  bool core() {
    const std::size_t which = to.formula->index, source_at = which == 0 ? 2 : 3;
    const auto* source = call.argument<Tensor>(source_at);
    if (source == nullptr || !fits(*source) || source->numel() >= kMaxElements) return false;
    for (std::size_t i = 0; i < call.count; ++i) {
      const auto* t = call.argument<Tensor>(i);
      if (t == nullptr || !t->defined()) continue;
      const ScalarType type = source->scalar_type();  // what belongs to channels or columns has the computed one
      if (t->device() != device || (t->dim() == 1 && t->scalar_type() != computed_type(type))) return false;
    }
    const auto* of_batch = which == 2 ? call.argument<bool>(9) : nullptr;
    const bool wants_input = which == 0 || call.argument<Tensor>(0)->defined();
    if (which == 1 && !wants_input) return false;
    if (which == 2 && !given(1).defined() && !given(2).defined() && !(*of_batch && wants_input)) return false;
    to.core = std::make_shared<const Core>(
        which == 0   ? layer_norm_core(given(0), given(1), given(2), given(3), given(4), *call.argument<double>(5))
        : which == 1 ? layer_norm_backward_core(given(0), given(1), given(2), given(3), given(4), given(5), given(6))
                     : batch_norm_backward_core(given(0), given(1), given(2), given(3), given(4), given(5), given(6),
                                                given(7), *call.argument<double>(8), *of_batch));
    to.out.tensor = to.core->sink;
    to.in.push_back({to.core->source, Scalar(), {}});
    return true;
  }
  bool all() {
    if (!out()) return false;
    const ScalarType type = computed_type(to.out.tensor.scalar_type());
    switch (to.formula->kind) {
      case FormulaKind::kUnary:
        return tensors(1) && numbers();
      case FormulaKind::kGradient:
        return tensors(2) && numbers();
      case FormulaKind::kBinary:
        return operands(2) && number();
      case FormulaKind::kComparison:
        return operands(2);
      case FormulaKind::kTernary:
        return operands(3) && number();
      case FormulaKind::kWhere:
        return tensors(1) && operands(2);
      case FormulaKind::kCopy:
        return tensors(1);
      case FormulaKind::kFill:
        return number();
      case FormulaKind::kNormalize:
        return tensors(1) && channels(2, type) && channels_or(1, type) && channels_or(0, type) && eps();
      case FormulaKind::kCore:
      case FormulaKind::kOther:
        break;
    }
    return false;
  }
};

}  // namespace

Tensor borrowed(const Tensor& t, IntArrayRef sizes, IntArrayRef strides) {
  const Storage& own = t.impl()->storage;
  return Tensor(IntrusivePtr<TensorImpl>(
      new TensorImpl(borrow_storage(own->data(), own->nbytes(), own->device(), nullptr, nullptr), t.dtype(), sizes,
                     strides, t.storage_offset())));
}

ScalarType computed_in(const QueuedCall& call) {
  ScalarType type = call.out.tensor.scalar_type();
  if (call.formula->kind == FormulaKind::kComparison)
    for (const QueuedArgument& in : call.in)
      if (!in.is_number()) type = in.tensor.scalar_type();
  return computed_type(type);
}

bool read_call(QueuedCall& to, const KernelCall& call, Device device) {
  Reader reader{to, call, device};
  const FormulaKind kind = to.formula->kind;
  // Generated kernels add in an order of their own, and have the scale of a normalisation rounded twice.
  if (reproducible() == Reproducible::kStrict && (kind == FormulaKind::kCore || kind == FormulaKind::kNormalize))
    return false;
  if (kind == FormulaKind::kCore) return reader.core();
  return reader.all() && reader.at == call.count && (to.formula->types >> static_cast<int>(computed_in(to)) & 1) != 0;
}

void run_alone(const QueuedCall& call) {
  if (call.core != nullptr) return call.core->alone();
  const Tensor& out = call.out.tensor;
  const Backend& b = backend(out);
  const std::size_t index = call.formula->index;
  const auto tensor = [&](std::size_t i) -> const Tensor& { return call.in[i].tensor; };
  const auto operand = [&](std::size_t i) {
    return call.in[i].is_number() ? Operand(call.in[i].number) : Operand(call.in[i].tensor);
  };
  const auto channels = [&](std::size_t i) {
    const Tensor& t = tensor(i);
    return t.defined() ? borrowed(t, {t.size(0)}, {1}) : Tensor();
  };
  const Scalar* parameters = call.has_parameters ? call.parameters : nullptr;
  switch (call.formula->kind) {
    case FormulaKind::kUnary:
      return b.unary.value[index](out, tensor(0), parameters);
    case FormulaKind::kGradient:
      return b.unary.gradient[index](out, tensor(0), tensor(1), parameters);
    case FormulaKind::kBinary:
      return b.binary.value[index](out, operand(0), operand(1), call.parameters[0]);
    case FormulaKind::kComparison:
      return b.comparison.value[index](out, operand(0), operand(1));
    case FormulaKind::kTernary:
      return b.ternary.value[index](out, operand(0), operand(1), operand(2), call.parameters[0]);
    case FormulaKind::kWhere:
      return b.ternary.where(out, tensor(0), operand(1), operand(2));
    case FormulaKind::kCopy:
      return b.copy.copy(out, tensor(0));
    case FormulaKind::kFill:
      return b.copy.fill(out, call.parameters[0]);
    case FormulaKind::kNormalize:
      return b.batch_norm.normalize(out, tensor(0), channels(1), channels(2), channels(3), channels(4),
                                    call.parameters[0].toDouble());
    case FormulaKind::kCore:
    case FormulaKind::kOther:
      break;
  }
}

}  // namespace tandem::cuda_impl
