// Printing of modules in LibTorch's format: one line per module, children indented by two spaces.
#include <ostream>

#include "tandem/core/base/number_text.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

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
  const ClassicNumbers numbers(stream);
  module.pretty_print_recursive(stream, "");
  return stream;
}

}  // namespace tandem::nn
