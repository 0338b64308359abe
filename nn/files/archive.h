// Archives: named tensors and named strings, stored in one safetensors file (strings go into __metadata__).
// Modules, optimizers and schedulers save themselves to an archive and load themselves from one.
#pragma once
#include <iosfwd>
#include <string>

#include "tandem/core/ordered_dict.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {

class OutputArchive {
 public:
  /// Throws Error when the key already exists.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const std::string& text) { metadata_.insert(key, text); }
  void write(const std::string& key, const char* text) { metadata_.insert(key, std::string(text)); }
  void write(const std::string& key, bool value) { write(key, value ? "true" : "false"); }
  /// Writes the shortest text that parses back to the same number.
  void write(const std::string& key, double value);
  void write(const std::string& key, int64_t value) { write(key, std::to_string(value)); }
  void write(const std::string& key, int value) { write(key, static_cast<int64_t>(value)); }
  /// Adds all entries of `archive` under "key.".
  void write(const std::string& key, const OutputArchive& archive);

  const OrderedDict<std::string, Tensor>& tensors() const { return tensors_; }
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }
  /// Writes the file atomically: it appears complete or not at all. Throws Error on failure.
  void save_to(const std::string& path) const;
  void save_to(std::ostream& stream) const;

 private:
  OrderedDict<std::string, Tensor> tensors_{"Tensor"};
  OrderedDict<std::string, std::string> metadata_{"Entry"};
};

class InputArchive {
 public:
  InputArchive() = default;
  InputArchive(OrderedDict<std::string, Tensor> tensors, OrderedDict<std::string, std::string> metadata)
      : tensors_(std::move(tensors)), metadata_(std::move(metadata)) {}

  /// Throws Error when the file is missing or violates the format.
  void load_from(const std::string& path, const optional<Device>& device = nullopt);
  void load_from(std::istream& stream, const optional<Device>& device = nullopt);

  bool contains(const std::string& key) const { return tensors_.contains(key) || metadata_.contains(key); }
  std::vector<std::string> keys() const;
  /// Copies the values into a defined tensor, keeping its dtype and device; an undefined tensor becomes the
  /// stored one. Throws Error when the key is missing or the shapes differ.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  /// The same, but returns false when the key is missing.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  /// The same for strings and numbers. Also throws Error when the text does not parse as the requested type.
  void read(const std::string& key, std::string& text);
  void read(const std::string& key, double& value);
  void read(const std::string& key, int64_t& value);
  void read(const std::string& key, bool& value);
  /// All entries under "key.", without that prefix.
  void read(const std::string& key, InputArchive& archive);

  const OrderedDict<std::string, Tensor>& tensors() const { return tensors_; }
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }

 private:
  OrderedDict<std::string, Tensor> tensors_{"Tensor"};
  OrderedDict<std::string, std::string> metadata_{"Entry"};
};

}  // namespace tandem::serialize
