// Printing of tensors and small types, in LibTorch's format:
//
//   std::cout << arange(4).view({2, 2});     0  1
//                                            2  3
//                                           [ CPULongType{2,2} ]
#pragma once
#include <ostream>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"
#include "tandem/core/half.h"

namespace tandem {

class Tensor;
class Scalar;
class TensorOptions;
enum class Layout : int8_t;
enum class MemoryFormat : int8_t;

/// Prints lines of at most `line_size` columns: wide matrices are split into groups of columns,
/// higher-dimensional tensors into matrices. Throws Error if copying to the host does.
std::ostream& print(std::ostream& out, const Tensor& t, int64_t line_size = 80);
/// Prints to std::cout.
void print(const Tensor& t, int64_t line_size = 80);
std::ostream& operator<<(std::ostream& out, const Tensor& t);
std::ostream& operator<<(std::ostream& out, const Device& device);
std::ostream& operator<<(std::ostream& out, DeviceType type);
std::ostream& operator<<(std::ostream& out, ScalarType type);
/// The name of the C++ type.
std::ostream& operator<<(std::ostream& out, TypeMeta type);
std::ostream& operator<<(std::ostream& out, IntArrayRef sizes);
template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> values) {
  out << '[';
  for (std::size_t i = 0; i < values.size(); ++i) (i == 0 ? out : out << ", ") << values[i];
  return out << ']';
}
template <HalfNumber T>
std::ostream& operator<<(std::ostream& out, T value) {
  return out << static_cast<float>(value);
}
std::ostream& operator<<(std::ostream& out, const Scalar& value);
std::ostream& operator<<(std::ostream& out, Layout layout);
std::ostream& operator<<(std::ostream& out, MemoryFormat format);
std::ostream& operator<<(std::ostream& out, const TensorOptions& options);

}  // namespace tandem
