// Archives: named tensors and named strings, stored in one safetensors file (strings go into __metadata__).
// Modules, optimizers and schedulers save themselves to an archive and load themselves from one. Archives of LibTorch's
// torch::save are read, too.
#pragma once
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/base/ordered_dict.h"

namespace tandem::nn {
class Module;
}

namespace tandem::serialize {

/// LibTorch's archives share one; programs only pass it on.
struct CompilationUnit {};

class OutputArchive {
 public:
  OutputArchive() = default;
  explicit OutputArchive(const std::shared_ptr<CompilationUnit>&) {}
  std::shared_ptr<CompilationUnit> compilation_unit() const { return nullptr; }
  /// Throws Error when the key already exists.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const std::string& text);
  void write(const std::string& key, const char* text) { write(key, std::string(text)); }
  void write(const std::string& key, bool value) { write(key, value ? "true" : "false"); }
  /// Writes the shortest text that parses back to the same number.
  void write(const std::string& key, double value);
  void write(const std::string& key, int64_t value) { write(key, std::to_string(value)); }
  void write(const std::string& key, int value) { write(key, static_cast<int64_t>(value)); }
  /// Any value, including lists, tuples and dictionaries of values.
  void write(const std::string& key, const IValue& value);
  /// Adds all entries of `archive` under "key.".
  void write(const std::string& key, const OutputArchive& archive);
  template <class... Ts>
  void operator()(Ts&&... arguments) {
    write(std::forward<Ts>(arguments)...);
  }

  const OrderedDict<std::string, Tensor>& tensors() const { return tensors_; }
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }
  /// Writes the file atomically: it appears complete or not at all. Throws Error on failure.
  void save_to(const std::string& path) const;
  void save_to(std::ostream& stream) const;
  /// Passes the file's bytes on; throws Error when the function takes less than it was given.
  void save_to(const std::function<std::size_t(const void* data, std::size_t bytes)>& write) const;

 private:
  OrderedDict<std::string, Tensor> tensors_{"Tensor"};
  OrderedDict<std::string, std::string> metadata_{"Entry"};
};

class SafeTensorsReader;

class InputArchive {
 public:
  InputArchive() = default;
  /// With `late`, load_from(path) leaves the elements in the file until they are needed; then a module reads them
  /// straight into its parameters, without a copy in memory. Errors in elements are thrown then, too.
  explicit InputArchive(bool late) : late_(late) {}
  InputArchive(OrderedDict<std::string, Tensor> tensors, OrderedDict<std::string, std::string> metadata)
      : tensors_(std::move(tensors)), metadata_(std::move(metadata)) {}

  /// Reads what save_to or LibTorch's save_to has written, or a state dict of Python's torch.save: which one is found
  /// from the contents. libtandem_pt reads those of PyTorch and must be installed for them. Throws Error when the file is
  /// missing, violates the format or contains something else (nn/files/pt/pt.h).
  void load_from(const std::string& path, const optional<Device>& device = nullopt);
  void load_from(std::istream& stream, const optional<Device>& device = nullopt);
  void load_from(const char* data, std::size_t bytes, const optional<Device>& device = nullopt);
  /// Reads `size()` bytes by calls of `read(position, buffer, bytes)`, each of which returns how many it has read.
  void load_from(const std::function<std::size_t(uint64_t, void*, std::size_t)>& read,
                 const std::function<std::size_t()>& size, const optional<Device>& device = nullopt);

  bool contains(const std::string& key) const { return tensors().contains(key) || metadata_.contains(key); }
  /// The names of entries and of nested archives.
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
  /// A value, tensor or string. A tensor or a list of tensors shares memory with the archive.
  void read(const std::string& key, IValue& value);
  /// All entries under "key.", without that prefix.
  void read(const std::string& key, InputArchive& archive);
  /// Return false when there is nothing of that name.
  bool try_read(const std::string& key, IValue& value);
  bool try_read(const std::string& key, InputArchive& archive);
  template <class... Ts>
  void operator()(Ts&&... arguments) {
    read(std::forward<Ts>(arguments)...);
  }

  const OrderedDict<std::string, Tensor>& tensors() const {
    if (file_ != nullptr) fetch();
    return tensors_;
  }
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void take(const OutputArchive& read);
  void take(const char* data, std::size_t bytes, const char* name, const optional<Device>& device);
  IValue value_at(const std::string& key, const std::string& text) const;
  friend class nn::Module;
  void fetch() const;
  bool late_ = false;
  // The file, as long as the tensors have not been fetched from it.
  mutable std::shared_ptr<const SafeTensorsReader> file_;
  optional<Device> device_{};
  mutable OrderedDict<std::string, Tensor> tensors_{"Tensor"};
  OrderedDict<std::string, std::string> metadata_{"Entry"};
};

}  // namespace tandem::serialize
