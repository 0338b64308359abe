// A line indented by two spaces starts another clause; one indented by four is an entry of the preceding list.
#include "tandem/cli/message.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tandem::cli {

std::string one_line(std::string_view text) {
  std::string out;
  bool in_list = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(indent);
    if (line.empty()) continue;
    const bool entry = indent >= 4;
    if (!out.empty()) {
      const bool open = out.back() == '?' || (entry && !in_list && out.back() == ':');
      out += open ? " " : !entry ? "; " : in_list ? ", " : ": ";
    }
    out += line;
    in_list = entry;
  }
  return out;
}

std::string wrapped(const std::string& text, int columns, int indent) {
  constexpr int kMinColumns = 20;
  if (columns < kMinColumns) return text;
  std::string out;
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const int word_width = display_width(word);
    if (width > 0 && width + 1 + word_width > columns) {
      out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      width = indent;
    } else if (at > 0) {
      out += ' ';
      ++width;
    }
    out += word;
    width += word_width;
    at = end + 1;
  }
  return out;
}

std::string fitted(const std::vector<LinePart>& parts, int columns) {
  int most = 0;
  for (const LinePart& part : parts) most = std::max(most, part.spare);
  for (;; --most) {
    std::string line;
    for (const LinePart& part : parts)
      if (part.spare <= most) line += part.text;
    if (columns <= 0 || display_width(line) <= columns) return line;
    if (most == 0) return fit(line, columns);
  }
}

void print_wrapped(const std::string& text, int indent) {
  std::printf("%s\n", wrapped(text, columns_of(1), indent).c_str());
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (&word != &words.front()) out += separator;
    out += word;
  }
  return out;
}

std::vector<std::string> split_names(const std::string& list, char separator) {
  std::vector<std::string> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = list.find(separator, begin);
    out.push_back(list.substr(begin, end - begin));
    if (end == std::string::npos) return out;
    begin = end + 1;
  }
}

std::string quoted_for_shell(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::strchr("/._-+=:,@%", c) != nullptr;
  };
  if (!name.empty() && std::ranges::all_of(name, plain)) return name;
  std::string out = "'";
  for (const char c : name) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string called_as() {
  const char* name = std::getenv("TANDEM_CALLED_AS");
  return name != nullptr && *name != 0 ? printable(quoted_for_shell(name)) : "tandem";
}

void print_error(const std::string& prefix, std::string_view text) {
  const Terminal terminal = detect_terminal(2);
  const std::string line = prefix + ": " + printable(one_line(text));
  std::fprintf(stderr, "%s\n", (terminal.interactive ? wrapped(line, terminal.columns - 1) : line).c_str());
}

}  // namespace tandem::cli
