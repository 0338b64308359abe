// Error texts for people: one line, nothing in it that a terminal would obey.
#pragma once
#include <string>
#include <string_view>

#include "tandem/cli/terminal.h"

namespace tandem::cli {

/// The library's indented lines as one: "unknown data set 'x'; expected mnist or a folder".
std::string one_line(std::string_view text);

/// Broken between words so that no line is wider than `columns`; further lines are indented.
std::string wrapped(const std::string& text, int columns);

/// Prints "PREFIX: TEXT" on the error stream: one line, made printable, wrapped where that is a terminal.
void print_error(const std::string& prefix, std::string_view text);

}  // namespace tandem::cli
