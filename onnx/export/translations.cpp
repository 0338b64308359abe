// The translation of a kernel, by its name.
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {

Translation find_translation(const KernelCall& call) {
  static const Translations all = [] {
    Translations joined;
    for (const auto family : {pointwise_translations, reduce_translations, index_translations, network_translations,
                              recurrent_translations})
      joined.merge(family());
    return joined;
  }();
  const auto found = all.find(call.name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace tandem::onnx::exporter
