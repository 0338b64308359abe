// Text graphics for the terminal: line plots over epochs, gray images, probability bars, tables.
#pragma once
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tandem/cli/data/image.h"
#include "tandem/cli/draw/terminal.h"

namespace tandem::cli {

struct LinePlot {
  std::string title;
  std::string x_label = "epoch";
  std::vector<double> values;                 ///< at x = 1, 2, …; values that are not finite leave gaps
  double least = -INFINITY, most = INFINITY;  ///< the axis is not padded beyond these
  int height = 12;                            ///< rows of the plot area
  int max_width = 72;                         ///< maximum columns, even on a wider terminal
};

/// The plot with title, axes and labels, every line terminated: in braille if the terminal shows Unicode,
/// else in ASCII.
std::string line_plot(const LinePlot& plot, const Terminal& terminal);

/// A gray image: two pixels per character cell in 2^24 or 26 grays or, without colours, a ramp of characters
/// (bright is dense). Scaled down if it is wider than the terminal or `max_columns`.
std::string picture(const Image& image, const Terminal& terminal, int max_columns = 56);

/// One line per entry: name, bar, "97.31 %".
std::string probability_bars(const std::vector<std::pair<std::string, double>>& probabilities,
                             const Terminal& terminal);

/// A text table; each column is left- or right-aligned.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string head;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns);
  /// Adds a row with one cell per column. Throws Error on another number of cells.
  void add_row(std::vector<std::string> cells);
  /// Draws a horizontal line before the next row.
  void add_rule();
  std::string text(const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace tandem::cli
