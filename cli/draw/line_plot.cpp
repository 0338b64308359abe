// line_plot draws on a canvas of dots: a braille cell holds 2 x 4 dots, an ASCII cell one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "tandem/cli/draw/axis.h"
#include "tandem/cli/draw/plot.h"

namespace tandem::cli {
namespace {

class Canvas {
 public:
  Canvas(int columns, int rows, bool braille)
      : dots_x_(braille ? 2 : 1), dots_y_(braille ? 4 : 1), columns_(columns), rows_(rows), braille_(braille) {
    cells_.resize(static_cast<std::size_t>(columns * rows));
  }
  int width() const { return columns_ * dots_x_; }
  int height() const { return rows_ * dots_y_; }
  int row_of(int y) const { return y / dots_y_; }
  int column_of(int x) const { return x / dots_x_; }

  void dot(int x, int y, bool point) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    // The bits of a braille cell: dots 1 2 3 7 in the left column, 4 5 6 8 in the right one.
    static constexpr uint8_t kBits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    uint8_t& cell = cells_[static_cast<std::size_t>(y / dots_y_ * columns_ + x / dots_x_)];
    if (braille_)
      cell |= kBits[x % 2][y % 4];
    else
      cell = point ? 2 : std::max<uint8_t>(cell, 1);
  }

  void line(int x0, int y0, int x1, int y1) {  // Bresenham
    const int dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0);
    const int step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1;
    for (int error = dx + dy;;) {
      dot(x0, y0, false);
      if (x0 == x1 && y0 == y1) return;
      const int twice = 2 * error;
      if (twice >= dy) error += dy, x0 += step_x;
      if (twice <= dx) error += dx, y0 += step_y;
    }
  }

  std::string row(int y) const {
    std::string out;
    for (int x = 0; x < columns_; ++x) {
      const uint8_t cell = cells_[static_cast<std::size_t>(y * columns_ + x)];
      if (!braille_) {
        out += " .*"[cell];
      } else if (cell == 0) {
        out += ' ';
      } else {  // U+2800 + cell, in UTF-8
        out += '\xE2';
        out += static_cast<char>(0xA0 + (cell >> 6));
        out += static_cast<char>(0x80 + (cell & 0x3F));
      }
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
  }

 private:
  int dots_x_, dots_y_, columns_, rows_;
  bool braille_;
  std::vector<uint8_t> cells_;
};

// The first of `count` points is at the left end, the last at the right end; a single point is in the middle.
int dot_x(int index, int count, int width) {
  return count <= 1 ? width / 2 : static_cast<int>(std::lround(static_cast<double>(index) * (width - 1) / (count - 1)));
}

int dot_y(double value, const Axis& axis, int height) {
  return static_cast<int>(std::lround((axis.high - value) / (axis.high - axis.low) * (height - 1)));
}

void draw(const std::vector<double>& values, const Axis& axis, Canvas& canvas) {
  const int count = static_cast<int>(values.size());
  for (int i = 0; i < count; ++i) {
    const double value = values[static_cast<std::size_t>(i)];
    if (!can_be_drawn(value)) continue;
    const int x = dot_x(i, count, canvas.width()), y = dot_y(value, axis, canvas.height());
    if (i > 0 && can_be_drawn(values[static_cast<std::size_t>(i - 1)]))
      canvas.line(dot_x(i - 1, count, canvas.width()),
                  dot_y(values[static_cast<std::size_t>(i - 1)], axis, canvas.height()), x, y);
    canvas.dot(x, y, true);
  }
}

// The axis line with its ticks, and the numbers below it.
std::string x_axis(int count, const std::string& label, const Canvas& canvas, int columns, const Terminal& terminal) {
  std::vector<std::string> line(static_cast<std::size_t>(columns), terminal.unicode ? "─" : "-");
  std::string numbers(static_cast<std::size_t>(columns) + 8, ' ');
  std::size_t free_from = 0;
  for (int tick : count_ticks(count, std::max(columns / 5, 2))) {
    const int column = canvas.column_of(dot_x(tick - 1, count, canvas.width()));
    line[static_cast<std::size_t>(column)] = terminal.unicode ? "┬" : "+";
    const std::string text = std::to_string(tick);
    const std::size_t at = static_cast<std::size_t>(std::max(0, column - static_cast<int>(text.size() - 1) / 2));
    if (at < free_from) continue;
    numbers.replace(at, text.size(), text);
    free_from = at + text.size() + 1;
  }
  while (!numbers.empty() && numbers.back() == ' ') numbers.pop_back();
  std::string out = terminal.unicode ? "└" : "+";
  for (const std::string& cell : line) out += cell;
  return out + "\n" + numbers + "  " + label;
}

}  // namespace

std::string line_plot(const LinePlot& plot, const Terminal& terminal) {
  const int rows = std::max(plot.height, 3);
  const Axis axis = make_axis(plot.values, rows / 2 + 1, {plot.least, plot.most});
  int label_width = 0;
  for (double tick : axis.ticks) label_width = std::max(label_width, static_cast<int>(axis.label(tick).size()));
  const int room = std::min(terminal.columns - 1, plot.max_width);
  // Left: labels, a space and the axis. Right: the x label, after the last number.
  const int columns = std::max(room - label_width - 2 - static_cast<int>(plot.x_label.size()) - 2, 10);
  Canvas canvas(columns, rows, terminal.unicode);
  draw(plot.values, axis, canvas);

  std::vector<std::string> labels(static_cast<std::size_t>(rows));
  for (double tick : axis.ticks)
    labels[static_cast<std::size_t>(canvas.row_of(dot_y(tick, axis, canvas.height())))] = axis.label(tick);
  std::string out = plot.title.empty() ? "" : styled(plot.title, "1", terminal.colors) + "\n";
  for (int row = 0; row < rows; ++row) {
    const std::string& label = labels[static_cast<std::size_t>(row)];
    const char* stem = label.empty() ? (terminal.unicode ? "│" : "|") : (terminal.unicode ? "┤" : "+");
    out += std::string(static_cast<std::size_t>(label_width) - label.size(), ' ') + label + " " + stem;
    const std::string drawn = canvas.row(row);
    out += (drawn.empty() ? "" : styled(drawn, "36", terminal.colors)) + "\n";
  }
  const std::string indent(static_cast<std::size_t>(label_width) + 1, ' ');
  std::string below = x_axis(static_cast<int>(plot.values.size()), plot.x_label, canvas, columns, terminal);
  below.insert(below.find('\n') + 1, indent + " ");
  return out + indent + below + "\n";
}

}  // namespace tandem::cli
