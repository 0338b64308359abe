// Reads IDX files directly into the memory of tensors, and writes tensors as IDX files.
#include "tandem/core/error.h"
#include "tandem/core/tensor.h"
#include "tandem/datasets/idx.h"

namespace tandem::data {
namespace {

ScalarType scalar_type(IdxType type) {
  switch (type) {
    case IdxType::kUInt8:
      return kUInt8;
    case IdxType::kInt8:
      return kInt8;
    case IdxType::kInt16:
      return kInt16;
    case IdxType::kInt32:
      return kInt32;
    case IdxType::kFloat32:
      return kFloat32;
    case IdxType::kFloat64:
      return kFloat64;
  }
  fail("read_idx: unknown element type");
}

IdxType idx_type(ScalarType type) {
  for (IdxType each :
       {IdxType::kUInt8, IdxType::kInt8, IdxType::kInt16, IdxType::kInt32, IdxType::kFloat32, IdxType::kFloat64})
    if (scalar_type(each) == type) return each;
  fail("write_idx: IDX files cannot store ", type, "; expected uint8, int8, int16, int32, float32 or float64");
}

}  // namespace

Tensor read_idx(const std::string& path) {
  Tensor tensor;
  read_idx(path, [&](const IdxHeader& header) -> void* {
    tensor = empty_raw(header.sizes, scalar_type(header.type), Device(kCPU, 0));
    return tensor.data_ptr();
  });
  return tensor;
}

void write_idx(const std::string& path, const Tensor& tensor) {
  const IdxType type = idx_type(tensor.dtype());
  const Tensor flat = tensor.detach().cpu().contiguous();
  write_idx(path, type, flat.sizes().vec(), flat.data_ptr());
}

}  // namespace tandem::data
