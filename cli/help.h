// The help of the tool and of its commands, the same with every version of CLI11.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::cli {

/// Formats options in their groups, wrapped to the terminal's width, or to COLUMNS, or else to 100 columns. An
/// option's text ends with its default, a command's in the list of commands with its first clause.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// "-n" and "--nproc-per-node"; none of a positional argument.
std::vector<std::string> names_of(const CLI::Option& option);
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace tandem::cli
