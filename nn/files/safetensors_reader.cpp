// Reading safetensors files: headers and indices first, then elements in chunks on all threads.
#include "tandem/nn/files/safetensors_reader.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/nn/files/crc32.h"
#include "tandem/nn/files/joint_memory.h"
#include "tandem/nn/files/safetensors_index.h"

namespace tandem::serialize {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");
constexpr uint64_t kChunk = uint64_t{1} << 18;  // unit of reading and checksumming: fits the cache
constexpr int64_t kGrain = 8;                   // chunks that a thread takes at once
constexpr int64_t kConverted = 1 << 20;         // elements that are converted at once

uint64_t bytes_of(const TensorEntry& entry) { return entry.end - entry.begin; }

Header read_header(const ByteSource& source, const std::string& file, uint64_t& start) {
  check(source.size() >= 8, file, ": is not a safetensors file: it has ", source.size(), " bytes, fewer than 8");
  uint64_t header_bytes = 0;
  source.read(&header_bytes, 0, 8);
  if (header_bytes > kMaxHeaderBytes) {
    constexpr uint32_t kZip = 0x04034b50;
    const char* kind = static_cast<uint32_t>(header_bytes) == kZip
                           ? "a zip archive: if it is of torch.save, read it with load_pt or load_weights"
                           : mistaken_kind(source);
    if (kind != nullptr) fail(file, ": is not a safetensors file, but ", kind);
  }
  check(header_bytes <= kMaxHeaderBytes, file, ": is not a safetensors file: its header would have ", header_bytes,
        " bytes, more than the limit of ", kMaxHeaderBytes);
  check(header_bytes <= source.size() - 8, file, ": is truncated: its header has ", header_bytes, " bytes, but only ",
        source.size() - 8, " follow");
  std::string text(header_bytes, '\0');
  source.read(text.data(), 8, text.size());
  start = 8 + header_bytes;
  return parse_header(text, source.size() - start, file);
}

// Removes the checksums from the metadata and returns them if they are to be verified.
optional<Sums> take_sums(Header& header, Checksums checksums, const std::string& file) {
  const std::string* text = header.metadata.find(kSumsKey);
  if (text == nullptr) return nullopt;
  optional<Sums> sums;
  if (checksums == Checksums::kVerify && !ignores_sums()) {
    sums = parse_sums(*text, file);
    check_header_sums(header, *sums, file);
  }
  header.metadata.erase(kSumsKey);
  return sums;
}

void check_bools(const char* bytes, uint64_t count, uint64_t first, const std::string& name, const std::string& file) {
  const char* wrong = std::find_if(bytes, bytes + count, [](unsigned char c) { return c > 1; });
  if (wrong != bytes + count)
    fail(file, ": tensor '", name, "' is BOOL, but its element ", first + static_cast<uint64_t>(wrong - bytes), " is ",
         static_cast<int>(static_cast<unsigned char>(*wrong)));
}

// Which of the targets can be filled in any order: they have the file's layout, and their own memory.
std::vector<bool> direct_targets(const std::vector<SafeTensorsReader::Target>& targets,
                                 const std::vector<SafeTensorsReader::Item>& items) {
  std::vector<bool> direct(targets.size());
  struct Range {
    const char *begin, *end;
    std::size_t target;
  };
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor& t = targets[i].tensor;
    direct[i] = t.device().is_cpu() && t.is_contiguous() && t.dtype() == items[targets[i].item].entry.dtype;
    if (!t.device().is_cpu() || t.numel() == 0) continue;
    const auto* storage = static_cast<const char*>(t.storage().data());
    const auto* data = static_cast<const char*>(t.data_ptr());
    if (t.is_contiguous())
      ranges.push_back({data, data + t.nbytes(), i});
    else
      ranges.push_back({storage, storage + t.storage().nbytes(), i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1, last = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[last].end) direct[ranges[i].target] = direct[ranges[last].target] = false;
    if (ranges[i].end > ranges[last].end) last = i;
  }
  return direct;
}

}  // namespace

SafeTensorsReader::SafeTensorsReader(const std::string& path, Checksums checksums) {
  const std::string file = checkpoint_file(path);
  if (file.ends_with(".json"))
    open_index(file, checksums);
  else
    add_only(file, open_file(file), checksums);
}
SafeTensorsReader::SafeTensorsReader(std::unique_ptr<ByteSource> source, const std::string& name, Checksums checksums) {
  add_only(name, std::move(source), checksums);
}

void SafeTensorsReader::add_only(const std::string& file, std::unique_ptr<ByteSource> source, Checksums checksums) {
  for (TensorEntry& entry : add_shard(file, std::move(source), checksums)) items_.push_back({std::move(entry), 0});
}

