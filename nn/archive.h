// Archives: named tensors and named texts, kept in one safetensors file (tensors, and __metadata__ for the
// texts). What modules, optimizers and schedules write themselves to and read themselves from.
#pragma once
#include <iosfwd>
#include <string>

#include "tandem/core/tensor.h"
#include "tandem/nn/ordered_dict.h"

namespace tandem::serialize {

class OutputArchive {
 public:
  /// Throws Error when the key is taken.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const std::string& text) { metadata_.insert(key, text); }
  void write(const std::string& key, const char* text) { metadata_.insert(key, std::string(text)); }
  void write(const std::string& key, bool value) { write(key, value ? "true" : "false"); }
  /// The shortest text that reads back as the same number.
  void write(const std::string& key, double value);
  void write(const std::string& key, int64_t value) { write(key, std::to_string(value)); }
  void write(const std::string& key, int value) { write(key, static_cast<int64_t>(value)); }
  /// All of `archive` under "key.".
  void write(const std::string& key, const OutputArchive& archive);

  const OrderedDict<std::string, Tensor>& tensors() const { return tensors_; }
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }
  /// The file appears whole or not at all. Throws Error.
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

  /// Throws Error on a file that is missing or breaks a rule of the format.
  void load_from(const std::string& path, const optional<Device>& device = nullopt);
  void load_from(std::istream& stream, const optional<Device>& device = nullopt);

  bool contains(const std::string& key) const { return tensors_.contains(key) || metadata_.contains(key); }
  std::vector<std::string> keys() const;
  /// A defined tensor gets the values (in its own dtype and device), an undefined one becomes the tensor.
  /// Throws Error when the key is missing or the shape is another.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  /// False when the key is missing.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  /// The same for texts and numbers; an Error also for a text that is not such a value.
  void read(const std::string& key, std::string& text);
  void read(const std::string& key, double& value);
  void read(const std::string& key, int64_t& value);
  void read(const std::string& key, bool& value);
  /// What stands under "key.", without that prefix.
  void read(const std::string& key, InputArchive& archive);

  const OrderedDict<std::string, Tensor>& tensors() const { return tensors_; }
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }

 private:
  OrderedDict<std::string, Tensor> tensors_{"Tensor"};
  OrderedDict<std::string, std::string> metadata_{"Entry"};
};

}  // namespace tandem::serialize
