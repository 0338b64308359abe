// The tensors of a checkpoint in safetensors files: one file, or the shards of an index. Opening reads and checks the
// headers; elements are read later, by all threads, straight into the memory where they are wanted.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/nn/files/byte_source.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/nn/files/safetensors_header.h"
#include "tandem/nn/files/safetensors_sums.h"

namespace tandem::serialize {

class SafeTensorsReader {
 public:
  struct Item {
    TensorEntry entry;
    std::size_t shard;
  };
  /// The destination of an item's values.
  struct Target {
    std::size_t item;
    Tensor tensor;
  };

  /// A file, an index or a folder with either. Throws Error as load_safetensors does,
  /// apart from what concerns elements.
  explicit SafeTensorsReader(const std::string& path, Checksums checksums = Checksums::kVerify);
  /// One file from another source; `name` replaces the path in messages.
  SafeTensorsReader(std::unique_ptr<ByteSource> source, const std::string& name, Checksums checksums);

  /// In the order of the header or the index.
  const std::vector<Item>& items() const { return items_; }
  /// Of all shards; where they differ, that of the first shard.
  const OrderedDict<std::string, std::string>& metadata() const { return metadata_; }

  /// New tensors. Memory: that of the tensors; on other devices than the CPU, 256 MB or the largest tensor on the host.
  OrderedDict<std::string, Tensor> read(const optional<Device>& device) const;
  /// Copies items into existing tensors of the same sizes, across dtypes and devices, with no other memory than a few
  /// MB (or one tensor, if its target is not contiguous). Checksums are verified before the first tensor is changed,
  /// which reads the file once more. Throws Error; if a file cannot be read to the end after all,
  /// some of the tensors have been changed.
  void read_into(const std::vector<Target>& targets) const;
  /// Reads these items once to verify their checksums. Throws Error.
  void verify(const std::vector<std::size_t>& items) const;
  /// Copies consecutive elements of an item, in row-major order from `first` on, into a contiguous tensor [n], across
  /// dtypes and devices. Verifies nothing.
  void read_elements(std::size_t item, int64_t first, Tensor target) const;

 private:
  struct Shard {
    std::string file;
    std::unique_ptr<ByteSource> source;
    uint64_t start = 0;  // of the elements
    optional<Sums> sums{};
  };
  // One item to read; without memory, its bytes are only verified.
  struct Piece {
    const Item* item;
    char* to;
  };

  std::vector<TensorEntry> add_shard(std::string file, std::unique_ptr<ByteSource> source, Checksums checksums);
  void add_only(const std::string& file, std::unique_ptr<ByteSource> source, Checksums checksums);
  void open_index(const std::string& path, Checksums checksums);
  bool has_sum(const Item& item) const;
  void read_pieces(const std::vector<Piece>& pieces, bool verify) const;
  void read_converted(const Item& item, Tensor target) const;
  void read_elements(const Item& item, int64_t first, const Tensor& target) const;

  std::vector<Shard> shards_;
  std::vector<Item> items_;
  OrderedDict<std::string, std::string> metadata_{"Entry"};
};

}  // namespace tandem::serialize
