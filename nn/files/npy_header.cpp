// A reader for the Python literals that NumPy writes, and nothing else of Python.
#include "tandem/nn/files/npy_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem::serialize {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kMaxNpyHeader =
    10'000;  // NumPy's own limit; with the dtypes read here a header has 300 bytes at most

struct DtypeCode {
  std::string_view code;
  ScalarType type;
};
constexpr DtypeCode kCodes[] = {{"b1", kBool},   {"u1", kByte},         {"i1", kChar},           {"i2", kShort},
                                {"i4", kInt},    {"i8", kLong},         {"f2", kHalf},           {"f4", kFloat},
                                {"f8", kDouble}, {"c8", kComplexFloat}, {"c16", kComplexDouble}, {"u2", kUInt16},
                                {"u4", kUInt32}, {"u8", kUInt64}};

class Literals {
 public:
  Literals(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(concat("expected ", c));
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool next_is(char c) {
    const bool found = take(c);
    at_ -= found;
    return found;
  }
  std::string_view string() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect(quote);
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) refuse("unterminated string");
    const std::string_view out = text_.substr(at_, end - at_);
    if (out.find('\\') != std::string_view::npos) refuse("escape sequence");
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      skip_space();
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    refuse("expected True or False");
  }
  int64_t size() {
    skip_space();
    int64_t value = 0;
    const std::size_t before = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        refuse("size too large");
    if (at_ == before) refuse("expected a size");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
    return value;
  }
  Dims shape() {
    Dims out;
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma) refuse("expected , or )");
      if (out.size() == static_cast<std::size_t>(kMaxDims)) refuse("more than 12 dimensions");
      out.push_back(size());
      comma = take(',');
    }
    if (out.size() == 1 && !comma) refuse("shape is a number, not a tuple");
    return out;
  }
  [[noreturn]] void refuse(const std::string& problem) const {
    fail(file_, ": invalid header of a .npy file: ", problem, " at character ", at_);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

void parse_descr(std::string_view descr, NpyHeader& header, const std::string& file) {
  const bool ordered = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view code = ordered ? descr.substr(1) : descr;
  check(!code.starts_with("O"), file,
        ": holds Python objects, which are pickled; save it as an array of numbers instead");
  const auto* found =
      std::find_if(std::begin(kCodes), std::end(kCodes), [code](const DtypeCode& known) { return known.code == code; });
  check(found != std::end(kCodes), file, ": has elements of dtype '", std::string(descr.substr(0, 40)),
        "'; supported are bool, uint8 to uint64, int8 to int64, float16 to float64, complex64 and complex128 (convert "
        "it with astype)");
  header.dtype = found->type;
  header.big_endian = descr[0] == '>';
}

NpyHeader parse(std::string_view text, const std::string& file) {
  NpyHeader header;
  Literals in(text, file);
  bool descr = false, order = false, shape = false;
  const auto once = [&](bool& seen) {
    if (seen) in.refuse("a key occurs twice");
    seen = true;
  };
  in.expect('{');
  while (!in.take('}')) {
    const std::string_view key = in.string();
    in.expect(':');
    if (key == "descr") {
      once(descr);
      check(!in.next_is('['), file, ": has structured elements (several fields), which tensors cannot have");
      parse_descr(in.string(), header, file);
    } else if (key == "fortran_order") {
      once(order);
      header.fortran = in.boolean();
    } else if (key == "shape") {
      once(shape);
      header.sizes = in.shape();
    } else {
      in.refuse("unknown key");
    }
    if (!in.take(',') && !in.next_is('}')) in.refuse("expected , or }");
  }
  if (!in.at_end()) in.refuse("unexpected text");
  check(descr && order && shape, file, ": the header lacks ", !descr ? "descr" : !order ? "fortran_order" : "shape");
  return header;
}

void swap_bytes(char* data, std::size_t bytes, std::size_t size) {
  for (std::size_t at = 0; at < bytes; at += size) std::reverse(data + at, data + at + size);
}

}  // namespace

