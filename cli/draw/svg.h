// Elements of SVG images, as text; colours are classes in a style sheet inside the image.
#pragma once
#include <string>

namespace tandem::cli {

/// The number with one decimal (a tenth of a pixel).
std::string svg_number(double value);
/// The text made printable and escaped for use between tags.
std::string svg_escaped(const std::string& text);
std::string svg_text(double x, double y, const char* anchor, const char* css, const std::string& text);
std::string svg_line(double x1, double y1, double x2, double y2, const char* css);
/// The beginning, up to the background. Every image has the classes title, note, tick, head and grid; `own`
/// and `own_dark` are additional rules of this image, the latter for dark backgrounds.
std::string svg_begin(int width, int height, const std::string& title, const char* own, const char* own_dark);

}  // namespace tandem::cli
