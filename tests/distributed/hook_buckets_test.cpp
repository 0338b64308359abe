// What communication hooks see of a step: the buckets, their order, and what remains after a failure. Ranks are threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tandem/parallel/distributed_data_parallel/distributed_data_parallel.h"
#include "tandem/tandem.h"
#include "tandem/tests/distributed/ranks.h"
#include "tandem/tests/distributed/seeded.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

// Parameters of 3, 5 and 7 numbers, which are used in a given order; their gradients come in the opposite one.
struct OrderedImpl : nn::Module {
  OrderedImpl() {
    for (const int64_t size : {3, 5, 7}) parts.push_back(register_parameter(concat("p", size), ones({size})));
  }
  Tensor forward(Tensor x, std::vector<int64_t> sizes) {
    Tensor out = x.mean();
    for (const int64_t size : sizes)
      for (const Tensor& p : parts)
        if (p.numel() == size) out = (out * p).sum();
    return out;
  }
  Tensor grad(int64_t size) const { return parts[static_cast<std::size_t>(size - 3) / 2].grad(); }
  std::vector<Tensor> parts;
};
using Ordered = DistributedDataParallel<OrderedImpl>;
using Order = std::vector<int64_t>;

// The sizes of each bucket's parameters, in the order in which they were sent.
using Sizes = std::vector<std::vector<int64_t>>;

struct Recorder {
  Sizes sizes{};
  std::vector<const void*> memory{};  // of the gradients of 3, 5 and 7 numbers
  HookResult operator()(ProcessGroup& group, const GradBucket& bucket) {
    CHECK(bucket.index() == sizes.size());
    REQUIRE(bucket.gradients().size() == bucket.parameters().size());
    sizes.emplace_back();
    memory.resize(3);
    std::size_t count = 0;
    for (std::size_t i = 0; i < bucket.gradients().size(); ++i) {
      const Tensor& gradient = bucket.gradients()[i];
      CHECK(gradient.sizes() == bucket.parameters()[i].sizes());
      CHECK(gradient.storage().is_alias_of(bucket.buffer().storage()));
      sizes.back().push_back(gradient.numel());
      memory[static_cast<std::size_t>(gradient.numel() - 3) / 2] = gradient.data_ptr();
    }
    for (const auto& sent : sizes) count += sent.size();
    CHECK(bucket.is_last() == (count == 3));
    return allreduce_hook(group, bucket);
  }
};

}  // namespace

TEST_CASE("the buckets follow rank 0's first backward pass on all ranks, unless the order may change") {
  if (!available()) return;
  const Sizes before{{7}, {5, 3}}, after{{3}, {5, 7}};
  for (const bool find_unused : {false, true})
    for (const bool static_graph : {false, true})
      on_ranks(2, [&](const GroupPtr& group) {
        auto net = seeded<OrderedImpl>();
        Recorder recorder;
        Ordered model(net, {.process_group = group,
                            .bucket_bytes = 1 << 20,
                            .first_bucket_bytes = 1,
                            .find_unused_parameters = find_unused,
                            .static_graph = static_graph,
                            .comm_hook = std::ref(recorder)});
        const Order order = group->rank() == 0 ? Order{7, 5, 3} : Order{3, 5, 7};
        CHECK(model->bucket_count() == 2);
        CHECK(model->bucket_bytes() == 3 * 64);
        for (int step = 0; step < 3; ++step) {
          recorder = {};
          std::vector<const void*> memory;  // gradients stay where they are: in the buckets
          for (const Tensor& p : net->parts) memory.push_back(step == 0 ? nullptr : p.grad().data_ptr());
          model->forward(full({1}, 1.0 + group->rank()), order).backward();
          CAPTURE(step);
          CHECK(recorder.sizes == (step == 0 || (find_unused && !static_graph) ? before : after));
          if (step > 0) CHECK(recorder.memory == memory);
          CHECK(equal(net->grad(3), full({3}, (step + 1) * 1.5 * 35)));
          CHECK(equal(net->grad(7), full({7}, (step + 1) * 1.5 * 15)));
        }
      });
}

TEST_CASE("after a failure, gradients that were being sent are gone, and others stay") {
  if (!available()) return;
  on_ranks(2, [](const GroupPtr& group) {
    auto net = seeded<OrderedImpl>();
    Ordered model(net, {.process_group = group,
                        .bucket_bytes = 1,
                        .first_bucket_bytes = 65,
                        .find_unused_parameters = true,
                        .comm_hook = [](ProcessGroup& within, const GradBucket& bucket) {
                          if (bucket.index() == 1) throw std::runtime_error("the hook gives up");
                          return allreduce_hook(within, bucket);
                        }});
    CHECK(model->bucket_count() == 2);
    const auto fails = [&](Order sizes) { CHECK_THROWS(model->forward(ones({1}), std::move(sizes)).backward()); };
    net->parts[2].mutable_grad() = full({7}, 2.5);
    fails({5, 3});  // 7 and 5 travel together; 7 is not used, and keeps what it had
    CHECK_FALSE(net->grad(5).defined());
    CHECK(equal(net->grad(7), full({7}, 2.5)));
  });
  on_ranks(2, [](const GroupPtr& group) {
    auto net = seeded<OrderedImpl>();
    Ordered model(net, {.process_group = group, .comm_hook = [](ProcessGroup&, const GradBucket&) {
                          return HookResult{{}, [] { throw std::runtime_error("the end of the hook"); }};
                        }});
    const Tensor loss = model->forward(ones({1}), Order{7, 5, 3});
    CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("the end of the hook"), std::runtime_error);
    for (const int64_t size : {3, 5, 7}) CHECK_FALSE(net->grad(size).defined());
    CHECK_THROWS_WITH_AS(model->forward(ones({1}), Order{7, 5, 3}), doctest::Contains("the end of the hook"),
                         std::runtime_error);
  });
}

TEST_CASE("a gradient of an earlier forward is refused where the last one does not use the parameter") {
  if (!available()) return;
  const auto errors = errors_on_ranks(2, [](const GroupPtr& group) {
    Ordered model(seeded<OrderedImpl>(), {.process_group = group, .find_unused_parameters = true});
    const Tensor earlier = model->forward(ones({1}), Order{7});
    model->forward(ones({1}), Order{5, 3});
    earlier.backward();
  });
  for (const std::string& error : errors) {
    CHECK(error.find("p7 received a gradient although the outputs of the last forward") != std::string::npos);
    CHECK(error.find("call backward for these outputs only") != std::string::npos);
  }
}

TEST_CASE("what no_sync used counts for one step, and a joined rank uses nothing") {
  if (!available()) return;
  on_ranks(2, [](const GroupPtr& group) {
    auto net = seeded<OrderedImpl>();
    Ordered model(net, {.process_group = group, .find_unused_parameters = true});
    {
      const auto here_only = model->no_sync();
      model->forward(ones({1}), Order{7}).backward();
    }
    const double factor = 1 + group->rank();
    for (const double expected : {1., factor}) {  // averaged once, then left as it is
      model->forward(ones({1}), Order{5}).backward();
      CHECK(equal(net->grad(7), full({7}, expected)));
      net->grad(7).fill_(factor);
    }
    model->zero_grad();
    model->join([&] {
      for (int step = 0; step < 1 + 2 * group->rank(); ++step) {
        model->forward(ones({1}), Order{5}).backward();
        CHECK_FALSE(net->grad(7).defined());
      }
    });
  });
}
