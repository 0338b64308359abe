// The translation of a kernel, by its name.
#include <string_view>
#include <unordered_map>

#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {

Translation find_translation(const KernelCall& call) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Translation> all;
    for (const Translations* list : {&pointwise_translations(), &reduce_translations(), &index_translations(),
                                     &network_translations(), &recurrent_translations()})
      for (const NamedTranslation& each : *list) all[each.kernel] = each.translate;
    return all;
  }();
  const auto found = table.find(call.name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace tandem::onnx::exporter
