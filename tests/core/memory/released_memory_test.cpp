// Storages whose memory is given back for a time, and backward through tensors that lie in them.
#include "tandem/core/memory/released_memory.h"

#include <doctest/doctest.h>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory/cpu_allocator.h"

using namespace tandem;

namespace {

constexpr std::size_t kBytes = 4000;  // small storages have their memory beside the object otherwise

// A view of a storage without memory.
Tensor tensor_in(const Storage& storage) {
  return Tensor(IntrusivePtr<TensorImpl>(new TensorImpl(storage, kFloat, {static_cast<int64_t>(kBytes / 4)})));
}

}  // namespace

TEST_CASE("released memory is counted as free, and the storage's version stays") {
  const int64_t before = memory_stats(kCPU).current_bytes;
  const uint64_t made = memory_stats(kCPU).allocations;
  {
    const Storage storage = detail::make_released_storage(kBytes, Device(kCPU, 0));
    CHECK(detail::is_released(*storage));
    CHECK(memory_stats(kCPU).current_bytes == before);
    detail::restore_memory(*storage);
    CHECK(memory_stats(kCPU).current_bytes == before + static_cast<int64_t>(kBytes));
    Tensor t = tensor_in(storage);
    t.fill_(2);
    const uint32_t version = storage->version();
    for (int i = 0; i < 2; ++i) detail::release_memory(*storage);  // the second does nothing
    CHECK(storage->nbytes() == kBytes);
    CHECK(memory_stats(kCPU).current_bytes == before);
    for (int i = 0; i < 2; ++i) detail::restore_memory(*storage);
    detail::follow_storage(*t.impl());
    CHECK(t.data_ptr() == storage->data());
    CHECK(storage->version() == version);
  }
  CHECK(memory_stats(kCPU).current_bytes == before);
  CHECK(memory_stats(kCPU).allocations == made + 2);
}

TEST_CASE("backward restores what it needs") {
  const Storage storage = detail::make_released_storage(kBytes, Device(kCPU, 0));
  detail::restore_memory(*storage);
  Tensor weight = tensor_in(storage);
  weight.fill_(3);
  const Tensor x = ones({weight.numel()}).requires_grad_(), y = (x * weight.view({10, 100}).view({-1})).sum();
  detail::release_memory(*storage);
  const Tensor blocker = empty({weight.numel()});  // so that the memory comes back elsewhere
  CHECK_THROWS_AS(y.backward({}, true), Error);

  int restored = 0;
  detail::set_restorer(*storage, [&] {
    ++restored;
    detail::restore_memory(*storage);
    detail::follow_storage(*weight.impl());
    const NoGradGuard no_grad;
    Tensor(tensor_in(storage)).data().fill_(3);
  });
  y.backward({}, true);
  y.backward({}, true);
  CHECK(restored == 1);
  CHECK(x.grad().sum().item<double>() == 6.0 * static_cast<double>(weight.numel()));

  detail::release_memory(*storage);
  storage->bump_version("a test");
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("overwritten by a test"), Error);
  const int before = restored;
  detail::set_restorer(*storage, nullptr);
  detail::release_memory(*storage);
  CHECK_THROWS_WITH_AS(detail::restore_values(*storage), doctest::Contains("nothing restores it"), Error);
  CHECK(restored == before);
}
