// Printing of tensors. All values are converted to float64, or complex128: then a number has two parts,
// "1.5000-2.0000j". As in LibTorch, one format (width, precision, common factor) is chosen per tensor from its smallest
// and largest finite magnitude.
#include "tandem/core/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <sstream>

#include "tandem/core/base/number_text.h"
#include "tandem/core/options.h"
#include "tandem/core/tensor.h"

namespace tandem {
namespace {

struct Format {
  double scale = 1;
  int width = 0;
  int precision = 0;
  char style = 'g';  // as in printf
};

void put(std::string& out, const Format& format, double value) {
  out += number_text(value, format.style, format.precision, format.width);
}

// Number of integer digits of the smallest and the largest magnitude; 1 for 0.
struct Exponents {
  int least = 1, most = 1;
};
Exponents exponents(const double* x, int64_t n) {
  double least = HUGE_VAL, most = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) continue;
    least = std::min(least, std::abs(x[i]));
    most = std::max(most, std::abs(x[i]));
  }
  const auto digits = [](double v) { return v != 0 ? static_cast<int>(std::floor(std::log10(v)) + 1) : 1; };
  if (!std::isfinite(least)) return {};
  return {digits(least), digits(most)};
}

// Writes the values of one tensor. The precision starts as the stream's. As in LibTorch, a format with a
// fractional part also sets it for the matrices that follow.
class Printer {
 public:
  /// `parts`: numbers per element, 2 if the tensor is complex.
  Printer(std::string& out, int precision, int64_t line_size, int parts)
      : out_(out), precision_(precision), line_size_(line_size), parts_(parts) {}
  void number(const double* x);
  void vector(const double* x, int64_t n);
  void matrix(const double* x, int64_t rows, int64_t columns, int indent);
  void matrices(const double* x, IntArrayRef sizes);

 private:
  Format choose(const double* x, int64_t n);
  void element(const Format& format, const double* x);
  void scale_line(const Format& format);

  std::string& out_;
  int precision_;
  int64_t line_size_;
  int parts_;
};

Format Printer::choose(const double* x, int64_t n) {
  n *= parts_;
  bool integers = true;
  for (int64_t i = 0; i < n && integers; ++i) integers = !std::isfinite(x[i]) || x[i] == std::ceil(x[i]);
  const auto [least, most] = exponents(x, n);
  if (integers && most <= 9) return {.width = most + 1, .precision = precision_};
  precision_ = 4;
  if (integers) return {.width = 11, .precision = 4, .style = 'e'};
  if (most - least > 4) {
    const bool long_exponent = std::abs(most) > 99 || std::abs(least) > 99;
    return {.width = 11 + long_exponent, .precision = 4, .style = 'e'};
  }
  if (most > 5 || most < 0) return {.scale = std::pow(10, most - 1), .width = 7, .precision = 4, .style = 'f'};
  return {.width = most == 0 ? 7 : most + 6, .precision = 4, .style = 'f'};
}

void Printer::scale_line(const Format& format) {
  put(out_, {.precision = precision_}, format.scale);
  out_ += " *\n";
}

void Printer::element(const Format& format, const double* x) {
  if (parts_ == 1) return put(out_, format, *x / format.scale);
  Format imaginary = format;
  imaginary.width = 0;
  std::string text;
  put(text, format, x[0] / format.scale);
  text += std::signbit(x[1]) ? '-' : '+';
  put(text, imaginary, std::abs(x[1]) / format.scale);
  text += 'j';
  const auto width = static_cast<std::size_t>(2 * format.width + (format.width > 0 ? 1 : 0));
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  out_ += text;
}

// The shortest digits that name the number, with an exponent below 1e-4 and from 1e16.
std::string shortest(double value) {
  char digits[32];
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16) || !std::isfinite(value);
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {digits, end.ptr};
}

void Printer::number(const double* x) {
  if (parts_ == 1)
    out_ += shortest(*x);
  else
    element({.precision = precision_}, x);
  out_ += '\n';
}

void Printer::vector(const double* x, int64_t n) {
  const Format format = choose(x, n);
  if (format.scale != 1) scale_line(format);
  for (int64_t i = 0; i < n; ++i) {
    element(format, x + i * parts_);
    out_ += '\n';
  }
}

// Prints groups of as many columns as fit on a line. The indent precedes every line but the first, as in LibTorch
// 2.15; every scaled row but the first has one extra blank.
void Printer::matrix(const double* x, int64_t rows, int64_t columns, int indent) {
  const Format format = choose(x, rows * columns);
  const int width = parts_ == 1 ? format.width : 2 * format.width + 1;
  const int64_t fit = std::max<int64_t>(1, (line_size_ - indent) / (width + 1));
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (int64_t first = 0; first < columns; first += fit) {
    const int64_t last = std::min(first + fit, columns) - 1;
    if (fit < columns) {
      if (first != 0) out_ += '\n';
      out_ += concat("Columns ", first + 1, " to ", last + 1) + margin;
    }
    if (format.scale != 1) {
      scale_line(format);
      out_ += margin;
    }
    for (int64_t r = 0; r < rows; ++r) {
      if (r != 0) out_ += margin + (format.scale != 1 ? " " : "");
      for (int64_t c = first; c <= last; ++c) {
        element(format, x + (r * columns + c) * parts_);
        out_ += c == last ? '\n' : ' ';
      }
    }
  }
}

