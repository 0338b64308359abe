// What a recorder is told of.
#include "tandem/core/backend/kernel_recorder.h"

#include <doctest/doctest.h>

#include <thread>

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/profile.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

struct Names final : KernelRecorder {
  void called(const KernelCall& call) override {
    kernels.push_back(call.name);
    tensors += call.argument<Tensor>(0) != nullptr;
    operands += call.argument<Operand>(1) != nullptr;
    none += call.argument<double>(0) != nullptr || call.argument<Tensor>(100) != nullptr;
    ones({2}) + 1;  // not reported
  }
  void read_on_host(const Tensor& t, const char* reader) override { reads += concat(reader, ' ', t.sizes()); }
  std::vector<std::string> kernels;
  std::string reads;
  int tensors = 0, operands = 0, none = 0;
};

}  // namespace

TEST_CASE("a recorder is told of its thread's kernels, with their arguments") {
  const Tensor x = ones({2, 3});
  Names names;
  CHECK_FALSE(profiler::is_on());
  {
    const RecordKernels recording(names);
    CHECK(profiler::is_on());
    (x + x).relu();
    std::thread([&] { x.exp(); }).join();
  }
  x.exp();
  CHECK_FALSE(profiler::is_on());
  CHECK(names.kernels == std::vector<std::string>{"add", "relu"});
  CHECK(names.tensors == 2);
  CHECK(names.operands == 1);
  CHECK(names.none == 0);
}

TEST_CASE("kernels that a kernel needs are a part of it") {
  const Tensor x = ones({2, 2}, kHalf);
  Names names;
  const RecordKernels recording(names);
  x.softmax(0);  // computed in float32
  CHECK(names.kernels == std::vector<std::string>{"softmax"});
}

TEST_CASE("the innermost recorder counts, and a value read on the host is reported") {
  const Tensor x = ones({1});
  Names outer, inner;
  const RecordKernels recording(outer);
  {
    const RecordKernels nested(inner);
    x.exp();
    x.item();
  }
  x.log();
  CHECK(inner.kernels == std::vector<std::string>{"exp"});
  CHECK(inner.reads == "item [1]");
  CHECK(outer.kernels == std::vector<std::string>{"log"});
  CHECK(outer.reads.empty());
}

TEST_CASE("an error of a recorder leaves the operation, and the next call is reported") {
  struct Refusing final : KernelRecorder {
    void called(const KernelCall&) override {
      if (calls++ == 0) fail("refused");
    }
    void read_on_host(const Tensor&, const char*) override {}
    int calls = 0;
  } refusing;
  const Tensor x = ones({1});
  const RecordKernels recording(refusing);
  CHECK_THROWS_WITH_AS(x.exp(), doctest::Contains("refused"), Error);
  x.exp();
  CHECK(refusing.calls == 2);
}
