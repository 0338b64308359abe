// Numbers in archives.
#include "tandem/datasets/sampler_state.h"

#include "tandem/nn/files/archive.h"

namespace tandem::data::samplers {

void write_state(serialize::OutputArchive& archive, const std::string& key, uint64_t value) {
  Tensor scalar = empty_raw({}, kLong, Device(kCPU, 0));
  *scalar.data_ptr<int64_t>() = static_cast<int64_t>(value);
  archive.write(key, scalar, /*is_buffer=*/true);
}

std::optional<uint64_t> try_read_state(serialize::InputArchive& archive, const std::string& key) {
  Tensor stored;
  if (!archive.try_read(key, stored, /*is_buffer=*/true)) return std::nullopt;
  check(stored.dtype() == kLong && stored.numel() == 1, "sampler: expected one int64 as '", key,
        "' of the loaded state, got ", stored);
  return static_cast<uint64_t>(*stored.cpu().data_ptr<int64_t>());
}

uint64_t read_state(serialize::InputArchive& archive, const std::string& key) {
  const std::optional<uint64_t> value = try_read_state(archive, key);
  check(value.has_value(), "sampler: the loaded state has no '", key,
        "'; load an archive that this kind of sampler has saved");
  return *value;
}

uint64_t read_state(serialize::InputArchive& archive, const std::string& key, uint64_t missing) {
  return try_read_state(archive, key).value_or(missing);
}

}  // namespace tandem::data::samplers
