// Elements of SVG images.
#include "tandem/cli/draw/svg.h"

#include "tandem/cli/draw/terminal.h"
#include "tandem/core/base/number_text.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {
constexpr const char* kStyle = R"(    text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328; }
    .title { font-size: 18px; font-weight: 600; }
    .note, .tick { font-size: 12px; fill: #59636e; }
    .head { font-weight: 600; }
    .ground { fill: #ffffff; }
    .grid { stroke: #d1d9e0; stroke-width: 1; }
)";
constexpr const char* kDark = R"(      text { fill: #f0f6fc; }
      .note, .tick { fill: #9198a1; }
      .ground { fill: #0d1117; }
      .grid { stroke: #30363d; }
)";
}  // namespace

std::string svg_number(double value) { return number_text(value, 'f', 1); }

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string svg_text(double x, double y, const char* anchor, const char* css, const std::string& text) {
  return concat("  <text class=\"", css, "\" x=\"", svg_number(x), "\" y=\"", svg_number(y), "\" text-anchor=\"",
                anchor, "\">", svg_escaped(text), "</text>\n");
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* css) {
  return concat("  <line class=\"", css, "\" x1=\"", svg_number(x1), "\" y1=\"", svg_number(y1), "\" x2=\"",
                svg_number(x2), "\" y2=\"", svg_number(y2), "\"/>\n");
}

std::string svg_begin(int width, int height, const std::string& title, const char* own, const char* own_dark) {
  return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ", height, "\" width=\"", width,
                "\" height=\"", height, "\" role=\"img\">\n  <title>", svg_escaped(title), "</title>\n  <style>\n",
                kStyle, own, "    @media (prefers-color-scheme: dark) {\n", kDark, own_dark,
                "    }\n  </style>\n  <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
}

}  // namespace tandem::cli
