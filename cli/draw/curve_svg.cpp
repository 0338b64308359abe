// Two panels side by side. Colours are CSS classes with a second set for prefers-color-scheme: dark; dash
// patterns distinguish training from test or validation where colours do not.
#include "tandem/cli/draw/curve_svg.h"

#include <algorithm>
#include <cmath>

#include "tandem/cli/draw/axis.h"
#include "tandem/cli/draw/svg.h"
#include "tandem/cli/message.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/number_text.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

constexpr int kWidth = 960, kHeight = 416;
constexpr int kPanelWidth = 380, kPanelHeight = 250, kTop = 104;

constexpr const char* kStyle = R"(    .axis { stroke: #59636e; stroke-width: 1; }
    .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
    .train { stroke: #bc4c00; stroke-dasharray: 6 5; }
    .test { stroke: #0969da; }
    .alone { stroke-width: 7; stroke-dasharray: none; }
    .dot { fill: #0969da; }
    .kept { fill: none; stroke: #0969da; stroke-width: 2; }
)";
constexpr const char* kDark = R"(      .axis { stroke: #9198a1; }
      .train { stroke: #f0883e; }
      .test { stroke: #58a6ff; }
      .dot { fill: #58a6ff; }
      .kept { stroke: #58a6ff; }
)";

struct Panel {
  std::string head;
  double left;
  std::vector<double> train, test;
  Axis axis{};
  int epochs = 1;

  double x(int epoch) const {
    return epochs <= 1 ? left + kPanelWidth / 2.0 : left + kPanelWidth * (epoch - 1.0) / (epochs - 1.0);
  }
  double y(double value) const { return kTop + kPanelHeight * (axis.high - value) / (axis.high - axis.low); }
};

std::string axes(const Panel& panel) {
  std::string out = svg_text(panel.left, kTop - 14, "start", "head", panel.head);
  for (double tick : panel.axis.ticks) {
    const double y = panel.y(tick);
    out += svg_line(panel.left, y, panel.left + kPanelWidth, y, "grid");
    out += svg_text(panel.left - 8, y + 4, "end", "tick", panel.axis.label(tick));
  }
  const double bottom = kTop + kPanelHeight;
  out += svg_line(panel.left, bottom, panel.left + kPanelWidth, bottom, "axis");
  for (int tick : count_ticks(panel.epochs, 11)) {
    out += svg_line(panel.x(tick), bottom, panel.x(tick), bottom + 5, "axis");
    out += svg_text(panel.x(tick), bottom + 20, "middle", "tick", std::to_string(tick));
  }
  return out + svg_text(panel.left + kPanelWidth / 2.0, bottom + 40, "middle", "tick", "epoch");
}

// A path, interrupted at values that are not finite, and one of the points between gaps: short strokes, which their
// round caps draw as dots.
std::string curve(const Panel& panel, const std::vector<double>& values, const char* css) {
  std::string path, points;
  bool pen_down = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      pen_down = false;
      continue;
    }
    const bool alone = !pen_down && (i + 1 == values.size() || !std::isfinite(values[i + 1]));
    std::string& out = alone ? points : path;
    out += concat(out.empty() ? "" : " ", pen_down ? 'L' : 'M', svg_number(panel.x(static_cast<int>(i) + 1)), ",",
                  svg_number(panel.y(values[i])), alone ? " l0.01,0" : "");
    pen_down = true;
  }
  std::string out;
  if (!path.empty()) out += concat("  <path class=\"line ", css, "\" d=\"", path, "\"/>\n");
  if (!points.empty()) out += concat("  <path class=\"line ", css, " alone\" d=\"", points, "\"/>\n");
  return out;
}

std::string last_value(const Panel& panel, int decimals) {
  if (panel.test.empty() || !std::isfinite(panel.test.back())) return "";
  const double x = panel.x(static_cast<int>(panel.test.size())), y = panel.y(panel.test.back());
  return concat("  <circle class=\"dot\" cx=\"", svg_number(x), "\" cy=\"", svg_number(y), "\" r=\"3.5\"/>\n",
                svg_text(x + 8, y + 4, "start", "tick", number_text(panel.test.back(), 'f', decimals)));
}

// A ring on the test curve.
std::string mark(const Panel& panel, int64_t epoch) {
  const auto at = static_cast<std::size_t>(epoch);
  if (at == 0 || at > panel.test.size() || !std::isfinite(panel.test[at - 1])) return "";
  return concat("  <circle class=\"kept\" cx=\"", svg_number(panel.x(static_cast<int>(epoch))), "\" cy=\"",
                svg_number(panel.y(panel.test[at - 1])), "\" r=\"6\"><title>kept: epoch ", epoch,
                "</title></circle>\n");
}

std::string note_lines(const std::string& note) {
  constexpr int kColumns = 150;  // what fits beside each other
  std::string out;
  const std::string lines = wrapped(note, kColumns, 0);
  double y = 51;
  for (std::size_t at = 0; at < lines.size() && y < 80; y += 16) {  // two lines
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    out += svg_text(20, y, "start", "note", lines.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Panel make_panel(std::string head, double left, std::vector<double> train, std::vector<double> test,
                 const AxisLimits& limits = {}) {
  for (std::vector<double>* values : {&train, &test})
    for (double& value : *values)
      if (!can_be_drawn(value)) value = NAN;
  Panel panel{std::move(head), left, std::move(train), std::move(test)};
  std::vector<double> all = panel.train;
  all.insert(all.end(), panel.test.begin(), panel.test.end());
  panel.axis = make_axis(all, 7, limits);
  panel.epochs = static_cast<int>(std::max({panel.train.size(), panel.test.size(), std::size_t{1}}));
  return panel;
}

std::vector<double> percent(std::vector<double> shares) {
  for (double& share : shares) share *= 100;
  return shares;
}

std::vector<double> perplexity(std::vector<double> losses) {
  for (double& loss : losses) loss = std::exp(loss);
  return losses;
}

std::string legend(const Curves& curves) {
  const double y = 28, x = kWidth - 102, before = curves.of_text ? x - 124 : x - 88;
  return svg_line(before, y, before + 34, y, "line test") +
         svg_text(before + 42, y + 4, "start", "tick", curves.of_text ? "validation" : "test") +
         svg_line(x - 4, y, x + 30, y, "line train") + svg_text(x + 38, y + 4, "start", "tick", "train");
}

}  // namespace

std::string curve_svg(const Curves& curves) {
  const Panel accuracy =
      curves.of_text
          ? make_panel("perplexity", 60, perplexity(curves.train_loss), perplexity(curves.test_loss))
          : make_panel("accuracy (%)", 60, percent(curves.train_accuracy), percent(curves.test_accuracy), {0, 100});
  const Panel loss = make_panel(curves.of_text ? "loss (nats per token)" : "loss (nats per image)", 530,
                                curves.train_loss, curves.test_loss);
  std::string out = svg_begin(kWidth, kHeight, curves.title, kStyle, kDark);
  out += svg_text(20, 32, "start", "title", curves.title);
  out += note_lines(curves.note) + legend(curves);
  for (const Panel* panel : {&accuracy, &loss})
    out += axes(*panel) + curve(*panel, panel->train, "train") + curve(*panel, panel->test, "test") +
           mark(*panel, curves.kept) + last_value(*panel, panel == &accuracy ? 2 : 3);
  return out + "</svg>\n";
}

void write_curve_svg(const std::string& path, const Curves& curves) { write_file_atomically(path, curve_svg(curves)); }

}  // namespace tandem::cli
