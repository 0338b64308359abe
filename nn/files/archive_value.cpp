// The text of an IValue: a letter for its kind, then
//   n                none           i5; d0.5; b1;    int, double, bool
//   s3:abc           string         t0;              tensor number 0
//   I L D T l u m    lists of int, list of any, double, tensor; tuple; dictionary: a count, ':', and the elements
#include "tandem/nn/files/archive_value.h"

#include <charconv>
#include <string_view>

namespace tandem::serialize {
namespace {

constexpr int kMaxLevels = 100;

template <class Number>
std::string text_of(Number number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

struct Writer {
  std::vector<Tensor>& tensors;
  std::string out;

  template <class List>
  void list(char kind, const List& elements) {
    out += kind + text_of(elements.size()) + ':';
    for (const auto& element : elements) write(IValue(element));
  }
  void dictionary(const GenericDict& dict) {
    out += 'm' + text_of(dict.size()) + ':';
    for (const auto& entry : dict) {
      write(entry.key());
      write(entry.value());
    }
  }
  void write(const IValue& v) {
    if (v.isTensor() && v.toTensor().defined()) {
      out += 't' + text_of(tensors.size()) + ';';
      tensors.push_back(v.toTensor());
    } else if (v.isNone() || v.isTensor()) {
      out += 'n';
    } else if (v.isBool()) {
      out += v.toBool() ? "b1;" : "b0;";
    } else if (v.isInt()) {
      out += 'i' + text_of(v.toInt()) + ';';
    } else if (v.isDouble()) {
      out += 'd' + text_of(v.toDouble()) + ';';
    } else if (v.isString()) {
      out += 's' + text_of(v.toStringRef().size()) + ':' + v.toStringRef();
    } else if (v.isTuple()) {
      list('u', v.toTupleRef().elements());
    } else if (v.isGenericDict()) {
      dictionary(v.toGenericDict());
    } else {
      list(v.isIntList() ? 'I' : v.isDoubleList() ? 'D' : v.isTensorList() ? 'T' : 'l', v.toListRef());
    }
  }
};

struct Reader {
  const std::string& key;
  std::string_view rest;
  const std::vector<Tensor>& tensors;

  void expect(bool condition) const { check(condition, "archive: '", key, "' is not a valid value"); }
  template <class Number>
  Number number(char end) {
    Number value{};
    const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const auto length = static_cast<std::size_t>(result.ptr - rest.data());
    expect(result.ec == std::errc() && length < rest.size() && rest[length] == end);
    rest.remove_prefix(length + 1);
    return value;
  }
  std::vector<IValue> list(int level) {
    const auto count = number<std::size_t>(':');
    expect(count <= rest.size());  // each element has a character or more
    std::vector<IValue> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(read(level));
    return out;
  }
  template <class T>
  IValue typed(int level) {
    std::vector<T> out;
    for (const IValue& element : list(level)) out.push_back(element.isNone() ? T() : element.to<T>());
    return out;
  }
  IValue dictionary(int level) {
    const auto count = number<std::size_t>(':');
    expect(count <= rest.size() / 2);
    GenericDict out;
    for (std::size_t i = 0; i < count; ++i) {
      IValue name = read(level);
      out.insert(std::move(name), read(level));
    }
    return out;
  }
  IValue tensor() {
    const auto index = number<std::size_t>(';');
    expect(index < tensors.size());
    return tensors[index];
  }
  IValue text() {
    const auto length = number<std::size_t>(':');
    expect(length <= rest.size());
    std::string out(rest.substr(0, length));
    rest.remove_prefix(length);
    return out;
  }
  IValue read(int level) {
    expect(!rest.empty() && level < kMaxLevels);
    const char kind = rest[0];
    rest.remove_prefix(1);
    switch (kind) {
      case 'n':
        return {};
      case 'b':
        return number<int>(';') != 0;
      case 'i':
        return number<int64_t>(';');
      case 'd':
        return number<double>(';');
      case 's':
        return text();
      case 't':
        return tensor();
      case 'I':
        return typed<int64_t>(level + 1);
      case 'D':
        return typed<double>(level + 1);
      case 'T':
        return typed<Tensor>(level + 1);
      case 'l':
        return list(level + 1);
      case 'u':
        return ivalue::Tuple::create(list(level + 1));
      case 'm':
        return dictionary(level + 1);
      default:
        fail("archive: '", key, "' has a value of unknown kind");
    }
  }
};

}  // namespace

std::string value_text(const IValue& value, std::vector<Tensor>& tensors) {
  Writer writer{tensors, kValueMark};
  writer.write(value);
  return writer.out;
}

IValue parse_value(const std::string& key, const std::string& text, const std::vector<Tensor>& tensors) {
  Reader reader{key, text, tensors};
  reader.expect(is_value(text));
  reader.rest.remove_prefix(std::string_view(kValueMark).size());
  IValue value = reader.read(0);
  reader.expect(reader.rest.empty());
  return value;
}

}  // namespace tandem::serialize
