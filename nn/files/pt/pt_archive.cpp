// What the library looks for when an archive is in PyTorch's format.
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt_plugin.h"

namespace tandem::serialize {
namespace {

OutputArchive read_archive(const std::string& name, const void* data, std::size_t bytes,
                           const optional<Device>& device) {
  const IValue value = data == nullptr ? load_pt(name, device) : parse_pt(data, bytes, name, device);
  check(value.isGenericDict(), name, ": contains a value of type ", value.type_name(),
        ", not an archive; read it with load_pt or pickle_load");
  OutputArchive out;
  for (const auto& entry : value.toGenericDict()) {
    check(entry.key().isString(), name, ": the name of an entry has type ", entry.key().type_name(), ", not String");
    out.write(entry.key().toStringRef(), entry.value());
  }
  return out;
}

}  // namespace
}  // namespace tandem::serialize

extern "C" const tandem::serialize::PtPlugin tandem_pt_plugin;
const tandem::serialize::PtPlugin tandem_pt_plugin{&tandem::serialize::read_pt_archive,
                                                   &tandem::serialize::read_archive};
