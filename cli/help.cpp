#include "tandem/cli/help.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tandem/cli/message.h"

namespace tandem::cli {
namespace {

constexpr int kLeftWidth = 30;  // of the column with the names

int help_width() {
  int columns = columns_of(1);
  if (const char* text = std::getenv("COLUMNS"); columns <= 0 && text != nullptr) columns = std::atoi(text);
  return columns <= 0 ? 100 : std::clamp(columns, 60, 120);
}

// "  --name VALUE   text", with the text in a column of its own, below a long name.
std::string entry(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  if (text.empty()) return out + "\n";
  int at = display_width(out);
  if (at + 2 > kLeftWidth) {
    out += "\n";
    at = 0;
  }
  const std::string pad(static_cast<std::size_t>(kLeftWidth - at), ' ');
  // The padding is not wrapped, but counts.
  const std::string wide = wrapped(std::string(kLeftWidth, '.') + text, help_width(), kLeftWidth);
  return out + pad + wide.substr(kLeftWidth) + "\n";
}

// "-n, --nproc-per-node RANKS": the names of an option, and what it takes.
std::string head_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false);
  const std::string out = join(names_of(option), ", ");
  const std::string value = option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
  return option.get_items_expected_max() == 0 || value.empty() ? out : out + " " + value;
}

std::string text_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) text += " (required)";
  if (!option.get_default_str().empty()) text += "; default: " + option.get_default_str();
  return text;
}

std::string section(const std::string& title, const std::vector<const CLI::Option*>& options) {
  if (options.empty()) return "";
  std::string out = "\n" + title + ":\n";
  for (const CLI::Option* option : options) out += entry(head_of(*option), text_of(*option));
  return out;
}

// "tandem eval [OPTIONS] DIR"
std::string usage(const CLI::App& app, const std::string& name) {
  std::string out = "Usage: " + name;
  if (!app.get_subcommands({}).empty()) return out + " COMMAND [OPTIONS]\n";
  out += " [OPTIONS]";
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) {
      const bool several = option->get_expected_max() > 1;
      const std::string word = option->get_name(true, false) + (several ? "..." : "");
      out += option->get_required() ? " " + word : " [" + word + "]";
    }
  return out + "\n";
}

std::string wrapped_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : split_names(text, '\n')) out += wrapped(line, help_width(), 2) + "\n";
  return out;
}

}  // namespace

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const {
  std::string out = wrapped(app->get_description(), help_width(), 0) + "\n\n" + usage(*app, name);
  out += section("Arguments", app->get_options([](const CLI::Option* o) { return o->get_positional(); }));
  if (const auto commands = app->get_subcommands({}); !commands.empty()) {
    out += "\nCommands:\n";
    for (const CLI::App* command : commands) {
      const std::string text = command->get_description();
      out += entry(command->get_name(), text.substr(0, text.find(';')));
    }
  }
  for (const std::string& group : app->get_groups())
    out += section(
        group, app->get_options([&](const CLI::Option* o) { return !o->get_positional() && o->get_group() == group; }));
  if (!app->get_footer().empty()) out += "\n" + wrapped_lines(app->get_footer());
  return out;
}

}  // namespace tandem::cli
