// Samplers keep numbers in archives as int64 scalars, as LibTorch does.
#pragma once
#include <string>

#include "tandem/datasets/index_samplers.h"

namespace tandem::data::samplers {

void write_state(serialize::OutputArchive& archive, const std::string& key, uint64_t value);
/// nullopt if the key is missing. Throws Error unless the tensor is one int64.
std::optional<uint64_t> try_read_state(serialize::InputArchive& archive, const std::string& key);
/// Also throws Error if the key is missing.
uint64_t read_state(serialize::InputArchive& archive, const std::string& key);
/// `missing` if the key is missing.
uint64_t read_state(serialize::InputArchive& archive, const std::string& key, uint64_t missing);

}  // namespace tandem::data::samplers
