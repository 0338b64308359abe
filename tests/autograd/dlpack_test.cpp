// DLPack: shared memory in both directions, lifetimes, geometry, dtypes, and structs that are refused.
// dlpack_exchange.py exchanges tensors with PyTorch and NumPy.
#include "tandem/autograd/dlpack.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <thread>

#include "tandem/autograd/ops.h"
#include "tandem/core/dlpack_structs.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using test::error_of;
using test::says;

// The layout of DLPack 1.1 on 64-bit machines.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, flags) == 24 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

namespace {

// What another library would hand out: six floats, and how often they were given back.
template <class Managed>
struct Foreign {
  float values[6] = {0, 1, 2, 3, 4, 5};
  int64_t sizes[2] = {2, 3}, strides[2] = {3, 1};
  int freed = 0;
  Managed managed{};
  Foreign() {
    managed.dl_tensor = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->freed; };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 0};
  }
};

}  // namespace

TEST_CASE_TEMPLATE("a tensor from another library shares its memory until the last reference", Managed, DLManagedTensor,
                   DLManagedTensorVersioned) {
  Foreign<Managed> foreign;
  Tensor t = from_dlpack(&foreign.managed);
  CHECK(equal(t, arange(6, kFloat).view({2, 3})));
  t.add_(1);
  CHECK_EQ(foreign.values[5], 6);
  Tensor row = t[1];
  t.reset();
  CHECK_EQ(foreign.freed, 0);
  std::thread([&row] { row.reset(); }).join();
  CHECK_EQ(foreign.freed, 1);
}

TEST_CASE("geometry of a tensor from another library") {
  Foreign<DLManagedTensor> foreign;
  DLTensor& d = foreign.managed.dl_tensor;
  d.strides = nullptr;
  CHECK_EQ(from_dlpack(&foreign.managed).strides(), IntArrayRef({3, 1}));
  d.strides = foreign.strides;
  foreign.sizes[0] = 2, foreign.sizes[1] = 2, foreign.strides[0] = 1, foreign.strides[1] = 2;
  d.byte_offset = 4;
  const Tensor t = from_dlpack(&foreign.managed);
  CHECK_EQ(t.data_ptr<float>(), foreign.values + 1);
  CHECK(equal(t, arange(1, 5, kFloat).view({2, 2}).t()));
  d.ndim = 0;
  CHECK_EQ(from_dlpack(&foreign.managed).item<float>(), 1);
  d.ndim = 2;
  foreign.sizes[0] = 0;
  d.data = nullptr;
  CHECK_EQ(from_dlpack(&foreign.managed).numel(), 0);
  CHECK_EQ(foreign.freed, 3);  // t is alive
}

TEST_CASE("a deleter of the caller's takes the place of the struct's") {
  Foreign<DLManagedTensor> foreign;
  void* freed = nullptr;
  from_dlpack(&foreign.managed, [&freed](void* data) { freed = data; });
  CHECK_EQ(freed, foreign.values);
  CHECK_EQ(foreign.freed, 0);
  foreign.managed.deleter = nullptr;  // memory that lives forever
  CHECK_EQ(from_dlpack(&foreign.managed).numel(), 6);
}

TEST_CASE("read-only memory is copied") {
  Foreign<DLManagedTensorVersioned> foreign;
  foreign.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const Tensor t = from_dlpack(&foreign.managed);
  CHECK_EQ(foreign.freed, 1);
  CHECK(equal(t, arange(6, kFloat).view({2, 3})));
  t.detach().zero_();
  CHECK_EQ(foreign.values[5], 5);
  void* freed = nullptr;
  from_dlpack(&foreign.managed, [&freed](void* data) { freed = data; });
  CHECK_EQ(freed, foreign.values);
  CHECK_EQ(foreign.freed, 1);
  foreign.managed.deleter = nullptr;
  CHECK_EQ(from_dlpack(&foreign.managed).numel(), 6);
  foreign.managed.flags = ~uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY};  // of no meaning here
  CHECK_EQ(from_dlpack(&foreign.managed).data_ptr<float>(), foreign.values);
}

TEST_CASE("structs that are refused remain the caller's") {
  const auto refusal = [](const std::function<void(DLTensor&)>& change) {
    Foreign<DLManagedTensor> foreign;
    change(foreign.managed.dl_tensor);
    const std::string error = error_of([&] { from_dlpack(&foreign.managed); });
    CHECK_EQ(foreign.freed, 0);
    return error;
  };
  CHECK(says(refusal([](DLTensor& d) { d.data = nullptr; }), "no memory"));
  CHECK(says(refusal([](DLTensor& d) { d.shape = nullptr; }), "no shape"));
  CHECK(says(refusal([](DLTensor& d) { d.ndim = 13; }), "13 dimensions"));
  CHECK(says(refusal([](DLTensor& d) { d.ndim = -1; }), "-1 dimensions"));
  CHECK(says(refusal([](DLTensor& d) { d.shape[0] = -2; }), "negative size"));
  CHECK(says(refusal([](DLTensor& d) { d.strides[1] = -1; }), "negative strides"));
  CHECK(says(refusal([](DLTensor& d) { d.shape[0] = int64_t{1} << 62; }), "too many elements"));
  CHECK(says(refusal([](DLTensor& d) { d.dtype = {kDLUInt, 24, 1}; }), "type code 1 with 24 bits"));
  CHECK(says(refusal([](DLTensor& d) { d.dtype.lanes = 4; }), "4 lanes"));
  CHECK(says(refusal([](DLTensor& d) { d.device.device_type = kDLROCM; }), "device type 10"));
  CHECK(says(refusal([](DLTensor& d) { d.shape[1] = -1; }), "negative size"));
  for (const int id : {-1, 128, 129}) {
    CHECK(says(refusal([=](DLTensor& d) { d.device = {kDLCUDA, id}; }), concat("there is no cuda:", id)));
    CHECK(says(refusal([=](DLTensor& d) { d.device = {kDLCUDAManaged, id}; }), concat("there is no cuda:", id)));
  }
  CHECK(says(error_of([] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }), "is null"));
  CHECK(says(error_of([] { from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)); }), "is null"));
  Foreign<DLManagedTensorVersioned> later;
  later.managed.version = {2, 0};
  CHECK(says(error_of([&] { from_dlpack(&later.managed); }), "version 2.0"));
  CHECK_EQ(later.freed, 0);
  later.managed.version = {0, 9};
  CHECK(says(error_of([&] { from_dlpack(&later.managed); }), "version 0.9 of DLPack; known is 1"));
  later.managed.version = {1, 99};
  CHECK_EQ(from_dlpack(&later.managed).numel(), 6);
  CHECK_EQ(later.freed, 1);
}

