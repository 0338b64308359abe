// The table of tandem summary.
#pragma once
#include <string>

#include "tandem/cli/commands/layer_work.h"
#include "tandem/cli/draw/plot.h"

namespace tandem::cli {

class LayerTable {
 public:
  struct Row {
    std::string name, kind, sizes;
    int64_t parameters = 0;
    double bytes = 0;  ///< of the output
    Work work{};
  };
  /// False if the operations do not fit in 63 bits.
  [[nodiscard]] bool add(const Row& row);
  /// Prints the table and the totals. `inputs`: over how many the work was counted.
  void print(int64_t inputs = 1);

 private:
  using Align = Table::Align;
  Table table_{{{"layer"},
                {"kind"},
                {"output"},
                {"parameters", Align::kRight},
                {"output bytes", Align::kRight},
                {"operations", Align::kRight}}};
  int64_t parameters_ = 0, operations_ = 0, multiply_adds_ = 0;
  double bytes_ = 0;
};

}  // namespace tandem::cli
