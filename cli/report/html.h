// Text in HTML. Everything in a report that comes from files passes through here.
#pragma once
#include <string>
#include <string_view>

namespace tandem::cli {

/// The text made printable and escaped for use between tags and in attributes with quotes.
std::string html_escaped(const std::string& text);
/// JSON for a script element: "<" is written as an escape, so no text ends the element.
std::string json_in_html(std::string json);
/// RFC 4648.
std::string base64(std::string_view bytes);

}  // namespace tandem::cli