TEST_CASE("structs at the limits of what is accepted") {
  Foreign<DLManagedTensor> foreign;
  DLTensor& d = foreign.managed.dl_tensor;
  d.device = {kDLCUDAHost, 3};  // memory of the host, whichever GPU it is pinned for
  CHECK(from_dlpack(&foreign.managed).is_cpu());
  std::vector<int64_t> ones(kMaxDims, 1);
  d.ndim = kMaxDims;
  d.shape = ones.data();
  d.strides = ones.data();
  CHECK_EQ(from_dlpack(&foreign.managed).dim(), kMaxDims);
  d.ndim = 0;
  d.shape = nullptr;
  d.strides = nullptr;
  CHECK_EQ(from_dlpack(&foreign.managed).item<float>(), 0);
  CHECK_EQ(foreign.freed, 3);
}

TEST_CASE("another library keeps a tensor alive, and frees it on any thread") {
  const int64_t before = memory_stats(Device(kCPU)).current_bytes;
  Tensor t = arange(12, kFloat).view({3, 4});
  DLManagedTensor* managed = to_dlpack(t.t().narrow(0, 1, 2));
  const float* data = t.data_ptr<float>();
  t.reset();
  const DLTensor& d = managed->dl_tensor;
  CHECK_EQ(static_cast<const char*>(d.data) + d.byte_offset, reinterpret_cast<const char*>(data + 1));
  CHECK_EQ(IntArrayRef(d.shape, 2), IntArrayRef({2, 3}));
  CHECK_EQ(IntArrayRef(d.strides, 2), IntArrayRef({1, 4}));
  CHECK((d.device.device_type == kDLCPU));
  CHECK_EQ(data[11], 11);
  std::thread([managed] { managed->deleter(managed); }).join();
  CHECK_EQ(memory_stats(Device(kCPU)).current_bytes, before);
}

TEST_CASE("all dtypes go out and come back") {
  for (const ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16,
                                kComplexFloat, kComplexDouble, kUInt16, kUInt32, kUInt64}) {
    const Tensor t = arange(6, kFloat).to(type);
    const Tensor old = from_dlpack(to_dlpack(t)), back = from_dlpack(to_dlpack_versioned(t));
    CHECK((back.dtype() == type));
    CHECK((old.dtype() == type));
    CHECK_EQ(back.data_ptr(), t.data_ptr());
    CHECK_EQ(back.sizes(), t.sizes());
  }
  CHECK(says(error_of([] { to_dlpack(Tensor()); }), "undefined"));
}

TEST_CASE("versions, flags, gradients and strides of what goes out") {
  const Tensor t = zeros({1, 3}).t().requires_grad_();
  DLManagedTensorVersioned* managed = to_dlpack_versioned(t, true);
  CHECK_EQ(managed->version.major, 1);
  CHECK_EQ(managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  CHECK_EQ(IntArrayRef(managed->dl_tensor.strides, 2), IntArrayRef({1, 1}));
  const Tensor copy = from_dlpack(managed);
  CHECK_NE(copy.data_ptr(), t.data_ptr());
  managed = to_dlpack_versioned(zeros({2, 1, 3, 0, 2}));
  CHECK_EQ(managed->version.minor, DLPACK_MINOR_VERSION);
  CHECK_EQ(managed->dl_tensor.ndim, 5);
  CHECK_EQ(IntArrayRef(managed->dl_tensor.shape, 5), IntArrayRef({2, 1, 3, 0, 2}));
  CHECK_EQ(IntArrayRef(managed->dl_tensor.strides, 5)[1], 1);
  CHECK_EQ(IntArrayRef(managed->dl_tensor.strides, 5)[3], 1);
  CHECK_EQ(IntArrayRef(managed->dl_tensor.strides, 5)[4], 1);
  managed->deleter(managed);
  managed = to_dlpack_versioned(ones({2, 2}).t());
  CHECK_EQ(IntArrayRef(managed->dl_tensor.strides, 2), IntArrayRef({1, 2}));
  managed->deleter(managed);
  const Tensor back = from_dlpack(to_dlpack(t));
  CHECK_FALSE(back.requires_grad());
  managed = to_dlpack_versioned(zeros({}));
  CHECK_EQ(managed->flags, 0);
  managed->deleter(managed);
}
