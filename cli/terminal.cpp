// The environment is read at each call: tests set it.
#include "tandem/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

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
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int width_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? std::min(columns, 1000) : 80;
}

int colors_of(const std::string& term) {
  const std::string depth = environment("COLORTERM");
  if (depth == "truecolor" || depth == "24bit") return 1 << 24;
  return term.find("256") != std::string::npos ? 256 : 16;
}

// Length of the control sequence that begins at `at`; 0 when none does.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
  std::size_t end = at + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size()) - at;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

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
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
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
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

}  // namespace tandem::cli
