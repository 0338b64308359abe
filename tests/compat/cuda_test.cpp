// Streams, events and graphs of CUDA devices in programs written for LibTorch. Without a device, what still holds.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>
#undef CHECK  // LibTorch's
#include <doctest/doctest.h>

#include <unordered_set>

namespace {
bool without_device() {
  if (torch::cuda::is_available()) return false;
  MESSAGE("skipped: there is no CUDA device");
  return true;
}
}  // namespace

TEST_CASE("programs without a CUDA device ask for one and get an error") {
  CHECK(at::detail::getCUDAHooks().getNumGPUs() == static_cast<int>(torch::cuda::device_count()));
  at::cuda::CUDAEvent event = {};
  event = at::cuda::CUDAEvent(0);
  CHECK(event.query());
  CHECK_FALSE(event.isCreated());
  at::cuda::CUDAGraph graph;
  CHECK_THROWS_WITH_AS(graph.replay(), "CUDAGraph: nothing is recorded", c10::Error);
  CHECK_THROWS_WITH_AS(graph.capture_end(), "CUDAGraph: capture_end() without capture_begin()", c10::Error);
  graph.reset();
  if (torch::cuda::is_available()) return;
  CHECK_THROWS_AS(c10::cuda::getStreamFromPool(), c10::Error);
  CHECK_THROWS_AS(graph.capture_begin(), c10::Error);
}

TEST_CASE("work runs on streams of the pool, in the order that events give it") {
  if (without_device()) return;
  const auto standard = at::cuda::getDefaultCUDAStream();
  CHECK(at::cuda::getCurrentCUDAStream() == standard);
  auto a = c10::cuda::getStreamFromPool(), b = at::cuda::getStreamFromPool(/*isHighPriority=*/true);
  CHECK(a != b);
  CHECK(a != standard);
  CHECK(a.device() == torch::Device(torch::kCUDA, 0));
  const auto x = torch::arange(1000, torch::device(torch::kCUDA).dtype(torch::kFloat));
  at::cuda::CUDAEvent made, doubled;
  made.record();
  torch::Tensor y;
  {
    c10::cuda::CUDAStreamGuard guard(a);
    CHECK(guard.original_stream() == standard);
    CHECK(at::cuda::getCurrentCUDAStream() == a);
    CHECK(at::cuda::getDefaultCUDAStream() == standard);
    made.block(a);
    y = x * 2;
    doubled.record(a);
    guard.reset_stream(b);
    CHECK(at::cuda::getCurrentCUDAStream() == b);
    doubled.block(b);
    y = y + 1;
    b.synchronize();
    CHECK(b.query());
  }
  CHECK(at::cuda::getCurrentCUDAStream() == standard);
  CHECK(y.cpu().equal(torch::arange(1000, torch::kFloat) * 2 + 1));
  doubled.synchronize();
  CHECK(doubled.query());
  CHECK(doubled.device_index() == 0);
  CHECK(made.elapsed_time(doubled) >= 0);
  at::cuda::setCurrentCUDAStream(a);
  CHECK(at::cuda::getCurrentCUDAStream() == a);
  at::cuda::setCurrentCUDAStream(standard);
  {
    c10::cuda::OptionalCUDAStreamGuard optional;
    optional.reset_stream(a);
    CHECK(optional.current_stream() == a);
  }
  {
    c10::cuda::CUDAMultiStreamGuard several(std::vector<c10::cuda::CUDAStream>{b});
    CHECK(at::cuda::getCurrentCUDAStream() == b);
  }
  CHECK(at::cuda::getCurrentCUDAStream() == standard);
}

TEST_CASE("the pool has 32 streams, which come back in turn") {
  if (without_device()) return;
  std::unordered_set<c10::cuda::CUDAStream> different;
  for (int i = 0; i < 70; ++i) different.insert(c10::cuda::getStreamFromPool());
  CHECK(different.size() == 32);
}

TEST_CASE("a graph replays what was recorded, with new inputs and new random numbers") {
  if (without_device()) return;
  torch::manual_seed(5);
  auto x = torch::ones({8, 8}, torch::kCUDA), y = torch::zeros({8, 8}, torch::kCUDA);
  const auto work = [&] { y.copy_(torch::matmul(x, x) + torch::rand({8, 8}, torch::kCUDA)); };
  work();
  torch::manual_seed(5);
  const auto stream = c10::cuda::getStreamFromPool();
  c10::cuda::CUDAStreamGuard guard(stream);
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  CHECK_THROWS_AS(graph.capture_begin(), c10::Error);
  work();
  graph.capture_end();
  for (const float value : {1.0f, 3.0f}) {
    x.fill_(value);
    graph.replay();
    const auto found = y.cpu();
    CHECK(found.min().item<float>() >= 8 * value * value);
    CHECK(found.max().item<float>() < 8 * value * value + 1);
  }
  const auto third = torch::rand({8, 8}, torch::kCUDA).cpu();
  torch::manual_seed(5);
  for (int i = 0; i < 2; ++i) torch::rand({8, 8}, torch::kCUDA);
  CHECK(torch::rand({8, 8}, torch::kCUDA).cpu().equal(third));
  graph.reset();
  CHECK_THROWS_AS(graph.replay(), c10::Error);
  graph.capture_begin();
  CHECK_THROWS_WITH_AS(y.sum().item<float>(), doctest::Contains("reads a value"), c10::Error);
  CHECK_THROWS_WITH_AS(graph.capture_end(), doctest::Contains("cannot be replayed, because it reads a value"),
                       c10::Error);
}
