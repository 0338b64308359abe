// The environment is read on every call, because tests change it.
#include "tandem/cli/draw/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tandem/core/base/number_text.h"

namespace tandem::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int width_of(int fd) {
  if (const int columns = columns_of(fd); columns > 0) return columns;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? std::min(columns, 1000) : 80;
}

int colors_of(const std::string& term) {
  const std::string depth = environment("COLORTERM");
  if (depth == "truecolor" || depth == "24bit") return 1 << 24;
  return term.find("256") != std::string::npos ? 256 : 16;
}

// Length of the control sequence that starts at `at`; 0 if there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
  std::size_t end = at + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size()) - at;
}

struct Character {
  uint32_t code;
  std::size_t length;
};

// Decodes the first character of a UTF-8 text; code 0 for a byte that does not start a valid one.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {0, 1};
  uint32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 1};
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kMinCode[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool wrong = code < kMinCode[length] || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF;
  return wrong ? Character{0, 1} : Character{code, length};
}

// C0 and C1 control codes, line and paragraph separators, and marks that change the text direction.
bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

int columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Terminal detect_terminal(int fd) {
  Terminal terminal;
  const std::string term = environment("TERM");
  terminal.interactive = ::isatty(fd) == 1 && !term.empty() && term != "dumb";
  terminal.columns = width_of(fd);
  terminal.unicode = locale_is_utf8() && term != "linux";
  if (terminal.interactive && environment("NO_COLOR").empty()) terminal.colors = colors_of(term);
  return terminal;
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = sequence_length(text, i)) {
      i += length;
    } else {
      width += !continues_character(text[i]);
      ++i;
    }
  }
  return width;
}

std::string fit(std::string_view text, int columns) {
  std::string out;
  int width = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = sequence_length(text, i)) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    width += !continues_character(text[i]);
    if (width <= columns) out += text[i];
    ++i;
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto [code, length] = decode(text);
    if (is_control(code))
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

std::string styled(std::string_view text, std::string_view sgr, int colors) {
  if (colors == 0) return std::string(text);
  std::string out = "\x1b[";
  return out.append(sgr).append("m").append(text).append("\x1b[0m");
}

std::string clock_time(double seconds) {
  if (!(seconds >= 0) || seconds > 1e7) return "-:--";
  const long long whole = std::llround(seconds), minutes = whole / 60;
  char text[32];
  if (minutes >= 60)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", minutes / 60, minutes % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", minutes, whole % 60);
  return text;
}

std::string counted(long long count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(" ").append(count == 1 ? one : many);
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  return number_text(value, std::abs(value) < 1e9 ? 'f' : 'e', decimals);
}

std::string with_commas(long long value) {
  std::string digits = std::to_string(value);
  const int first = value < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string byte_size(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return number_text(bytes, 'f', unit == 0 ? 0 : 1) + " " + units[unit];
}

}  // namespace tandem::cli
