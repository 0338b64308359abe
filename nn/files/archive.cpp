// Archives stored as safetensors files.
#include "tandem/nn/files/archive.h"

#include <charconv>
#include <istream>
#include <iterator>
#include <ostream>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/archive_value.h"
#include "tandem/nn/files/pt_plugin.h"
#include "tandem/nn/files/safetensors_reader.h"

namespace tandem::serialize {
namespace {

template <class Number>
void parse(const std::string& key, const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  check(result.ec == std::errc() && result.ptr == end, "archive: '", key, "' is not a number: '", text, "'");
}

// Under which name the archive keeps tensor `index` of the value `key`.
std::string part_name(const std::string& key, std::size_t index) { return concat(key, "#", index); }

}  // namespace

void OutputArchive::write(const std::string& key, const std::string& text) {
  if (is_value(text)) return write(key, IValue(text));  // marked, so that it is not taken for a value
  metadata_.insert(key, text);
}
void OutputArchive::write(const std::string& key, const IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) return write(key, value.toTensor());
  std::vector<Tensor> parts;
  metadata_.insert(key, value_text(value, parts));
  for (std::size_t i = 0; i < parts.size(); ++i) write(part_name(key, i), parts[i]);
}
void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) { tensors_.insert(key, tensor.detach()); }
void OutputArchive::write(const std::string& key, double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  write(key, std::string(buffer, result.ptr));
}
void OutputArchive::write(const std::string& key, const OutputArchive& archive) {
  for (const auto& item : archive.tensors_) tensors_.insert(key + "." + item.key(), item.value());
  for (const auto& item : archive.metadata_) metadata_.insert(key + "." + item.key(), item.value());
}
void OutputArchive::save_to(const std::string& path) const { save_safetensors(path, tensors_, metadata_); }
void OutputArchive::save_to(std::ostream& stream) const {
  const std::string bytes = safetensors_bytes(tensors_, metadata_);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  check(stream.good(), "archive: writing to the stream failed");
}

void OutputArchive::save_to(const std::function<std::size_t(const void*, std::size_t)>& write) const {
  const std::string bytes = safetensors_bytes(tensors_, metadata_);
  const std::size_t taken = write(bytes.data(), bytes.size());
  check(taken == bytes.size(), "archive: the function has taken ", taken, " of ", bytes.size(), " bytes");
}

