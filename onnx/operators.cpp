#include "tandem/onnx/operators.h"

#include <map>
#include <memory>

#include "tandem/onnx/elementwise.h"

namespace tandem::onnx {

const Operator* find_operator(std::string_view domain, std::string_view name) {
  using Table = std::map<std::pair<std::string_view, std::string_view>, Operator>;
  static const Table& all = *[] {
    auto table = std::make_unique<Table>();
    const auto add = [&](const char* of, Operators family, bool folds) {
      for (Operator& op : family) {
        op.folds_ahead = folds && !op.grows;
        check(table->try_emplace({of, op.name}, op).second, "onnx: two operators have the name ", op.name);
      }
    };
    // Unless they grow, results of these are no larger than the product of their inputs, whatever the attributes say.
    for (const auto family : {index_operators, math_operators, reduce_operators, shape_operators})
      add("", family(), true);
    for (const auto family :
         {attention_operators, control_operators, convolution_operators, linear_operators, loss_operators,
          network_operators, normalization_operators, pooling_operators, quantized_operators, random_operators,
          recurrent_operators, resize_operators, sequence_operators, signal_operators, vision_operators})
      add("", family(), false);
    add("ai.onnx.preview", preview_operators(), false);
    add("com.microsoft", microsoft_operators(), false);
    add(kFused, fused_operators(), false);
    add(kDomain, tandem_operators(), false);
    return table.release();  // lives to the end, whatever other statics do
  }();
  const auto found = all.find({domain, name});
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace tandem::onnx
