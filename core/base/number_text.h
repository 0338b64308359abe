// Numbers as text, independent of the C and C++ locales.
#pragma once
#include <locale>
#include <ostream>
#include <string>

namespace tandem {

/// The text that printf's %e, %f or %g (chosen by `style`) produces in the C locale, padded to `width`
/// characters.
std::string number_text(double value, char style, int precision, int width = 0);

/// While it lives, `out` formats numbers as in the C locale.
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
