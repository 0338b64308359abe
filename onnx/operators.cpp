#include "tandem/onnx/operators.h"

#include <map>
#include <memory>

namespace tandem::onnx {

bool folds_ahead(const Operator& op) {
  if (op.folding == Folding::kNever) return false;
  for (const auto family : {index_operators(), math_operators(), reduce_operators(), shape_operators()})
    if (&op >= family.data() && &op < family.data() + family.size()) return true;
  return false;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  static const auto* all = [] {
    auto table = std::make_unique<std::map<std::pair<std::string_view, std::string_view>, const Operator*>>();
    for (const auto family :
         {attention_operators(), control_operators(),  convolution_operators(),   fused_operators(),
          index_operators(),     linear_operators(),   loss_operators(),          math_operators(),
          microsoft_operators(), network_operators(),  normalization_operators(), pooling_operators(),
          quantized_operators(), random_operators(),   recurrent_operators(),     reduce_operators(),
          resize_operators(),    sequence_operators(), shape_operators(),         signal_operators(),
          tandem_operators(),    vision_operators()})
      for (const Operator& op : family) {
        const bool added =
            table->emplace(std::pair(std::string_view(op.domain), std::string_view(op.name)), &op).second;
        check(added, "onnx: two operators have the name ", op.name);
      }
    return table.release();
  }();
  const auto found = all->find({domain, name});
  return found == all->end() ? nullptr : found->second;
}

}  // namespace tandem::onnx
