// IDX, the file format of MNIST and Fashion-MNIST (described by LeCun, Cortes and Burges on the MNIST page).
//
//   0 0 type rank | rank sizes, 32 bits each, big-endian | the elements, row-major, big-endian
//
// Files may be plain or gzipped, whatever their names. All rules of the format are checked. Sizes are checked
// against the file before memory is allocated, so neither a wrong header nor a gzip bomb causes a huge
// allocation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::data {

enum class IdxType : uint8_t {
  kUInt8 = 0x08,
  kInt8 = 0x09,
  kInt16 = 0x0B,
  kInt32 = 0x0C,
  kFloat32 = 0x0D,
  kFloat64 = 0x0E,
};

/// Bytes of one element.
int idx_item_size(IdxType type);

struct IdxHeader {
  IdxType type = IdxType::kUInt8;
  std::vector<int64_t> sizes;  ///< 1 to kMaxDims of them, each 0 to 2^32 - 1
  int64_t elements = 0;        ///< product of sizes
  std::size_t bytes = 0;       ///< of all elements; fits an int64_t
};

/// Returns memory for header.bytes bytes of elements, aligned for the type.
using IdxAllocate = FunctionRef<void*(const IdxHeader& header)>;

class GzInput;

/// Reads a whole IDX file; calls `allocate` once, after checking the header. Elements are returned in the
/// machine's byte order. Throws Error that names the file and what is wrong.
IdxHeader read_idx(GzInput& input, IdxAllocate allocate);
IdxHeader read_idx(const std::string& path, IdxAllocate allocate);

/// Writes an IDX file (atomically), gzipped if `path` ends in ".gz". `elements` points to product(sizes)
/// elements of `type` in the machine's byte order. Throws Error on a size outside 0 to 2^32 - 1, and on no or
/// too many sizes.
void write_idx(const std::string& path, IdxType type, const std::vector<int64_t>& sizes, const void* elements);

/// Reads a whole IDX file into a CPU tensor with its sizes and type. Throws Error as above.
Tensor read_idx(const std::string& path);
/// Writes a tensor of any device and strides. Throws Error unless its dtype is uint8, int8, int16, int32,
/// float32 or float64.
void write_idx(const std::string& path, const Tensor& tensor);

}  // namespace tandem::data
