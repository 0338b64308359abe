// tandem: the command-line tool. Usage errors print one line and exit with code 2, failures with code 1.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
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

// "--epochs comes after the command: tandem train --epochs 1" if the words begin with an option of the command among
// them, else "".
std::string early_option(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> commands = command_names(app);
  // Preferably one that cannot be the value of an option.
  auto command = words.end();
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (std::ranges::count(commands, *word) == 0) continue;
    const bool may_be_value = word != words.begin() && std::prev(word)->starts_with("-");
    if (command == words.end() || !may_be_value) command = word;
    if (!may_be_value) break;
  }
  if (command == words.end() || !words.front().starts_with("-")) return "";
  const std::string option = words.front().substr(0, words.front().find('='));
  if (app.get_subcommand(*command)->get_option_no_throw(option) == nullptr) return "";
  std::string line = called_as() + " " + *command;
  for (auto word = words.begin(); word != words.end(); ++word)
    if (word != command) line += " " + quoted_for_shell(*word);
  return option + " comes after the command: " + line;
}

// Prints CLI11's message for an invalid command line as one line that names the command.
int parse_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (const std::string text = early_option(app, words); !text.empty()) return mistake("tandem", text);
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string prefix = chosen.empty() ? "tandem" : "tandem " + command.get_name();
  std::vector<std::string> extra = app.remaining(true);
  if (chosen.empty() && !words.empty() && !words.front().empty()) extra = {words.front()};
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

// An empty value, as of "$UNSET", would count as an option that was not given. A prompt may be empty.
void check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_items_expected_min() == 0 || option->check_lname("prompt")) continue;
    require(std::ranges::count(values, "") == 0,
            option->get_positional() ? option->get_name(true) : "--" + option->get_lnames().front(),
            ": the value is empty");
  }
}

// The number of words up to PROGRAM, which is the first word that is neither an option of `launch` nor the
// value of one. CLI11 would take the program's options for its own.
int words_before_program(int argc, const char* const* argv, const CLI::App& launch) {
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

// "help", "help COMMAND" and "version", which many tools have, become the options of this one.
std::vector<const char*> as_options(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "version") words[1] = "--version";
  if (first != "help") return words;
  if (argc == 2 || first == argv[2]) return {argv[0], "--help"};
  const auto is_named = [argv](const auto& command) { return std::string_view(argv[2]) == command.first; };
  if (std::ranges::any_of(kCommands, is_named)) words.insert(words.begin() + std::min(3, argc), "--help");
  words.erase(words.begin() + 1);
  return words;
}

int run(int argc, const char* const* argv) {
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
  CommandLine line;
  line.words.assign(argv + std::min(1, argc), argv + argc);
  const int own_words = words_before_program(argc, argv, *app.get_subcommand("launch"));
  try {
    app.parse(own_words, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, line.words);
  }
  const CLI::App& command = *app.get_subcommands().front();
  check_values(command);
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !option->get_lnames().empty()) line.given.push_back(option->get_lnames().front());
  const int first = own_words + (own_words < argc && std::string(argv[own_words]) == "--" ? 1 : 0);
  line.program.assign(argv + std::min(first, argc), argv + argc);
  return commands.at(command.get_name())(line);
}

// Destructors of nlohmann's values take memory. Without any, they would abort the program. No file is half written then,
// because files are replaced as a whole.
[[noreturn]] void end_without_memory() {
  if (const std::exception_ptr error = std::current_exception()) try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      constexpr std::string_view text = "tandem: out of memory\n";
      if (::write(STDERR_FILENO, text.data(), text.size()) >= 0) std::_Exit(1);
    } catch (...) {  // a mistake in the program
    }
  std::abort();
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  std::set_terminate(tandem::cli::end_without_memory);
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a failed write
  try {
    const std::vector<const char*> words = tandem::cli::as_options(argc, argv);
    const int code = tandem::cli::run(static_cast<int>(words.size()), words.data());
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