std::vector<TensorEntry> SafeTensorsReader::add_shard(std::string file, std::unique_ptr<ByteSource> source,
                                                      Checksums checksums) {
  Shard shard{std::move(file), std::move(source)};
  Header header = read_header(*shard.source, shard.file, shard.start);
  shard.sums = take_sums(header, checksums, shard.file);
  for (const auto& item : header.metadata)
    if (!metadata_.contains(item.key())) metadata_.insert(item.key(), item.value());
  shards_.push_back(std::move(shard));
  return std::move(header.tensors);
}

// The tensors of a shard are those that the index says: a tensor too few is missing, one too many could be an older
// version of a tensor in another shard.
void SafeTensorsReader::open_index(const std::string& path, Checksums checksums) {
  const std::unique_ptr<ByteSource> index = open_file(path);
  check(index->size() <= kMaxHeaderBytes, path, ": is no index of a checkpoint: it has ", index->size(),
        " bytes, more than the limit of ", kMaxHeaderBytes);
  std::string text(index->size(), '\0');
  index->read(text.data(), 0, text.size());
  const OrderedDict<std::string, std::string> shard_of = parse_index(text, path);
  const std::string folder = path.substr(0, path.rfind('/') + 1);  // "" if there is no '/'
  std::unordered_map<std::string, std::size_t> shards;
  std::unordered_map<std::string, Item> found;
  for (const auto& item : shard_of) {
    if (!shards.emplace(item.value(), shards_.size()).second) continue;
    const std::string file = folder + item.value();
    for (TensorEntry& entry : add_shard(file, open_file(file), checksums)) {
      const std::string* expected = shard_of.find(entry.name);
      check(expected != nullptr && *expected == item.value(), file, ": has the tensor '", entry.name, "', which ", path,
            expected == nullptr ? " does not list" : concat(" lists for ", *expected));
      std::string name = entry.name;
      found.emplace(std::move(name), Item{std::move(entry), shards_.size() - 1});
    }
  }
  for (const auto& item : shard_of) {
    const auto at = found.find(item.key());
    check(at != found.end(), folder, item.value(), ": lacks the tensor '", item.key(), "', which ", path,
          " lists for it");
    items_.push_back(std::move(at->second));
  }
}

bool SafeTensorsReader::has_sum(const Item& item) const {
  const optional<Sums>& sums = shards_[item.shard].sums;
  return sums && sums->tensors.count(item.entry.name) != 0;
}

void SafeTensorsReader::read_pieces(const std::vector<Piece>& pieces, bool verify) const {
  std::vector<int64_t> first;  // the number of each piece's first chunk
  int64_t chunks = 0;
  for (const Piece& piece : pieces) {
    first.push_back(chunks);
    chunks += static_cast<int64_t>((bytes_of(piece.item->entry) + kChunk - 1) / kChunk);
  }
  std::vector<uint32_t> sums(verify ? static_cast<std::size_t>(chunks) : 0);
  const auto chunk_bytes = [](const TensorEntry& entry, uint64_t at) { return std::min(kChunk, bytes_of(entry) - at); };
  const auto read_chunk = [&](int64_t chunk, std::unique_ptr<char[]>& scratch) {
    const auto after = std::upper_bound(first.begin(), first.end(), chunk);
    const std::size_t index = static_cast<std::size_t>(after - first.begin()) - 1;
    const Piece& piece = pieces[index];
    const TensorEntry& entry = piece.item->entry;
    const Shard& shard = shards_[piece.item->shard];
    const uint64_t at = static_cast<uint64_t>(chunk - first[index]) * kChunk, bytes = chunk_bytes(entry, at);
    if (piece.to == nullptr && scratch == nullptr) scratch = std::make_unique_for_overwrite<char[]>(kChunk);
    char* to = piece.to == nullptr ? scratch.get() : piece.to + at;
    shard.source->read(to, shard.start + entry.begin + at, bytes);
    if (!verify) return;
    if (has_sum(*piece.item)) sums[static_cast<std::size_t>(chunk)] = crc32(to, bytes);
    if (entry.dtype == kBool) check_bools(to, bytes, at, entry.name, shard.file);
  };
  parallel_for(chunks, chunks > 4 * kGrain ? kGrain : 1, [&](int64_t begin, int64_t end) {
    std::unique_ptr<char[]> scratch;
    for (int64_t chunk = begin; chunk < end; ++chunk) read_chunk(chunk, scratch);
  });
  for (std::size_t i = 0; verify && i < pieces.size(); ++i) {
    const Item& item = *pieces[i].item;
    if (!has_sum(item)) continue;
    uint32_t sum = crc_of_kind(item.entry);
    auto chunk = static_cast<std::size_t>(first[i]);
    for (uint64_t at = 0; at < bytes_of(item.entry); at += kChunk)
      sum = joined_crc32(sum, sums[chunk++], chunk_bytes(item.entry, at));
    check_tensor_sum(item.entry, sum, *shards_[item.shard].sums, shards_[item.shard].file);
  }
}

