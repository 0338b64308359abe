// tandem completion: scripts that complete commands, options and their values in a shell, from the table of options.
#include <algorithm>
#include <cstdio>

#include "tandem/cli/commands/add_options.h"
#include "tandem/cli/data/find_data.h"
#include "tandem/cli/device_list.h"
#include "tandem/cli/help.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/cli/text/text_config.h"
#include "tandem/cli/train/models.h"
#include "tandem/core/base/suggest.h"

namespace tandem::cli {
namespace {

using Words = std::vector<std::string>;

Words model_names() {
  Words out = image_model_names();
  const Words texts = text_model_names();
  out.insert(out.end(), texts.begin(), texts.end());
  return out;
}

// The values of an option or argument; none where any text or file is possible.
Words values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == kModelType) return model_names();
  if (type == kDataType) return data_names();
  if (type == kDeviceType) return {"cpu", "cuda"};
  if (type.find('|') == std::string::npos) return {};
  Words out = split_names(type, '|');  // "char|DIR"
  std::erase(out, kFolderType);
  return out;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
// Whether its value may be a file or folder, instead of one of the known values or because there are none.
bool takes_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == kDataType || type == kModelType || type.find(kFolderType) != std::string::npos) return true;
  return type != "NUMBER" && values_of(option).empty();
}

std::string joined(const Words& words) { return join(words, " "); }

// The first clause of a text, without what a shell would take for its own.
std::string said(const std::string& text) {
  std::string out = text.substr(0, text.find(';'));
  for (char& c : out)
    if (std::string("[]:'\"\\$`").find(c) != std::string::npos) c = ' ';
  return out;
}

std::string bash_script(const CLI::App& app) {
  std::string options, values = concat("    \"help help\") values=\"", joined(command_names(app)), "\" ;;\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    Words all;
    for (const CLI::Option* option : command->get_options()) {
      const Words names = names_of(*option), known = values_of(*option);
      all.insert(all.end(), names.begin(), names.end());
      if (known.empty()) continue;
      if (names.empty()) values += concat("    \"", command->get_name(), " \"*) values=\"", joined(known), "\" ;;\n");
      for (const std::string& name : names)
        values += concat("    \"", command->get_name(), " ", name, "\") values=\"", joined(known), "\" ;;\n");
    }
    options += concat("    ", command->get_name(), ") options=\"", joined(all), "\" ;;\n");
  }
  return concat(R"(# bash completion of tandem
_tandem() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options="" values=""
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W ")",
                joined(command_names(app)), R"( help version --help --version" -- "$word"))
    return
  fi
  # Readline splits --option=value into three words.
  if [ "$word" = "=" ]; then word=""; elif [ "$before" = "=" ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  case ${COMP_WORDS[1]} in
)",
                options, R"(  esac
  case "${COMP_WORDS[1]} $before" in
)",
                values, R"(  esac
  case $word in -*) values=$options ;; esac
  COMPREPLY=($(compgen -W "$values" -- "$word"))  # files if there are none
}
complete -o bashdefault -o default -F _tandem tandem
)");
}

std::string zsh_script(const CLI::App& app) {
  std::string commands = "    'help:print the help of a command'\n    'version:print the version'\n";
  std::string cases = concat("    help) compadd ", joined(command_names(app)), " ;;\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += concat("    '", command->get_name(), ":", said(command->get_description()), "'\n");
    cases += concat("    ", command->get_name(), ") _arguments \\\n");
    std::string rest = "_files";
    for (const CLI::Option* option : command->get_options()) {
      const std::string known = joined(values_of(*option));
      std::string action = takes_file(*option) ? "_files" : known.empty() ? " " : "(" + known + ")";
      if (takes_file(*option) && !known.empty()) action = "{compadd " + known + "; _files}";
      if (option->get_positional()) rest = action;
      for (const std::string& name : names_of(*option))
        cases += concat("      '*", name, "[", said(option->get_description()), "]",
                        takes_value(*option) ? ":value:" + action : "", "' \\\n");
    }
    cases += concat("      '*:argument:", rest, "' ;;\n");
  }
  return concat(R"(#compdef tandem
_tandem() {
  local -a commands
  commands=(
)",
                commands, R"(  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
)",
                cases, R"(  esac
}
if [ "$funcstack[1]" = _tandem ]; then _tandem "$@"; else compdef _tandem tandem; fi
)");
}

std::string fish_script(const CLI::App& app) {
  std::string out = "# fish completion of tandem\n";
  out += "complete -c tandem -f -n __fish_use_subcommand -a help -d 'print the help of a command'\n";
  out += "complete -c tandem -f -n __fish_use_subcommand -a version -d 'print the version'\n";
  out += concat("complete -c tandem -f -n '__fish_seen_subcommand_from help' -a '", joined(command_names(app)), "'\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string name = command->get_name();
    out += concat("complete -c tandem -f -n __fish_use_subcommand -a ", name, " -d '", said(command->get_description()),
                  "'\n");
    const std::string when = concat("complete -c tandem -n '__fish_seen_subcommand_from ", name, "'");
    for (const CLI::Option* option : command->get_options()) {
      const Words known = values_of(*option);
      const std::string values = known.empty() ? "" : " -a '" + joined(known) + "'";
      if (option->get_positional()) {
        if (!known.empty()) out += concat(when, " -f", values, "\n");
        continue;
      }
      std::string line = when;
      for (const std::string& each : option->get_snames()) line += " -s " + each;
      for (const std::string& each : option->get_lnames()) line += " -l " + each;
      if (takes_value(*option)) line += takes_file(*option) ? " -r -F" : " -x";
      out += concat(line, values, " -d '", said(option->get_description()), "'\n");
    }
  }
  return out;
}

int completion_command(const CLI::App& app, const std::string& shell) {
  const Words shells{"bash", "zsh", "fish"};
  require(std::ranges::count(shells, shell) > 0, "completion ", shell, ": expected bash, zsh or fish",
          did_you_mean(shell, shells));
  const std::string script = shell == "bash" ? bash_script(app) : shell == "zsh" ? zsh_script(app) : fish_script(app);
  std::fputs(script.c_str(), stdout);
  return 0;
}

}  // namespace

Command add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("completion", "print a script that completes commands and options in a shell");
  add_text(c, "SHELL", *shell, "bash|zsh|fish", "bash, zsh or fish")->required();
  c->footer(
      "Examples:\n"
      "  source <(tandem completion bash)       # in ~/.bashrc; zsh: the same with zsh, in ~/.zshrc\n"
      "  tandem completion fish | source        # in ~/.config/fish/config.fish");
  return [shell, &app](const CommandLine&) { return completion_command(app, *shell); };
}

}  // namespace tandem::cli
