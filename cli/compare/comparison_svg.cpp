// One row per list: on the left the seconds per epoch with their range, on the right a step's phases, stacked.
#include <algorithm>

#include "tandem/cli/compare/comparison.h"
#include "tandem/cli/draw/axis.h"
#include "tandem/cli/draw/svg.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

constexpr int kWidth = 960, kTop = 112, kRow = 68, kBar = 24;
constexpr double kLeft = 196, kPanel = 300, kRight = 588;

constexpr const char* kStyle = R"(    .spread { stroke: #1f2328; stroke-width: 1.5; }
    .bar { fill: #8c959f; }
    .p0 { fill: #8250df; } .p1 { fill: #d4a72c; } .p2 { fill: #0969da; } .p3 { fill: #54aeff; }
    .p4 { fill: #cf222e; } .p5 { fill: #2da44e; } .p6 { fill: #e16f24; } .p7 { fill: #c4ccd4; }
    .p8 { fill: #6e7781; }
)";
constexpr const char* kDark = R"(      .spread { stroke: #f0f6fc; }
      .bar { fill: #656c76; }
      .p7 { fill: #3d444d; }
)";

std::string box(double x, double y, double width, double height, const std::string& css) {
  return concat("  <rect class=\"", css, "\" x=\"", svg_number(x), "\" y=\"", svg_number(y), "\" width=\"",
                svg_number(width), "\" height=\"", svg_number(height), "\"/>\n");
}

double row_top(std::size_t row) { return kTop + 18 + kRow * static_cast<double>(row); }

struct Panel {
  double left;
  Axis axis;
  double x(double value) const { return left + kPanel * (value - axis.low) / (axis.high - axis.low); }
};

// Axis, ticks and grid lines behind the rows.
Panel make_panel(double left, const std::string& head, double most, std::size_t rows, std::string& out) {
  const Panel panel{left, make_axis({0, most > 0 ? most : 1}, 7, {0, INFINITY})};
  const double bottom = row_top(rows) - 8;
  out += svg_text(left, kTop - 20, "start", "head", head);
  for (const double tick : panel.axis.ticks) {
    out += svg_line(panel.x(tick), kTop, panel.x(tick), bottom, "grid");
    out += svg_text(panel.x(tick), bottom + 18, "middle", "tick", panel.axis.label(tick));
  }
  return panel;
}

std::string epoch_bar(const Comparison& c, const Measured& run, const Panel& panel, double y) {
  const double end = panel.x(run.median()), middle = y + kBar / 2.0;
  std::string out = box(panel.left, y, end - panel.left, kBar, "bar");
  if (run.seconds.size() > 1) {
    const double least = panel.x(run.least()), most = panel.x(run.most());
    out += svg_line(least, middle, most, middle, "spread") + svg_line(least, middle - 5, least, middle + 5, "spread") +
           svg_line(most, middle - 5, most, middle + 5, "spread");
  }
  const std::string text = concat(fixed(run.median(), 2), " s, ", fixed(c.speed_up(run), 2), " x");
  // To the right of the bar and its spread.
  return out + svg_text(std::max(end, panel.x(run.most())) + 6, middle + 4, "start", "tick", text);
}

std::string step_bar(const Measured& run, const Panel& panel, double y) {
  std::string out;
  double from = panel.left;
  for (std::size_t i = 0; i < run.step.size(); ++i) {
    const double width = kPanel * std::max(0.0, 1e3 * run.step[i]) / (panel.axis.high - panel.axis.low);
    if (width >= 0.05) out += box(from, y, width, kBar, concat("p", i));
    from += width;
  }
  return out +
         svg_text(from + 6, y + kBar / 2.0 + 4, "start", "tick", concat(fixed(1e3 * run.step_seconds(), 1), " ms"));
}

std::string legend(double y) {
  std::string out;
  double x = 20;
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    out += box(x, y - 10, 12, 12, concat("p", i)) + svg_text(x + 18, y, "start", "tick", kPhaseNames[i]);
    x += 102;
  }
  return out;
}

// Breaks `text` into lines between words.
void add_lines(const std::string& text, std::vector<std::string>& lines) {
  constexpr std::size_t kMaxColumns = 142;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.size();
    if (end - at > kMaxColumns) {
      const std::size_t space = text.rfind(' ', at + kMaxColumns);
      end = space == std::string::npos || space <= at ? at + kMaxColumns : space;
    }
    lines.push_back((at > 0 ? "    " : "") + text.substr(at, end - at));
    at = end + (end < text.size() && text[end] == ' ');
  }
}

}  // namespace

std::string comparison_svg(const Comparison& c) {
  const std::size_t rows = c.runs.size();
  double slowest = 0, longest = 0;
  for (const Measured& run : c.runs) {
    if (run.empty()) continue;
    slowest = std::max(slowest, run.most());
    longest = std::max(longest, 1e3 * run.step_seconds());
  }
  const std::string title = concat(c.model, " on ", c.data, ": comparison of devices");
  std::vector<std::string> lines;
  for (const Measured& run : c.runs) add_lines(what_limits(c, run), lines);
  add_lines(sums_note(c), lines);
  add_lines(disturbance(c), lines);
  const int height = static_cast<int>(row_top(rows)) + 90 + 19 * static_cast<int>(lines.size());
  std::string out = svg_begin(kWidth, height, title, kStyle, kDark);
  out += svg_text(20, 32, "start", "title", title) + svg_text(20, 53, "start", "note", c.note);
  // The axes leave space for the text to the right of the longest bar.
  const Panel epochs = make_panel(kLeft, "seconds per epoch (median, min to max)", 1.3 * slowest, rows, out);
  const Panel steps = make_panel(kRight, "time per step by phase (ms)", 1.2 * longest, rows, out);
  for (std::size_t i = 0; i < rows; ++i) {
    const Measured& run = c.runs[i];
    const double y = row_top(i);
    out += svg_text(20, y + 8, "start", "head", run.label);
    out += svg_text(20, y + 24, "start", "tick", concat(run.batch, " images per step"));
    out += svg_text(20, y + 39, "start", "tick", run.parts());
    if (!run.empty()) out += epoch_bar(c, run, epochs, y) + step_bar(run, steps, y);
  }
  double y = row_top(rows) + 52;
  out += legend(y);
  y += 10;
  for (const std::string& line : lines) out += svg_text(20, y += 19, "start", "note", line);
  return out + "</svg>\n";
}

}  // namespace tandem::cli
