#include "tandem/cli/commands/layer_table.h"

#include <cstdio>

namespace tandem::cli {

bool LayerTable::add(const Row& row) {
  table_.add_row({row.name, row.kind, row.sizes, row.parameters == 0 ? "" : with_commas(row.parameters),
                  byte_size(row.bytes), row.kind.empty() ? "" : with_commas(row.work.operations)});
  parameters_ += row.parameters;
  bytes_ += row.bytes;
  multiply_adds_ += row.work.multiply_adds;
  return !__builtin_add_overflow(operations_, row.work.operations, &operations_);
}

void LayerTable::print(int64_t inputs) {
  table_.add_rule();
  table_.add_row({"total", "", "", with_commas(parameters_), byte_size(bytes_), with_commas(operations_)});
  std::fputs(table_.text(detect_terminal()).c_str(), stdout);
  std::printf("%s of parameters; operations count the forward pass, a training step has about three times as many\n",
              byte_size(static_cast<double>(4 * parameters_)).c_str());
  std::printf("%s multiply-adds per input in convolutions, linear layers and attention\n",
              with_commas(multiply_adds_ / inputs).c_str());
}

}  // namespace tandem::cli
