// The arguments of a kernel call, for translations.
#pragma once
#include <string_view>
#include <unordered_map>

#include "tandem/core/error.h"
#include "tandem/onnx/export/recorder.h"

namespace tandem::onnx::exporter {

/// Argument `i` of a call. Throws Error if it has another type: then a translation does not fit its kernel.
template <class T>
const T& argument(const KernelCall& call, std::size_t i) {
  const T* value = call.argument<T>(i);
  check(value != nullptr, "onnx::save: argument ", i, " of the kernel ", call.name, " is of an unknown type");
  return *value;
}
inline const Tensor& tensor(const KernelCall& call, std::size_t i) { return argument<Tensor>(call, i); }
inline int64_t integer(const KernelCall& call, std::size_t i) { return argument<int64_t>(call, i); }
inline bool flag(const KernelCall& call, std::size_t i) { return argument<bool>(call, i); }
inline double real(const KernelCall& call, std::size_t i) { return argument<double>(call, i); }
inline Ints sizes_of(const Tensor& t) { return {t.sizes().begin(), t.sizes().end()}; }

/// By the name of the kernel; one table per family of kernels.
using Translations = std::unordered_map<std::string_view, Translation>;
Translations pointwise_translations(), reduce_translations(), index_translations(), network_translations(),
    recurrent_translations();

}  // namespace tandem::onnx::exporter
