// Images, probability bars and tables as text.
#include "tandem/cli/draw/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

std::string repeat(const char* text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// Parameters of an SGR sequence that sets a gray: `ground` is 38 (foreground) or 48 (background).
std::string gray_code(int ground, int gray, int colors) {
  const std::string head = std::to_string(ground);
  if (colors > 256) {
    const std::string level = std::to_string(gray);
    return head + ";2;" + level + ";" + level + ";" + level;
  }
  // The 256-colour palette: black 16, grays 8 + 10 i at 232 + i for i = 0 … 23, white 231.
  const int index = gray < 4 ? 16 : gray > 246 ? 231 : 232 + std::clamp((gray - 3) / 10, 0, 23);
  return head + ";5;" + std::to_string(index);
}

int pixel(const Image& image, int x, int y) {
  if (y >= image.height) return 0;
  return image
      .pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x)];
}

std::string half_block_row(const Image& image, int y, int colors) {
  std::string out;
  for (int x = 0; x < image.width; ++x)
    out += "\x1b[" + gray_code(38, pixel(image, x, y), colors) + ";" + gray_code(48, pixel(image, x, y + 1), colors) +
           "m▀";
  return out + "\x1b[0m\n";
}

std::string ramp_row(const Image& image, int y) {
  static constexpr char kRamp[] = " .:-=+*#%@";
  std::string out;
  for (int x = 0; x < image.width; ++x) {
    const int below = y + 1 < image.height ? pixel(image, x, y + 1) : pixel(image, x, y);
    out += kRamp[(pixel(image, x, y) + below) * 10 / 512];
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + "\n";
}

// A bar with a resolution of an eighth of a character.
std::string block_bar(double share, int width, bool unicode) {
  if (!unicode) return repeat("#", static_cast<int>(std::lround(share * width)));
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(share * width * 8));
  return repeat("█", eighths / 8) + kEighths[eighths % 8];
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::string picture(const Image& image, const Terminal& terminal, int max_columns) {
  Image gray = to_gray(image);
  const int columns = std::max(1, std::min(terminal.columns - 1, max_columns));
  if (gray.width > columns)
    gray =
        resize(gray, columns, std::max(1, static_cast<int>(static_cast<int64_t>(gray.height) * columns / gray.width)));
  const bool blocks = terminal.unicode && terminal.colors >= 256;
  std::string out;
  for (int y = 0; y < gray.height; y += 2) out += blocks ? half_block_row(gray, y, terminal.colors) : ramp_row(gray, y);
  return out;
}

std::string probability_bars(const std::vector<std::pair<std::string, double>>& probabilities,
                             const Terminal& terminal) {
  int name_width = 0;
  for (const auto& [name, share] : probabilities) name_width = std::max(name_width, display_width(name));
  name_width = std::min(name_width, std::max(terminal.columns / 2, 8));
  const int bar_width = std::clamp(terminal.columns - name_width - 16, 5, 40);
  std::string out;
  for (const auto& [name, share] : probabilities) {
    const double safe = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
    char percent[32];
    std::snprintf(percent, sizeof percent, "%6s %%", fixed(share * 100, 2).c_str());
    const std::string bar = block_bar(safe, bar_width, terminal.unicode);
    out += "  " + padded(fit(printable(name), name_width), name_width, false) + "  " +
           (bar.empty() ? "" : styled(bar, "36", terminal.colors)) +
           std::string(static_cast<std::size_t>(std::max(0, bar_width - display_width(bar))), ' ') + "  " + percent +
           "\n";
  }
  return out;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  check(cells.size() == columns_.size(), "Table: ", cells.size(), " cells for ", columns_.size(), " columns");
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::string Table::text(const Terminal& terminal) const {
  std::vector<int> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int width = display_width(columns_[c].head);
    for (const auto& row : rows_)
      if (!row.empty()) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  int total = 2 * static_cast<int>(widths.size() - 1);
  for (int width : widths) total += width;
  const std::string rule = repeat(terminal.unicode ? "─" : "-", total) + "\n";
  const auto line = [&](auto&& cell_of) {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += (c == 0 ? "" : "  ") + padded(cell_of(c), widths[c], columns_[c].align == Align::kRight);
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
  };
  const std::string head = line([&](std::size_t c) { return columns_[c].head; });
  std::string out = styled(head, "1", terminal.colors) + "\n" + rule;
  for (const auto& row : rows_) out += row.empty() ? rule : line([&](std::size_t c) { return row[c]; }) + "\n";
  return out;
}

}  // namespace tandem::cli
