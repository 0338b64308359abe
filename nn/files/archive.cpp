// Archives stored as safetensors files.
#include "tandem/nn/files/archive.h"

#include <charconv>
#include <istream>
#include <iterator>
#include <ostream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/safetensors.h"

namespace tandem::serialize {
namespace {

template <class Number>
void parse(const std::string& key, const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  check(result.ec == std::errc() && result.ptr == end, "archive: '", key, "' is not a number: '", text, "'");
}

}  // namespace

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  tensors_.insert(key, tensor.detach());
}
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

void InputArchive::load_from(const std::string& path, const optional<Device>& device) {
  SafeTensors read = load_safetensors(path, device);
  tensors_ = std::move(read.tensors);
  metadata_ = std::move(read.metadata);
}
void InputArchive::load_from(std::istream& stream, const optional<Device>& device) {
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  SafeTensors read = parse_safetensors(bytes.data(), bytes.size(), "stream");
  tensors_ = std::move(read.tensors);
  metadata_ = std::move(read.metadata);
  if (device)
    for (auto& item : tensors_) item.value() = item.value().to(*device);
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> out = tensors_.keys();
  for (const auto& item : metadata_) out.push_back(item.key());
  return out;
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  const Tensor* found = tensors_.find(key);
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
  check(try_read(key, tensor, is_buffer), "archive: there is no tensor '", key, "'");
}
void InputArchive::read(const std::string& key, std::string& text) {
  const std::string* found = metadata_.find(key);
  check(found != nullptr, "archive: there is no entry '", key, "'");
  text = *found;
}
void InputArchive::read(const std::string& key, double& value) {
  std::string text;
  read(key, text);
  parse(key, text, value);
}
void InputArchive::read(const std::string& key, int64_t& value) {
  std::string text;
  read(key, text);
  parse(key, text, value);
}
void InputArchive::read(const std::string& key, bool& value) {
  std::string text;
  read(key, text);
  check(text == "true" || text == "false", "archive: '", key, "' is neither true nor false: '", text, "'");
  value = text == "true";
}
void InputArchive::read(const std::string& key, InputArchive& archive) {
  const std::string prefix = key + ".";
  archive = InputArchive();
  for (const auto& item : tensors_)
    if (item.key().starts_with(prefix))
      archive.tensors_.insert(item.key().substr(prefix.size()), item.value());
  for (const auto& item : metadata_)
    if (item.key().starts_with(prefix))
      archive.metadata_.insert(item.key().substr(prefix.size()), item.value());
}

}  // namespace tandem::serialize
