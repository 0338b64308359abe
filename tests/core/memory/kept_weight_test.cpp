// KeptWeight: whatever changes a weight, a convolution never uses a copy that was packed before.
#include "tandem/core/memory/kept_weight.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/autograd/dlpack.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/dlpack_structs.h"

using namespace tandem;

namespace {

Tensor convolved(const Tensor& x, const Tensor& weight, KeptWeight* kept) {
  return autograd::conv2d_with_epilogue(x, weight, {}, 1, IntArrayRef(1), 1, 1, kept);
}

// The copy that is held for `weight`, packed as its values are now; counts the calls that pack.
struct Packer {
  KeptWeight kept;
  int packed = 0;
  std::shared_ptr<const void> get(const Tensor& weight, int64_t layout = 1) {
    return kept.get(weight, layout, weight.nbytes(), [&](void* to) {
      ++packed;
      std::memcpy(to, weight.data_ptr(), weight.nbytes());
    });
  }
};

}  // namespace

TEST_CASE("a weight is packed once, and again after every kind of write") {
  manual_seed(1);
  const NoGradGuard no_grad;
  struct Write {
    std::string name;
    std::function<void(const Tensor&)> run;
  };
  const std::vector<Write> writes{
      {"copy_",
       [](const Tensor& w) {
         w.copy_(randn({32, 32, 3, 3}));
       }},
      {"mul_", [](const Tensor& w) { w.mul_(2); }},
      {"a view", [](const Tensor& w) { w.view(-1).select(0, 5).fill_(3); }},
      {"index_put_", [](const Tensor& w) { w[0][0].fill_(3); }},
      {"data()", [](const Tensor& w) { w.data().mul_(2); }},
      {"detach()", [](const Tensor& w) { w.detach().mul_(2); }},
      {"set_data",
       [](const Tensor& w) {
         w.set_data(randn({32, 32, 3, 3}));
       }},
      {"a DLPack export",
       [](const Tensor& w) {
         DLManagedTensor* shared = to_dlpack(w);
         static_cast<float*>(shared->dl_tensor.data)[7] += 1;
         shared->deleter(shared);
       }},
  };
  const Tensor x = randn({1, 32, 8, 8});
  for (const bool inference : {false, true}) {
    const InferenceMode guard(inference);
    const Tensor weight = randn({32, 32, 3, 3}), counted = weight.clone();
    CHECK_EQ(weight.is_inference(), inference);
    KeptWeight kept;
    Packer packer;
    convolved(x, weight, &kept);
    packer.get(counted);
    for (const Write& write : writes) {
      INFO(write.name, inference ? " in InferenceMode" : "");
      const Tensor before = convolved(x, weight, &kept);
      CHECK(before.equal(convolved(x, weight, &kept)));
      const int packed = packer.packed;
      CHECK(packer.get(counted) == packer.get(counted));
      CHECK_EQ(packer.packed, packed);
      write.run(weight);
      write.run(counted);
      CHECK_FALSE(convolved(x, weight, &kept).equal(before));
      CHECK(convolved(x, weight, &kept).equal(convolved(x, weight.clone(), nullptr)));
      CHECK(packer.get(counted) != nullptr);
      CHECK_EQ(packer.packed, packed + 1);
    }
    packer.get(counted, 2);
    CHECK_EQ(packer.packed, static_cast<int>(writes.size()) + 2);
  }
}

TEST_CASE("a copy is of one weight's memory, dtype and shape, and in one layout") {
  const NoGradGuard no_grad;
  const Tensor weight = randn({4, 8});
  TensorImpl& impl = *weight.impl();
  Packer packer;
  std::size_t bytes = 64;
  int64_t layout = 1;
  const auto get = [&] {
    packer.kept.get(weight, layout, bytes, [&](void*) { ++packer.packed; });
    return packer.packed;
  };
  const std::function<void()> changes[] = {
      [] {},
      [&] {
        impl.set_geometry({2, 8}, {8, 1}, 0);
      },
      [&] {
        impl.set_geometry({4, 4}, {4, 1}, 0);
      },
      [&] {
        impl.set_geometry({4, 4}, {4, 1}, 1);
      },
      [&] { impl.dtype = kInt; },
      [&] { layout = 2; },
      [&] { bytes = 128; },
      [&] { impl.storage->bump_version("a test"); },
      [&] {
        impl.storage = make_storage(128, kCPU);
        impl.refresh();
      },
      [] { detail::note_unversioned_alias(); },
  };
  int wanted = 0;
  for (const auto& change : changes) {
    change();
    ++wanted;
    CHECK_EQ(get(), wanted);
    CHECK_EQ(get(), wanted);
  }
}

TEST_CASE("nothing is kept while others may write the memory") {
  const NoGradGuard no_grad;
  const Tensor weight = randn({32, 32, 3, 3}), x = randn({1, 32, 8, 8});
  Packer packer;
  {
    const Tensor other = weight.data();
    CHECK(packer.get(weight) == nullptr);
    KeptWeight kept;
    const Tensor before = convolved(x, weight, &kept);
    other.mul_(2);
    CHECK(convolved(x, weight, &kept).equal(before * 2));
  }
  CHECK(packer.get(weight) != nullptr);
  std::vector<float> memory(16, 1.0f);
  CHECK(packer.get(from_blob(memory.data(), {16})) == nullptr);
  CHECK(packer.get(weight.data()) == nullptr);
  CHECK_EQ(packer.packed, 1);
}

TEST_CASE("a copy is freed with its holder, when it is out of date, and where gradients are recorded") {
  const Tensor weight = randn({32, 32, 3, 3}), x = randn({1, 32, 8, 8});
  std::weak_ptr<const void> copy;
  {
    Packer packer;
    copy = packer.get(weight);
    CHECK_FALSE(copy.expired());
    const KeptWeight other(packer.kept);
    CHECK_FALSE(copy.expired());
    packer.kept = other;
    CHECK(copy.expired());
    copy = packer.get(weight);
    CHECK_FALSE(copy.expired());
    weight.mul_(2);
    packer.get(weight);
    CHECK(copy.expired());
    copy = packer.get(weight);
  }
  CHECK(copy.expired());
  Packer packer;
  copy = packer.get(weight);
  weight.requires_grad_();
  CHECK(convolved(x, weight, &packer.kept).requires_grad());
  CHECK(copy.expired());
}

TEST_CASE("several threads use one weight") {
  const Tensor weight = randn({64, 32, 3, 3}), x = randn({1, 32, 8, 8});
  const Tensor expected = convolved(x, weight, nullptr);
  for (int round = 0; round < 3; ++round) {
    KeptWeight kept;
    std::vector<std::thread> threads;
    std::vector<Tensor> found(12);
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 3; ++i) found[t * 3 + i] = convolved(x, weight, &kept);
      });
    for (std::thread& thread : threads) thread.join();
    for (const Tensor& y : found) CHECK(y.equal(expected));
  }
}

TEST_CASE("a weight that was packed for another number of groups is packed again") {
  const NoGradGuard no_grad;
  manual_seed(6);
  KeptWeight kept;
  const Tensor weight = randn({96, 32, 3, 3});  // 3 blocks of 32 channels in one group, 4 in two groups
  for (const int64_t groups : {1, 2, 1, 2}) {
    const Tensor x = randn({1, 32 * groups, 14, 14});
    const Tensor y = autograd::conv2d_with_epilogue(x, weight, {}, 1, IntArrayRef(1), 1, groups, &kept);
    CHECK(y.equal(conv2d(x, weight, {}, 1, 1, 1, groups)));
  }
}