// "(1,2,.,.) = " and the matrix, for every index of the leading dimensions, the first of them varying
// fastest.
void Printer::matrices(const double* x, IntArrayRef sizes) {
  const std::size_t lead = sizes.size() - 2;
  const int64_t rows = sizes[lead], columns = sizes[lead + 1];
  const Dims strides = contiguous_strides(sizes);
  const int64_t count = checked_numel(sizes.slice(0, lead));
  for (int64_t m = 0; m < count; ++m) {
    out_ += m == 0 ? "(" : "\n(";
    const double* at = x;
    int64_t rest = m;
    for (std::size_t d = 0; d < lead; rest /= sizes[d++]) {
      at += rest % sizes[d] * strides[d] * parts_;
      out_ += concat(rest % sizes[d] + 1, ",");
    }
    out_ += ".,.) = \n";
    matrix(at, rows, columns, 1);
  }
}

Tensor host_values(const Tensor& t) {
  const ScalarType type = t.is_complex() ? kComplexDouble : kDouble;
  Tensor here = empty_raw(t.sizes(), type, t.device());
  copy_raw(here, t);
  if (t.is_cpu()) return here;
  Tensor host = empty_raw(t.sizes(), type, Device(kCPU, 0));
  copy_bytes_raw(host, here, false);
  return host;
}

void put_values(Printer printer, const Tensor& t) {
  const Tensor host = host_values(t);
  const double* x = host.ptr<double>();
  if (t.dim() == 0)
    printer.number(x);
  else if (t.dim() == 1)
    printer.vector(x, t.numel());
  else if (t.dim() == 2)
    printer.matrix(x, t.size(0), t.size(1), 0);
  else
    printer.matrices(x, t.sizes());
}

std::ostream& write(std::ostream& out, const std::string& text) {
  out.width(0);
  return out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace

std::ostream& print(std::ostream& out, const Tensor& t, int64_t line_size) {
  if (!t.defined()) {
    return write(out, "[ Tensor (undefined) ]");
  }
  std::string text;
  if (t.numel() != 0)
    put_values(Printer(text, static_cast<int>(out.precision()), line_size, t.is_complex() ? 2 : 1), t);
  text += concat("[ ", t.toString(), "{");
  for (int64_t d = 0; d < t.dim(); ++d) text += concat(d == 0 ? "" : ",", t.size(d));
  return write(out, text + "} ]");
}
void print(const Tensor& t, int64_t line_size) { print(std::cout, t, line_size); }

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return print(out, t); }
std::ostream& operator<<(std::ostream& out, const Device& device) { return write(out, device.str()); }
std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << DeviceTypeName(type, true); }
std::ostream& operator<<(std::ostream& out, TypeMeta type) { return out << type.name(); }
std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }
std::ostream& operator<<(std::ostream& out, IntArrayRef sizes) { return write(out, concat(sizes)); }
std::ostream& operator<<(std::ostream& out, const Scalar& value) {
  const ClassicNumbers numbers(out);
  if (value.isComplex()) {
    const Complex<double> z = value.toComplexDouble();
    return out << '(' << z.re << ',' << z.im << ')';
  }
  if (value.isFloatingPoint()) return out << value.toDouble();
  if (value.isBoolean()) return out << (value.toBool() ? "true" : "false");
  if (value.type() == kUInt64) return out << value.toUInt64();
  return out << value.toLong();
}
std::ostream& operator<<(std::ostream& out, Layout layout) {
  constexpr const char* names[] = {"Strided",   "Sparse",    "SparseCsr", "Mkldnn",
                                   "SparseCsc", "SparseBsr", "SparseBsc", "Jagged"};
  return out << names[static_cast<int>(layout)];
}
std::ostream& operator<<(std::ostream& out, MemoryFormat format) {
  constexpr const char* names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << names[static_cast<int>(format)];
}
std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  const auto given = [](bool value) { return value ? "" : " (default)"; };
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::ostringstream format;
  format << options.layout() << given(options.has_layout());
  const std::string layout = std::exchange(format, std::ostringstream()).str();
  if (const auto given_format = options.memory_format_opt())
    format << *given_format;
  else
    format << "(nullopt)";
  return write(out, concat("TensorOptions(dtype=", options.dtype().name(), given(options.has_dtype()),
                           ", device=", options.device(), given(options.has_device()), ", layout=", layout,
                           ", requires_grad=", flag(options.requires_grad()), given(options.has_requires_grad()),
                           ", pinned_memory=", flag(options.pinned_memory()), given(options.has_pinned_memory()),
                           ", memory_format=", format.str(), ")"));
}

void Tensor::print() const {
  std::cerr << (defined() ? concat("[", toString(), " ", sizes(), "]") : std::string("[UndefinedTensor]")) << std::endl;
}

}  // namespace tandem