OrderedDict<std::string, Tensor> SafeTensorsReader::read(const optional<Device>& device) const {
  constexpr uint64_t kStaged = uint64_t{1} << 28;
  const bool staged = device && !device->is_cpu();
  NoGradGuard no_grad;
  OrderedDict<std::string, Tensor> out("Tensor");
  for (std::size_t begin = 0, end = 0; begin < items_.size(); begin = end) {
    std::vector<TensorKind> kinds;
    for (uint64_t bytes = 0; end < items_.size(); ++end) {
      const TensorEntry& entry = items_[end].entry;
      bytes += bytes_of(entry);
      if (staged && end > begin && bytes > kStaged) break;
      kinds.push_back({entry.dtype, entry.sizes});
    }
    const std::vector<Tensor> tensors = empty_together(kinds);
    std::vector<Piece> pieces;
    for (std::size_t i = begin; i < end; ++i)
      pieces.push_back({&items_[i], static_cast<char*>(tensors[i - begin].data_ptr())});
    read_pieces(pieces, true);
    for (std::size_t i = begin; i < end; ++i)
      out.insert(items_[i].entry.name, device ? tensors[i - begin].to(*device) : tensors[i - begin]);
  }
  return out;
}

// In parts, so that a large tensor of another dtype needs little memory.
void SafeTensorsReader::read_converted(const Item& item, Tensor target) const {
  if (!target.is_contiguous()) {
    const Tensor all = empty(item.entry.sizes, TensorOptions(item.entry.dtype).device(Device(kCPU)));
    read_pieces({{&item, static_cast<char*>(all.data_ptr())}}, false);
    target.copy_(all);
    return;
  }
  read_elements(item, 0, target.view({-1}));
}

void SafeTensorsReader::read_elements(const Item& item, int64_t first, const Tensor& target) const {
  const TensorEntry& entry = item.entry;
  const Shard& shard = shards_[item.shard];
  const auto bytes = static_cast<uint64_t>(item_size(entry.dtype));
  const Tensor part = empty({std::min(kConverted, target.numel())}, TensorOptions(entry.dtype).device(Device(kCPU)));
  for (int64_t at = 0; at < target.numel(); at += kConverted) {
    const int64_t count = std::min(kConverted, target.numel() - at);
    shard.source->read(part.data_ptr(), shard.start + entry.begin + static_cast<uint64_t>(first + at) * bytes,
                       static_cast<uint64_t>(count) * bytes);
    target.narrow(0, at, count).copy_(part.narrow(0, 0, count));
  }
}

void SafeTensorsReader::read_elements(std::size_t item, int64_t first, Tensor target) const {
  NoGradGuard no_grad;
  const TensorEntry& entry = items_.at(item).entry;
  const auto count = static_cast<int64_t>(bytes_of(entry) / static_cast<uint64_t>(item_size(entry.dtype)));
  check(target.dim() == 1 && target.is_contiguous() && first >= 0 && target.numel() <= count - first,
        shards_[items_[item].shard].file, ": tensor '", entry.name, "' has ", count, " elements; there are not ",
        target.numel(), " from ", first, " on");
  read_elements(items_[item], first, target);
}

void SafeTensorsReader::verify(const std::vector<std::size_t>& items) const {
  std::vector<Piece> pieces;
  for (const std::size_t item : items)
    if (has_sum(items_.at(item)) || items_[item].entry.dtype == kBool) pieces.push_back({&items_[item], nullptr});
  read_pieces(pieces, true);
}

void SafeTensorsReader::read_into(const std::vector<Target>& targets) const {
  NoGradGuard no_grad;
  std::vector<Piece> verified, pieces;
  for (const Target& target : targets) {
    const Item& item = items_[target.item];
    check(target.tensor.sizes() == IntArrayRef(item.entry.sizes), shards_[item.shard].file, ": tensor '",
          item.entry.name, "' has shape ", item.entry.sizes, ", its target ", target.tensor.sizes());
    if (has_sum(item) || item.entry.dtype == kBool) verified.push_back({&item, nullptr});
  }
  read_pieces(verified, true);
  const std::vector<bool> direct = direct_targets(targets, items_);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!direct[i]) continue;
    pieces.push_back({&items_[targets[i].item], static_cast<char*>(targets[i].tensor.data_ptr())});
    targets[i].tensor.impl()->versions().bump_version("load");
  }
  read_pieces(pieces, false);
  // Again, for what another thread kept of a tensor while it was being read.
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (direct[i]) targets[i].tensor.impl()->versions().bump_version("load");
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!direct[i]) read_converted(items_[targets[i].item], targets[i].tensor);
}

}  // namespace tandem::serialize
