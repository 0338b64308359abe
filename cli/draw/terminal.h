// Capabilities of the terminal, and functions that measure text and make it safe to print.
#pragma once
#include <string>
#include <string_view>

namespace tandem::cli {

struct Terminal {
  bool interactive = false;  ///< a terminal that can redraw a line
  int columns = 80;
  int colors = 0;        ///< 0, 16, 256 or 2^24
  bool unicode = false;  ///< the locale is UTF-8 and the font has block and braille characters
};

/// Detects the terminal from a file descriptor (1: standard output) and the environment: TERM, COLORTERM,
/// NO_COLOR (set and not empty: no colours, https://no-color.org), LC_ALL, LC_CTYPE, LANG, and COLUMNS if the
/// terminal does not report its width.
Terminal detect_terminal(int fd = 1);

/// Current width of the terminal in columns; 0 if there is no terminal or it does not report its width.
int columns_of(int fd);

/// Number of characters in a UTF-8 text, not counting control sequences such as "\x1b[32m".
int display_width(std::string_view text);

/// The text truncated to at most `columns` characters; control sequences are kept.
std::string fit(std::string_view text, int columns);

/// Replaces control characters (such as escapes in a class name) and bytes that are not UTF-8 with '?'.
std::string printable(std::string_view text);

/// `text` between an SGR sequence ("32": green) and its reset; plain when `colors` is 0.
std::string styled(std::string_view text, std::string_view sgr, int colors);

/// 7.4 s → "0:07", 754 → "12:34", 3723 → "1:02:03"; "-:--" for negative, huge and NaN values.
std::string clock_time(double seconds);

/// counted(1, "batch", "batches") → "1 batch".
std::string counted(long long count, std::string_view one, std::string_view many);

/// "0.1250"; exponents from 10^9 on ("1.2346e+20"); "nan" whatever the sign bit, "inf" and "-inf".
std::string fixed(double value, int decimals);

/// 1234567 → "1,234,567".
std::string with_commas(long long value);

/// 1536 → "1.5 KiB".
std::string byte_size(double bytes);

}  // namespace tandem::cli
