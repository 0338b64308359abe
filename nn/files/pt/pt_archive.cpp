// What the library looks for when an archive is in PyTorch's format.
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt_plugin.h"

namespace tandem::serialize {
namespace {

// An archive gives each tensor of a value a name that begins with the value's: a few bytes must not become gigabytes.
constexpr std::size_t kMaxNameBytes = std::size_t{1} << 28;

std::size_t tensors_in(const IValue& value) {
  std::size_t count = value.isTensor() ? 1 : 0;
  if (value.isTensorList()) return value.toTensorVector().size();
  if (value.isTuple())
    for (const IValue& element : value.toTupleRef().elements()) count += tensors_in(element);
  if (value.isGenericList())
    for (const IValue& element : value.toListRef()) count += tensors_in(element);
  if (value.isGenericDict())
    for (const auto& entry : value.toGenericDict()) count += tensors_in(entry.value());
  return count;
}

OutputArchive read_archive(const std::string& name, const void* data, std::size_t bytes,
                           const optional<Device>& device) {
  const IValue value = data == nullptr ? load_pt(name, device) : parse_pt(data, bytes, name, device);
  check(value.isGenericDict(), name, ": contains a value of type ", value.type_name(),
        ", not an archive; read it with load_pt or pickle_load");
  OutputArchive out;
  std::size_t name_bytes = 0;
  for (const auto& entry : value.toGenericDict()) {
    check(entry.key().isString(), name, ": the name of an entry has type ", entry.key().type_name(), ", not string");
    const std::string& key = entry.key().toStringRef();
    name_bytes += key.size() * tensors_in(entry.value());
    check(name_bytes <= kMaxNameBytes, name, ": the names of its tensors would have more than ", kMaxNameBytes,
          " bytes");
    out.write(key, entry.value());
  }
  return out;
}

}  // namespace
}  // namespace tandem::serialize

extern "C" const tandem::serialize::PtPlugin tandem_pt_plugin;
const tandem::serialize::PtPlugin tandem_pt_plugin{&tandem::serialize::read_pt_archive,
                                                   &tandem::serialize::read_archive};
