// Error messages for users: one line, without terminal control characters.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tandem/cli/draw/terminal.h"

namespace tandem::cli {

/// Joins the library's indented lines: "unknown data set 'x'; expected mnist or a folder".
std::string one_line(std::string_view text);

/// Breaks the text between words to fit `columns`; continuation lines are indented by `indent`.
std::string wrapped(const std::string& text, int columns, int indent = 2);

/// A piece of a line. Of a line that is too long, pieces with the largest numbers are left out first; 0 stays.
struct LinePart {
  std::string text;
  int spare = 0;
};
/// The parts after each other, at most `columns` characters wide; 0: any number.
std::string fitted(const std::vector<LinePart>& parts, int columns);

/// Prints a line to standard output; on a terminal it is wrapped, and goes on after `indent` columns.
void print_wrapped(const std::string& text, int indent);
/// The same for a line such as "data     …", which goes on below what follows the key.
inline void say(const std::string& line) { print_wrapped(line, 9); }

/// join({"a", "b"}, ", ") → "a, b".
std::string join(const std::vector<std::string>& words, std::string_view separator);
/// Splits "cpu:0,cpu:1" at the separators; "" has one part, which is empty.
std::vector<std::string> split_names(const std::string& list, char separator = ',');

/// A name as a word for a shell, in quotes if it needs them.
std::string quoted_for_shell(const std::string& name);
/// How this program is called in what messages advise, for a shell: "tandem", or what ./run puts into TANDEM_CALLED_AS.
std::string called_as();

/// Prints "PREFIX: TEXT" to standard error as one line of printable characters, wrapped if that is a terminal.
void print_error(const std::string& prefix, std::string_view text);

}  // namespace tandem::cli
