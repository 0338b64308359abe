// NumPy's .npy files: one tensor per file. nn/files/pt/npz.h has .npz, files with several.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem::serialize {

/// The array of a file of numpy.save, of versions 1.0 to 3.0, with its dtype (bool, uint8, int8 to int64, float16 to
/// float64, complex). In Fortran order the tensor has the same strides as the array; big-endian elements are converted.
/// Throws Error, naming `path`, when the file is missing, is truncated or violates the format, and for other dtypes,
/// among them Python objects. Memory is allocated only after the sizes have been checked against the file size.
Tensor load_npy(const std::string& path, const optional<Device>& device = nullopt);
/// The same for a file in memory; `name` replaces the path in messages.
Tensor parse_npy(const void* data, std::size_t bytes, const std::string& name);

/// Writes a file that numpy.load reads, row-major. It appears complete or not at all. Throws Error on failure, and for
/// bfloat16, which NumPy lacks.
void save_npy(const std::string& path, const Tensor& tensor);
/// The contents of such a file.
std::string npy_bytes(const Tensor& tensor);

}  // namespace tandem::serialize
