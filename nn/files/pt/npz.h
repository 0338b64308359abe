// NumPy's .npz files: several arrays by name, as numpy.savez and numpy.savez_compressed write them. In the library
// tandem_pt, which needs libzip; nn/files/npy.h has .npy.
#pragma once
#include <string>

#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {

/// The arrays, by their names without ".npy". Throws Error, naming `path`, when the file is missing, damaged
/// (TANDEM_IGNORE_CHECKSUMS=1 ignores checksums) or has an entry that is no array, and as load_npy does.
OrderedDict<std::string, Tensor> load_npz(const std::string& path, const optional<Device>& device = nullopt);
/// The same for a file in memory; `name` replaces the path in messages.
OrderedDict<std::string, Tensor> parse_npz(const void* data, std::size_t bytes, const std::string& name);

/// Writes a file that numpy.load reads; compressed, it takes longer. It appears complete or not at all. Throws Error on
/// failure, and for bfloat16, which NumPy lacks.
void save_npz(const std::string& path, const OrderedDict<std::string, Tensor>& arrays, bool compressed = false);

}  // namespace tandem::serialize
