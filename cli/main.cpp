// tandem: the command-line tool. Usage errors print one line and exit with code 2, failures with code 1.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/help.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/team.h"
#include "tandem/core/base/suggest.h"
#include "tandem/core/version.h"

namespace tandem::cli {
namespace {

// Option names of a command, for suggestions.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

int mistake(const std::string& prefix, const std::string& text) {
  print_error(prefix, text);
  return 2;
}

// Reports an option that was given more than once, in fewer words than CLI11.
std::string count_error(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const int given = static_cast<int>(option->count()), most = option->get_expected_max();
    const std::string name = option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames().front();
    if (most == 1 && given > 1) return name + ": given more than once";
  }
  return "";
}

// Prints CLI11's message for an invalid command line as one line that names the command.
int parse_error(const CLI::App& app, const CLI::ParseError& error, const char* first_word) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string prefix = chosen.empty() ? "tandem" : "tandem " + command.get_name();
  std::vector<std::string> extra = app.remaining(true);
  if (chosen.empty() && first_word != nullptr && *first_word != '\0') extra = {first_word};
  if ((chosen.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) && !extra.empty()) {
    std::string word = extra.front();
    if (chosen.empty() && !word.starts_with("-"))
      return mistake(prefix,
                     "unknown command " + word + did_you_mean(word, command_names(app)) + " (see tandem --help)");
    word = word.substr(0, word.find('='));
    return mistake(prefix, (word.starts_with("-") ? "unknown option " : "unexpected argument ") + word +
                               did_you_mean(word, option_names(command)) + " (see " + prefix + " --help)");
  }
  if (chosen.empty() && extra.empty())
    return mistake(prefix, "expected a command: " + join(command_names(app), ", ") + " (see tandem --help)");
  if (const std::string text = count_error(command); !text.empty()) return mistake(prefix, text);
  std::string text = error.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return mistake(prefix, text);
}

// The number of words up to PROGRAM, which is the first word that is neither an option of `launch` nor the
// value of one. CLI11 would take the program's options for its own.
int words_before_program(int argc, char** argv, const CLI::App& launch) {
  if (argc < 2 || argv[1] != launch.get_name()) return argc;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--" || word.size() < 2 || word[0] != '-') return i;
    const bool is_long = word[1] == '-';
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const CLI::Option* option = launch.get_option_no_throw(is_long ? word.substr(0, equals) : word.substr(0, 2));
    const bool value_follows = is_long ? equals == std::string::npos : word.size() == 2;
    if (option != nullptr && value_follows && option->get_items_expected_min() > 0) ++i;
  }
  return argc;
}

// In the order of the help.
constexpr std::pair<const char*, Command (*)(CLI::App&)> kCommands[] = {
    {"train", add_train},          {"compare", add_compare}, {"eval", add_eval},       {"report", add_report},
    {"verify", add_verify},        {"predict", add_predict}, {"summary", add_summary}, {"generate", add_generate},
    {"inspect", add_inspect},      {"convert", add_convert}, {"devices", add_devices}, {"launch", add_launch},
    {"completion", add_completion}};

int run(int argc, char** argv) {
  CLI::App app("Tandem: train and use small networks", "tandem");
  app.formatter(std::make_shared<HelpFormatter>());
  app.option_defaults()->group("Options");  // which newer versions of CLI11 call OPTIONS
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "tandem " TANDEM_VERSION, "print the version");
  app.require_subcommand(1);
  std::map<std::string, Command> commands;
  for (const auto& [name, add] : kCommands) {
    commands[name] = add(app);
    app.get_subcommand(name)->set_help_flag("-h,--help",
                                            "print this help");  // behind the other options, in their group
  }
  // After the commands, which would inherit it.
  app.footer(
      "Examples:\n"
      "  tandem train                       # LeNet on Fashion-MNIST; Ctrl-C saves\n"
      "  tandem predict runs/lenet-fashion-mnist-1 shoe.png\n"
      "  tandem report runs/*               # a page with curves and mistakes\n"
      "\n"
      "tandem COMMAND --help says what a command takes.");
  const int own_words = words_before_program(argc, argv, *app.get_subcommand("launch"));
  try {
    app.parse(own_words, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, argc > 1 ? argv[1] : nullptr);
  }
  CommandLine line;
  line.words.assign(argv + std::min(1, argc), argv + argc);
  const int first = own_words + (own_words < argc && std::string(argv[own_words]) == "--" ? 1 : 0);
  line.program.assign(argv + std::min(first, argc), argv + argc);
  return commands.at(app.get_subcommands().front()->get_name())(line);
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a failed write
  try {
    const int code = tandem::cli::run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    tandem::cli::print_error("tandem", "cannot write to standard output");
    return code != 0 ? code : 1;
  } catch (const tandem::cli::UsageError& error) {
    tandem::cli::print_error("tandem", error.what());
    return 2;
  } catch (const tandem::cli::ReportedElsewhere& error) {
    return error.code;
  } catch (const std::bad_alloc&) {  // of what is no tensor
    const std::string_view command = argc > 1 ? argv[1] : "";
    const bool trains = command == "train" || command == "compare";
    tandem::cli::print_error("tandem",
                             trains ? "out of memory; try a smaller batch, or fewer workers" : "out of memory");
    return 1;
  } catch (const std::exception& error) {
    tandem::cli::print_error("tandem", error.what());
    return 1;
  }
}