void InputArchive::load_from(const std::string& path, const optional<Device>& device) {
  if (pt::is_pt_file(path)) return take(read_pt_archive(path, nullptr, 0, device));
  file_ = std::make_shared<SafeTensorsReader>(path);
  device_ = device;
  tensors_.clear();
  metadata_ = file_->metadata();
  if (!late_) fetch();
}
void InputArchive::fetch() const {
  tensors_ = file_->read(device_);
  file_ = nullptr;
}
void InputArchive::load_from(std::istream& stream, const optional<Device>& device) {
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  take(bytes.data(), bytes.size(), "stream", device);
}
void InputArchive::load_from(const char* data, std::size_t bytes, const optional<Device>& device) {
  check(data != nullptr || bytes == 0, "archive: the data is null");
  take(data, bytes, "memory", device);
}
void InputArchive::load_from(const std::function<std::size_t(uint64_t, void*, std::size_t)>& read,
                             const std::function<std::size_t()>& size, const optional<Device>& device) {
  std::string bytes(size(), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = read(at, bytes.data() + at, bytes.size() - at);
    check(count > 0 && count <= bytes.size() - at, "archive: the function has read ", count, " bytes at ", at, " of ",
          bytes.size());
    at += count;
  }
  take(bytes.data(), bytes.size(), "function", device);
}
void InputArchive::take(const OutputArchive& read) {
  file_ = nullptr;
  tensors_ = read.tensors();
  metadata_ = read.metadata();
}
void InputArchive::take(const char* data, std::size_t bytes, const char* name, const optional<Device>& device) {
  if (pt::starts_as_pt({data, bytes})) return take(read_pt_archive(name, data, bytes, device));
  SafeTensors read = parse_safetensors(data, bytes, name);
  file_ = nullptr;
  tensors_ = std::move(read.tensors);
  metadata_ = std::move(read.metadata);
  if (device)
    for (auto& item : tensors_) item.value() = item.value().to(*device);
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> out;
  std::unordered_set<std::string> known;
  const auto add = [&](const std::string& name) {
    std::string top = name.substr(0, name.find('.'));
    if (known.insert(top).second) out.push_back(std::move(top));
  };
  for (const auto& item : tensors()) {
    const std::string* text = metadata_.find(item.key().substr(0, item.key().rfind('#')));
    if (text == nullptr || !is_value(*text)) add(item.key());
  }
  for (const auto& item : metadata_) add(item.key());
  return out;
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  const Tensor* found = tensors().find(key);
  if (found == nullptr) return false;
  if (!tensor.defined()) {
    tensor = *found;
    return true;
  }
  check(found->sizes() == tensor.sizes(), "archive: '", key, "' has shape ", found->sizes(), ", expected ",
        tensor.sizes());
  NoGradGuard no_grad;
  tensor.copy_(*found);
  return true;
}
void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  check(try_read(key, tensor, is_buffer), "No such serialized tensor '", key, "'");
}
IValue InputArchive::value_at(const std::string& key, const std::string& text) const {
  std::vector<Tensor> parts;
  while (const Tensor* part = tensors().find(part_name(key, parts.size()))) parts.push_back(*part);
  return parse_value(key, text, parts);
}
bool InputArchive::try_read(const std::string& key, IValue& value) {
  if (const Tensor* tensor = tensors().find(key)) {
    value = *tensor;
    return true;
  }
  const std::string* text = metadata_.find(key);
  if (text != nullptr) value = is_value(*text) ? value_at(key, *text) : IValue(*text);
  return text != nullptr;
}
void InputArchive::read(const std::string& key, IValue& value) {
  check(try_read(key, value), "the archive does not have a field with name '", key, "'");
}
void InputArchive::read(const std::string& key, std::string& text) {
  const std::string* found = metadata_.find(key);
  check(found != nullptr, "the archive does not have a field with name '", key, "'");
  text = is_value(*found) ? value_at(key, *found).toStringRef() : *found;
}
void InputArchive::read(const std::string& key, double& value) {
  if (const std::string* text = metadata_.find(key); text != nullptr && is_value(*text)) {
    value = value_at(key, *text).toScalar().toDouble();
    return;
  }
  std::string text;
  read(key, text);
  parse(key, text, value);
}
void InputArchive::read(const std::string& key, int64_t& value) {
  if (const std::string* text = metadata_.find(key); text != nullptr && is_value(*text)) {
    value = value_at(key, *text).toInt();
    return;
  }
  std::string text;
  read(key, text);
  parse(key, text, value);
}
void InputArchive::read(const std::string& key, bool& value) {
  if (const std::string* text = metadata_.find(key); text != nullptr && is_value(*text)) {
    value = value_at(key, *text).toBool();
    return;
  }
  std::string text;
  read(key, text);
  check(text == "true" || text == "false", "archive: '", key, "' is neither true nor false: '", text, "'");
  value = text == "true";
}
void InputArchive::read(const std::string& key, InputArchive& archive) {
  const std::string prefix = key + ".";
  archive = InputArchive();
  for (const auto& item : tensors())
    if (item.key().starts_with(prefix)) archive.tensors_.insert(item.key().substr(prefix.size()), item.value());
  for (const auto& item : metadata_)
    if (item.key().starts_with(prefix)) archive.metadata_.insert(item.key().substr(prefix.size()), item.value());
}
bool InputArchive::try_read(const std::string& key, InputArchive& archive) {
  read(key, archive);
  return !archive.tensors_.is_empty() || !archive.metadata_.is_empty();
}

}  // namespace tandem::serialize
