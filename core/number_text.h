// Numbers as text, the same in every locale of C and of C++.
#pragma once
#include <locale>
#include <ostream>
#include <string>

namespace tandem {

/// What printf makes of `value` in the C locale by %e, %f or %g, as `style` says, at least `width` characters
/// long.
std::string number_text(double value, char style, int precision, int width = 0);

/// While it lives, `out` writes numbers as in the C locale.
class ClassicNumbers {
 public:
  explicit ClassicNumbers(std::ostream& out) : out_(out), before_(out.imbue(std::locale::classic())) {}
  ~ClassicNumbers() { out_.imbue(before_); }
  ClassicNumbers(const ClassicNumbers&) = delete;
  ClassicNumbers& operator=(const ClassicNumbers&) = delete;

 private:
  std::ostream& out_;
  std::locale before_;
};

}  // namespace tandem
