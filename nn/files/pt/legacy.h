// The format of torch.save before PyTorch 1.6, in which many weights are published.
// Internal to the sources of this folder.
//
//   a pickle    the magic number            a pickle    the keys of the storages
//   a pickle    the version, 1001           for each    8 bytes number of elements, little-endian; the elements
//   a pickle    properties of the machine
//   a pickle    the value
#pragma once
#include <string>
#include <string_view>

#include "tandem/autograd/ivalue.h"

namespace tandem::serialize::pt {

/// The value of a file with a legacy_start(). Throws Error, naming `file`, as parse_pt does.
IValue parse_legacy(std::string_view bytes, const std::string& file, const optional<Device>& device);

}  // namespace tandem::serialize::pt