NpyHeader read_npy_header(FunctionRef<void(void*, std::size_t)> read, uint64_t file_bytes, const std::string& file) {
  unsigned char start[8] = {};
  check(file_bytes >= 10, file, ": is not a .npy file: it has ", file_bytes, " bytes, fewer than 10");
  read(start, sizeof start);
  check(std::memcmp(start, kMagic.data(), kMagic.size()) == 0, file,
        ": is not a .npy file: it does not start with \\x93NUMPY");
  const int major = start[6], minor = start[7];
  check(major >= 1 && major <= 3 && minor == 0, file, ": is a .npy file of version ", major, ".", minor,
        "; known are 1.0, 2.0 and 3.0");
  unsigned char length[4] = {};
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  check(file_bytes >= 8 + length_bytes, file, ": is truncated");
  read(length, length_bytes);
  uint32_t size = 0;
  std::memcpy(&size, length, sizeof size);
  check(size <= kMaxNpyHeader, file, ": its header would have ", size, " bytes, more than the limit of ",
        kMaxNpyHeader);
  check(size <= file_bytes - 8 - length_bytes, file, ": is truncated: its header has ", size, " bytes");
  std::string text(size, '\0');
  read(text.data(), text.size());
  NpyHeader header = parse(text, file);
  header.offset = 8 + length_bytes + size;
  // A size of 0 counts as 1 here, so it does not hide an overflow of the strides.
  int64_t bytes = item_size(header.dtype);
  bool overflow = false, none = false;
  for (const int64_t n : header.sizes) {
    none = none || n == 0;
    overflow = __builtin_mul_overflow(bytes, n == 0 ? 1 : n, &bytes) || overflow;
  }
  check(!overflow, file, ": an array of shape ", header.sizes, " is too large");
  header.bytes = none ? 0 : static_cast<uint64_t>(bytes);
  const uint64_t left = file_bytes - header.offset;
  check(left >= header.bytes, file, ": is truncated: shape ", header.sizes, " and dtype ", header.dtype, " need ",
        header.bytes, " bytes, but only ", left, " follow the header");
  check(left == header.bytes, file, ": ", left - header.bytes,
        " bytes follow the array; only files with one array are read");
  return header;
}

std::string format_npy_header(ScalarType dtype, IntArrayRef sizes) {
  const auto* found = std::find_if(std::begin(kCodes), std::end(kCodes),
                                   [dtype](const DtypeCode& known) { return known.type == dtype; });
  check(found != std::end(kCodes), "npy: NumPy has no dtype for ", dtype, "; save it as float32");
  std::string text =
      concat("{'descr': '", item_size(dtype) == 1 ? "|" : "<", found->code, "', 'fortran_order': False, 'shape': (");
  for (const int64_t size : sizes) text += concat(size, sizes.size() == 1 ? "," : ", ");
  if (sizes.size() > 1) text.resize(text.size() - 2);
  text += "), }";
  const std::size_t start = kMagic.size() + 4, all = (start + text.size() + 1 + 63) / 64 * 64;
  text.resize(all - start - 1, ' ');
  text += '\n';
  const auto size = static_cast<uint16_t>(text.size());
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(size & 255), static_cast<char>(size >> 8)};
  return out + text;
}

Tensor npy_tensor(const NpyHeader& header) {
  Dims sizes = header.sizes;
  std::reverse(sizes.begin(), sizes.end());
  const TensorOptions options = TensorOptions(header.dtype).device(Device(kCPU));
  if (!header.fortran || sizes.size() < 2) return empty(header.sizes, options);
  Dims order;
  for (auto d = static_cast<int64_t>(sizes.size()); d-- > 0;) order.push_back(d);
  return empty(sizes, options).permute(order);
}

void finish_npy(const NpyHeader& header, const Tensor& tensor, const std::string& file) {
  auto* data = static_cast<char*>(tensor.data_ptr());
  if (header.dtype == kBool) {
    const char* wrong = std::find_if(data, data + header.bytes, [](unsigned char c) { return c > 1; });
    if (wrong != data + header.bytes)
      fail(file, ": element ", wrong - data, " is no bool: ", static_cast<int>(static_cast<unsigned char>(*wrong)));
  }
  if (header.big_endian)
    swap_bytes(data, header.bytes, static_cast<std::size_t>(item_size(toRealValueType(header.dtype))));
}

}  // namespace tandem::serialize
