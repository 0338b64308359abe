// DLPack under LibTorch's names.
#include <ATen/DLConvertor.h>
#include <doctest/doctest.h>

TEST_CASE("LibTorch's functions for DLPack") {
  const at::Tensor t = torch::arange(6, torch::kInt).view({2, 3});
  at::Tensor back = at::fromDLPack(at::toDLPack(t));
  CHECK(back.equal(t));
  CHECK_EQ(back.data_ptr(), t.data_ptr());
  back = at::fromDLPackVersioned(at::toDLPackVersioned(t));
  CHECK_EQ(back.data_ptr(), t.data_ptr());
  back = at::DLPackTraits<DLManagedTensor>::fromDLPack(at::DLPackTraits<DLManagedTensor>::toDLPack(t), {});
  CHECK_EQ(back.data_ptr(), t.data_ptr());
  CHECK_NE(at::fromDLPackVersioned(at::toDLPackVersionedReadOnly(t)).data_ptr(), t.data_ptr());

  DLTensor described;
  at::toDLPackNonOwning(t, &described);
  CHECK_EQ(described.data, t.data_ptr());
  CHECK_EQ(described.shape[1], 3);
  CHECK_EQ(described.strides[0], 3);
  const DLDataType type = at::getDLDataType(t);
  CHECK((type.code == kDLInt && type.bits == 32 && type.lanes == 1));
  CHECK((at::toScalarType(type) == torch::kInt));
  CHECK((at::getDLContext(t, 0).device_type == kDLCPU));
  CHECK(at::dlDeviceToTorchDevice(kDLCPU, 0).is_cpu());
  CHECK_THROWS(at::dlDeviceToTorchDevice(kDLMetal, 0));
  CHECK_EQ(at::maybeCopyTensor(t, DLDevice{kDLCPU, 0}, std::nullopt).data_ptr(), t.data_ptr());
  CHECK_NE(at::maybeCopyTensor(t, std::nullopt, true).data_ptr(), t.data_ptr());
}
