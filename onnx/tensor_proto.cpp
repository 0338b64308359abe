#include "tandem/onnx/tensor_proto.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tandem/autograd/ops.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/nn/files/byte_source.h"

namespace tandem::onnx {
namespace {

using Proto = proto::TensorProto;
static_assert(std::endian::native == std::endian::little);

struct DataType {
  int number;
  const char* name;
  ScalarType dtype;
};
constexpr DataType kTypes[] = {
    {Proto::FLOAT, "float32", kFloat},
    {Proto::UINT8, "uint8", kByte},
    {Proto::INT8, "int8", kChar},
    {Proto::UINT16, "uint16", ScalarType::Undefined},
    {Proto::INT16, "int16", kShort},
    {Proto::INT32, "int32", kInt},
    {Proto::INT64, "int64", kLong},
    {Proto::STRING, "string", ScalarType::Undefined},
    {Proto::BOOL, "bool", kBool},
    {Proto::FLOAT16, "float16", kHalf},
    {Proto::DOUBLE, "float64", kDouble},
    {Proto::UINT32, "uint32", ScalarType::Undefined},
    {Proto::UINT64, "uint64", ScalarType::Undefined},
    {Proto::COMPLEX64, "complex64", kComplexFloat},
    {Proto::COMPLEX128, "complex128", kComplexDouble},
    {Proto::BFLOAT16, "bfloat16", kBFloat16},
    // Newer than Debian's headers.
    {17, "float8e4m3fn", ScalarType::Undefined},
    {18, "float8e4m3fnuz", ScalarType::Undefined},
    {19, "float8e5m2", ScalarType::Undefined},
    {20, "float8e5m2fnuz", ScalarType::Undefined},
    {21, "uint4", ScalarType::Undefined},
    {22, "int4", ScalarType::Undefined},
    {23, "float4e2m1", ScalarType::Undefined},
    {24, "float8e8m0", ScalarType::Undefined},
    {25, "uint2", ScalarType::Undefined},
    {26, "int2", ScalarType::Undefined},
};
const DataType* find(int number) {
  for (const DataType& type : kTypes)
    if (type.number == number) return &type;
  return nullptr;
}

// The field for elements that are no raw data: one number each, or two for a complex one.
template <class T>
const auto& field_of(const Proto& from) {
  if constexpr (std::is_same_v<T, float>)
    return from.float_data();
  else if constexpr (std::is_same_v<T, double>)
    return from.double_data();
  else if constexpr (std::is_same_v<T, int64_t>)
    return from.int64_data();
  else
    return from.int32_data();
}
template <class T>
T element(auto number) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(number);
  else
    return std::bit_cast<T>(static_cast<uint16_t>(number));  // half types are stored as bits
}

uint64_t number_of(const std::string& text, const std::string& key) {
  uint64_t value = 0;
  bool good = !text.empty() && text.size() < 20;
  for (const char c : text) {
    good = good && c >= '0' && c <= '9';
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  check(good, "external data: ", key, " is not a number: '", text, "'");
  return value;
}

// The data of a tensor in a file of their own.
struct ExternalData {
  std::unique_ptr<serialize::ByteSource> source;
  uint64_t offset = 0;
};
ExternalData open_external(const Proto& from, uint64_t bytes, const std::string& folder) {
  check(!folder.empty(), "its data are in another file, and there is no folder to look for it");
  ExternalData out;
  std::string at;
  for (const auto& entry : from.external_data()) {
    if (entry.key() == "location") at = entry.value();
    if (entry.key() == "offset") out.offset = number_of(entry.value(), "offset");
    if (entry.key() == "length") {
      const uint64_t length = number_of(entry.value(), "length");
      check(length == bytes, "its data have ", length, " bytes, expected ", bytes);
    }
  }
  // A model must not read other files of the user who loads it.
  check(!at.empty() && at.front() != '/' && ("/" + at + "/").find("/../") == std::string::npos,
        "its data must be in a file within the model's folder, not in '", at, "'");
  const std::string path = folder + "/" + at;
  out.source = serialize::open_file(path);
  check(out.offset <= out.source->size() && bytes <= out.source->size() - out.offset, path, " has ", out.source->size(),
        " bytes, too few for ", bytes, " bytes from byte ", out.offset);
  return out;
}

Tensor make(const Proto& from, const std::string& folder) {
  const ScalarType dtype = dtype_of(from.data_type());
  check(dtype != ScalarType::Undefined, "Tandem has no dtype ", type_name(from.data_type()));
  check(from.dims_size() <= kMaxDims, "it has ", from.dims_size(), " dimensions, more than ", kMaxDims);
  std::vector<int64_t> sizes(from.dims().begin(), from.dims().end());
  int64_t count = 1, others = 1;  // operators multiply the other sizes of an empty tensor, too
  for (const int64_t size : sizes) {
    check(size >= 0, "it has the size ", size);
    count = multiply_sizes("onnx", count, size);
    others = multiply_sizes("onnx", others, std::max<int64_t>(size, 1));
  }
  check(others <= kMaxSize, "it has too many elements");
  const int64_t bytes = multiply_sizes("onnx", count, static_cast<int64_t>(elementSize(dtype)));
  const int64_t numbers = multiply_sizes("onnx", count, is_complex(dtype) ? 2 : 1);
  const bool raw = from.has_raw_data() || count == 0;
  ExternalData external;
  if (from.data_location() == Proto::EXTERNAL) {
    external = open_external(from, static_cast<uint64_t>(bytes), folder);
  } else if (raw) {
    check(static_cast<int64_t>(from.raw_data().size()) == bytes, "its data have ", from.raw_data().size(),
          " bytes, expected ", bytes);
  } else {
    int64_t stored = 0;
    dispatch(toRealValueType(dtype), AllTypes{}, "onnx", [&]<class T>(Type<T>) { stored = field_of<T>(from).size(); });
    check(stored == numbers, "it has ", stored, " numbers, expected ", numbers);
  }
  Tensor out = empty(sizes, TensorOptions(kCPU).dtype(dtype));
  if (external.source != nullptr) {
    serialize::read_with_threads(*external.source, out.data_ptr(), external.offset, static_cast<uint64_t>(bytes));
  } else if (raw) {
    if (bytes != 0) std::memcpy(out.data_ptr(), from.raw_data().data(), static_cast<std::size_t>(bytes));
  } else {
    dispatch(toRealValueType(dtype), AllTypes{}, "onnx", [&]<class T>(Type<T>) {
      using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
      std::ranges::transform(field_of<T>(from), static_cast<Stored*>(out.data_ptr()),
                             [](auto number) { return element<Stored>(number); });
    });
  }
  if (dtype == kBool) {  // any other byte would be undefined behaviour
    auto* byte = static_cast<uint8_t*>(out.data_ptr());
    for (int64_t i = 0; i < count; ++i) byte[i] = byte[i] != 0;
  }
  return out;
}

}  // namespace

ScalarType dtype_of(int data_type) {
  const DataType* type = find(data_type);
  return type == nullptr ? ScalarType::Undefined : type->dtype;
}
std::string type_name(int data_type) {
  const DataType* type = find(data_type);
  return type == nullptr ? "number " + std::to_string(data_type) : type->name;
}
int data_type_of(ScalarType dtype) {
  for (const DataType& type : kTypes)
    if (type.dtype == dtype) return type.number;
  fail("onnx: there is no type for ", dtype);
}

Tensor tensor_of(const Proto& from, const std::string& folder) {
  try {
    return make(from, folder);
  } catch (const Error& error) {
    fail("tensor '", from.name(), "': ", error.what());
  }
}

Tensor tensor_of(const proto::SparseTensorProto& from, const std::string& folder) {
  const Tensor values = tensor_of(from.values(), folder);
  Tensor indices = tensor_of(from.indices(), folder);
  const std::vector<int64_t> sizes(from.dims().begin(), from.dims().end());
  const auto good = [&](bool holds) { check(holds, "sparse tensor '", from.values().name(), "' is not valid"); };
  good(values.dim() == 1 && indices.scalar_type() == kLong && indices.size(0) == values.size(0));
  int64_t count = 1;
  for (const int64_t size : sizes) {
    good(size >= 0);
    count = multiply_sizes("onnx", count, size);
  }
  // The file does not bound its size.
  constexpr int64_t kMaxElements = int64_t{1} << 28;
  check(count <= kMaxElements, "sparse tensor '", from.values().name(), "' has ", count, " elements, more than ",
        kMaxElements);
  if (indices.dim() == 2) {
    good(indices.size(1) == static_cast<int64_t>(sizes.size()));
    Tensor flat = zeros({indices.size(0)}, kLong);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const Tensor column = indices.select(1, static_cast<int64_t>(d));
      good(column.numel() == 0 || (column.min().item<int64_t>() >= 0 && column.max().item<int64_t>() < sizes[d]));
      flat = flat * sizes[d] + column;
    }
    indices = flat;
  }
  good(indices.dim() == 1 &&
       (indices.numel() == 0 || (indices.min().item<int64_t>() >= 0 && indices.max().item<int64_t>() < count)));
  Tensor out = zeros({count}, values.options());
  return out.index_put_({indices}, values).view(sizes);
}

}  // namespace tandem::onnx
