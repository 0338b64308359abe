// The header of NumPy's .npy files: parsing and formatting (numpy.lib.format describes it).
//
//   6 bytes        "\x93NUMPY"
//   2 bytes        version: 1.0, 2.0 or 3.0
//   2 or 4 bytes   header length N, little-endian: 2 in version 1.0
//   N bytes        a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//   the rest       the elements
#pragma once
#include <string>

#include "tandem/core/dims.h"
#include "tandem/core/dtype.h"
#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::serialize {

struct NpyHeader {
  ScalarType dtype = kFloat;
  bool big_endian = false;
  bool fortran = false;  ///< the first index varies fastest
  Dims sizes;
  uint64_t bytes = 0;   ///< of the elements
  uint64_t offset = 0;  ///< of the elements in the file
};

/// Parses the header of a file of `file_bytes` bytes; `read(to, bytes)` reads the next bytes of it. Throws Error naming
/// `file` when the format is violated, when the file does not have exactly the bytes that the header describes, and for
/// elements that Tandem lacks, among them Python objects, which only Python can unpickle.
NpyHeader read_npy_header(FunctionRef<void(void* to, std::size_t bytes)> read, uint64_t file_bytes,
                          const std::string& file);
/// Everything before the elements of a row-major tensor; a multiple of 64 bytes, as NumPy writes it.
/// Throws Error for bfloat16.
std::string format_npy_header(ScalarType dtype, IntArrayRef sizes);

/// A tensor on the CPU for the elements, which go to its memory as they are in the file.
Tensor npy_tensor(const NpyHeader& header);
/// Swaps bytes where the file's order is not the machine's.
/// Throws Error naming `file` for a bool that is neither 0 nor 1.
void finish_npy(const NpyHeader& header, const Tensor& tensor, const std::string& file);

}  // namespace tandem::serialize
