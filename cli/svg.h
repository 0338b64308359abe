// Elements of SVG pictures, as text; colours are the classes of a style sheet within the picture.
#pragma once
#include <string>

namespace tandem::cli {

/// One decimal: tenths of a pixel.
std::string svg_number(double value);
/// Printable, and safe between tags.
std::string svg_escaped(const std::string& text);
std::string svg_text(double x, double y, const char* anchor, const char* css, const std::string& text);
std::string svg_line(double x1, double y1, double x2, double y2, const char* css);
/// Up to the ground. Classes of every picture: title, note, tick, head, grid; `own` and `own_dark` are rules
/// of this one, the latter for readers with a dark background.
std::string svg_begin(int width, int height, const std::string& title, const char* own, const char* own_dark);

}  // namespace tandem::cli
