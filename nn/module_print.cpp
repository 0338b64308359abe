// Printing of modules in LibTorch's format: one line per module, children indented by two spaces.
#include <atomic>
#include <sstream>

#include "tandem/core/base/number_text.h"
#include "tandem/nn/module.h"
#include "tandem/nn/printed_names.h"

namespace tandem::nn {
namespace {
std::atomic<bool> torch_names = false;
}  // namespace

bool print_torch_names() { return torch_names = true; }

std::string detail::with_printed_names(std::string text) {
  const std::string own = "tandem::nn::", other = "torch::nn::";
  if (torch_names)
    for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos; at += other.size())
      text.replace(at, own.size(), other);
  return text;
}

void Module::pretty_print(std::ostream& stream) const { stream << name(); }

void Module::pretty_print_recursive(std::ostream& stream, const std::string& indent) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string inner = indent + "  ";
  for (const auto& child : children_) {
    stream << inner << "(" << child.key() << "): ";
    child.value()->pretty_print_recursive(stream, inner);
    stream << '\n';
  }
  stream << indent << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  std::ostringstream text;
  text.copyfmt(stream);
  const ClassicNumbers numbers(text);
  module.pretty_print_recursive(text, "");
  return stream << detail::with_printed_names(text.str());
}

}  // namespace tandem::nn
