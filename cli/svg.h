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
/// Up to the ground, which the style's class "ground" fills.
std::string svg_begin(int width, int height, const std::string& title, const char* style);

}  // namespace tandem::cli
