// What the output can show, and text measured and made safe for it.
#pragma once
#include <string>
#include <string_view>

namespace tandem::cli {

struct Terminal {
  bool interactive = false;  ///< a terminal in which a line can be redrawn
  int columns = 80;
  int colors = 0;        ///< 0, 16, 256 or 2^24
  bool unicode = false;  ///< the locale is UTF-8 and the font has block and braille characters
};

/// Of a file descriptor (1: standard output) and the environment: TERM, COLORTERM, NO_COLOR (set and not
/// empty: no colours, https://no-color.org), LC_ALL, LC_CTYPE, LANG, and COLUMNS where the terminal does not
/// tell.
Terminal detect_terminal(int fd = 1);

/// Columns of the terminal as it is now; 0 when there is none, or it does not tell.
int columns_of(int fd);

/// Characters of a UTF-8 text, control sequences like "\x1b[32m" not counted.
int display_width(std::string_view text);

/// The text cut to at most `columns` characters; control sequences stay.
std::string fit(std::string_view text, int columns);

/// Control characters (escape sequences in a class name, for one) and bytes that are no UTF-8 become '?'.
std::string printable(std::string_view text);

/// `text` between an SGR sequence ("32": green) and its reset; plain when `colors` is 0.
std::string styled(std::string_view text, std::string_view sgr, int colors);

/// 7.4 s → "0:07", 754 → "12:34", 3723 → "1:02:03"; "-:--" for what is no time.
std::string clock_time(double seconds);

/// counted(1, "batch", "batches") → "1 batch".
std::string counted(long long count, std::string_view one, std::string_view many);

/// "0.1250"; "1.2346e+20" from 10^9 on; "nan" and "inf" for what is not finite, whatever its sign bit.
std::string fixed(double value, int decimals);

/// 1234567 → "1,234,567".
std::string with_commas(long long value);

/// 1536 → "1.5 KiB".
std::string byte_size(double bytes);

}  // namespace tandem::cli
