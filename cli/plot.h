// Drawings in the terminal as text: lines over epochs, gray pictures, bars of probabilities, tables.
#pragma once
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tandem/cli/image.h"
#include "tandem/cli/terminal.h"

namespace tandem::cli {

struct LinePlot {
  std::string title;
  std::string x_label = "epoch";
  std::vector<double> values;                 ///< at x = 1, 2, …; what is not finite leaves a gap
  double least = -INFINITY, most = INFINITY;  ///< no room is given beyond these
  int height = 12;                            ///< rows of the drawing itself
  int most_width = 72;                        ///< columns at most, whatever the terminal has
};

/// The plot with title, axes and labels, each line ended: braille where Unicode can be shown, else ASCII.
std::string line_plot(const LinePlot& plot, const Terminal& terminal);

/// A gray picture: two pixels a character cell in 2^24 or 26 grays, or, without colours, a ramp of characters
/// (bright is dense). Scaled down where it is wider than the terminal or than `most_columns`.
std::string picture(const Image& image, const Terminal& terminal, int most_columns = 56);

/// One line each: name, bar, "97.31 %".
std::string probability_bars(const std::vector<std::pair<std::string, double>>& probabilities,
                             const Terminal& terminal);

/// Texts in columns, those of a column all left or all right.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string head;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns);
  /// As many cells as columns. Throws Error.
  void add_row(std::vector<std::string> cells);
  /// A line across before the next row.
  void add_rule();
  std::string text(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace tandem::cli
