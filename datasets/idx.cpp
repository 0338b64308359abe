// IDX reading and writing. Multi-byte elements are converted from big-endian in place after the bulk read.
#include "tandem/datasets/idx.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"

namespace tandem::data {
namespace {

constexpr int64_t kMaxSize = 0xFFFFFFFF;

struct ElementType {
  IdxType idx;
  ScalarType dtype;
};
constexpr ElementType kTypes[] = {{IdxType::kUInt8, kUInt8},     {IdxType::kInt8, kInt8},
                                  {IdxType::kInt16, kInt16},     {IdxType::kInt32, kInt32},
                                  {IdxType::kFloat32, kFloat32}, {IdxType::kFloat64, kFloat64}};

// nullptr if there is none.
template <class T>
const ElementType* find_type(T ElementType::*member, T value) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const ElementType& type) { return type.*member == value; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string hex(uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02X", byte);
  return text;
}

// Sets elements and bytes. A size of 0 makes the array empty, but the product of the others must fit all the
// same.
void multiply_sizes(IdxHeader& header, const std::string& name) {
  int64_t elements = 1, not_empty = idx_item_size(header.type);
  for (int64_t size : header.sizes) {
    elements = size == 0 ? 0 : elements;
    check(!__builtin_mul_overflow(not_empty, std::max<int64_t>(size, 1), &not_empty), name, ": sizes ", header.sizes,
          " are too large: their product does not fit in 63 bits");
  }
  header.elements = elements == 0 ? 0 : not_empty / idx_item_size(header.type);
  header.bytes = static_cast<std::size_t>(header.elements) * static_cast<std::size_t>(idx_item_size(header.type));
}

IdxHeader read_header(GzInput& input) {
  const std::string& name = input.name();
  uint8_t magic[4];
  const std::size_t got = input.read(magic, sizeof magic);
  check(got == sizeof magic, name, ": not an IDX file: it has only ", got, " bytes");
  check(magic[0] == 0 && magic[1] == 0, name, ": not an IDX file: it begins with ", hex(magic[0]), " ", hex(magic[1]),
        " instead of 0x00 0x00");
  check(find_type(&ElementType::idx, static_cast<IdxType>(magic[2])) != nullptr, name, ": unknown IDX element type ",
        hex(magic[2]), " (known: 0x08 uint8, 0x09 int8, 0x0B int16, 0x0C int32, 0x0D float32, 0x0E float64)");
  const int rank = magic[3];
  check(rank >= 1 && rank <= kMaxDims, name, ": IDX rank ", rank, " is outside 1 to ", kMaxDims);

  IdxHeader header;
  header.type = static_cast<IdxType>(magic[2]);
  uint8_t sizes[4 * kMaxDims];
  check(input.read(sizes, static_cast<std::size_t>(4 * rank)) == static_cast<std::size_t>(4 * rank), name,
        ": truncated in the IDX header, which must have ", rank, " sizes");
  for (int i = 0; i < rank; ++i) {
    const uint8_t* s = sizes + 4 * i;
    header.sizes.push_back(int64_t{s[0]} << 24 | int64_t{s[1]} << 16 | int64_t{s[2]} << 8 | int64_t{s[3]});
  }
  multiply_sizes(header, name);
  return header;
}

// Checks, before memory is allocated, that the file can contain what its header says.
void check_plausible(const GzInput& input, const IdxHeader& header) {
  const uint64_t head = 4 + 4 * header.sizes.size();
  const uint64_t expected = head + header.bytes;
  if (input.is_gzip()) {
    check(expected <= input.max_bytes(), input.name(), ": sizes ", header.sizes, " require ", header.bytes,
          " bytes of elements; a gzip file of ", input.file_bytes(), " bytes cannot contain that many");
  } else if (input.file_bytes() != expected) {
    fail(input.name(), ": ", input.file_bytes() < expected ? "truncated" : "too long", ": sizes ", header.sizes,
         " require a file of ", expected, " bytes, got ", input.file_bytes());
  }
}

template <class T>
void swap_each(void* data, int64_t count) {
  unsigned char* bytes = static_cast<unsigned char*>(data);
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    if constexpr (sizeof(T) == 2)
      value = __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4)
      value = __builtin_bswap32(value);
    else
      value = __builtin_bswap64(value);
    std::memcpy(bytes + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

// Converts between big-endian and the machine's byte order, in either direction.
void convert_order(void* data, int64_t count, int item_size) {
  if constexpr (std::endian::native == std::endian::big) return;
  if (item_size == 2) swap_each<uint16_t>(data, count);
  if (item_size == 4) swap_each<uint32_t>(data, count);
  if (item_size == 8) swap_each<uint64_t>(data, count);
}

std::string encode(IdxType type, const std::vector<int64_t>& sizes, const IdxHeader& header, const void* elements) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (int64_t size : sizes)
    for (int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(size >> shift & 0xFF));
  const std::size_t head = out.size();
  out.resize(head + header.bytes);
  if (header.bytes != 0) std::memcpy(out.data() + head, elements, header.bytes);
  convert_order(out.data() + head, header.elements, idx_item_size(type));
  return out;
}

void write_gzip(AtomicFile& file, std::string_view content) {
  struct Deflate {
    z_stream stream{};
    ~Deflate() { deflateEnd(&stream); }
  } z;
  check(deflateInit2(&z.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib: initialisation failed");
  std::vector<unsigned char> buffer(256 * 1024);
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  int status = Z_OK;
  do {
    const std::size_t piece = std::min(content.size(), kPiece);
    z.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    z.stream.avail_in = static_cast<uInt>(piece);
    content.remove_prefix(piece);
    do {
      z.stream.next_out = buffer.data();
      z.stream.avail_out = static_cast<uInt>(buffer.size());
      status = deflate(&z.stream, content.empty() ? Z_FINISH : Z_NO_FLUSH);
      file.write(buffer.data(), buffer.size() - z.stream.avail_out);
    } while (z.stream.avail_out == 0);
  } while (!content.empty());
  check(status == Z_STREAM_END, "zlib: deflate failed");
}

}  // namespace

int idx_item_size(IdxType type) {
  const ElementType* found = find_type(&ElementType::idx, type);
  return found == nullptr ? 1 : static_cast<int>(item_size(found->dtype));
}

IdxHeader read_idx(GzInput& input, IdxAllocate allocate) {
  const IdxHeader header = read_header(input);
  check_plausible(input, header);
  void* elements = allocate(header);
  const std::size_t got = input.read(elements, header.bytes);
  check(got == header.bytes, input.name(), ": truncated: sizes ", header.sizes, " require ", header.bytes,
        " bytes of elements, got ", got);
  // Reading one more byte also makes zlib verify the checksum of the whole stream.
  char extra;
  check(input.read(&extra, 1) == 0, input.name(), ": too long: more bytes follow the ", header.bytes, " that sizes ",
        header.sizes, " require");
  convert_order(elements, header.elements, idx_item_size(header.type));
  return header;
}

IdxHeader read_idx(const std::string& path, IdxAllocate allocate) {
  GzInput input(path);
  return read_idx(input, allocate);
}

void write_idx(const std::string& path, IdxType type, const std::vector<int64_t>& sizes, const void* elements) {
  check(!sizes.empty() && sizes.size() <= kMaxDims, "write_idx: ", path, ": expected 1 to ", kMaxDims, " sizes, got ",
        sizes.size());
  for (int64_t size : sizes)
    check(size >= 0 && size <= kMaxSize, "write_idx: ", path, ": size ", size, " does not fit in 32 bits");
  IdxHeader header{.type = type, .sizes = sizes};
  multiply_sizes(header, path);
  const std::string content = encode(type, sizes, header, elements);
  AtomicFile file(path);
  if (std::string_view(path).ends_with(".gz"))
    write_gzip(file, content);
  else
    file.write(content);
  file.commit();
}

Tensor read_idx(const std::string& path) {
  Tensor tensor;
  read_idx(path, [&](const IdxHeader& header) -> void* {
    tensor = empty_raw(header.sizes, find_type(&ElementType::idx, header.type)->dtype, Device(kCPU, 0));
    return tensor.data_ptr();
  });
  return tensor;
}

void write_idx(const std::string& path, const Tensor& tensor) {
  const ScalarType dtype = tensor.scalar_type();
  const ElementType* type = find_type(&ElementType::dtype, dtype);
  check(type != nullptr, "write_idx: IDX files cannot store ", dtype,
        "; expected uint8, int8, int16, int32, float32 or float64");
  const Tensor flat = tensor.detach().cpu().contiguous();
  write_idx(path, type->idx, flat.sizes().vec(), flat.data_ptr());
}

}  // namespace tandem::data
