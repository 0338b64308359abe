// Streams, events, memory and capture: omissions are exposed, and correct use works.
#include <thread>

#include "tandem/tests/cuda_emulation/test_support.h"

namespace tandem::cuda_emulation {
namespace {

cudaError_t fill(cudaStream_t stream, int* p, int value) {
  return launch("fill", stream, 1, 1, 0, [=] { *p = value; });
}
cudaError_t add(cudaStream_t stream, int* to, const int* a, const int* b) {
  return launch("add", stream, 1, 1, 0, [=] { *to = *a + *b; });
}
int value_of(const Array<int>& a) { return a.values()[0]; }

}  // namespace

TEST_CASE("emulation: a missing wait is exposed, an event orders") {
  const Array<int> a(std::vector<int>{1}), b(std::vector<int>{0});
  const Stream first, second;
  const Event event;
  REQUIRE(fill(first, a.data, 2) == cudaSuccess);
  REQUIRE(add(second, b.data, a.data, a.data) == cudaSuccess);
  second.synchronize();
  CHECK(value_of(b) == 2);  // 4 with the wait
  first.synchronize();

  REQUIRE(fill(first, a.data, 5) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
  REQUIRE(fill(first, a.data, 6) == cudaSuccess);
  REQUIRE(add(second, b.data, a.data, a.data) == cudaSuccess);
  second.synchronize();
  CHECK(value_of(b) == 10);
  CHECK(pending(first) == 1);
  first.synchronize();
}

TEST_CASE("emulation: copies read pinned memory late and pageable memory immediately") {
  const Array<int> a(1);
  const Stream stream;
  int* pinned = nullptr;
  REQUIRE(cudaHostAlloc(reinterpret_cast<void**>(&pinned), sizeof(int), 0) == cudaSuccess);
  *pinned = 1;
  REQUIRE(cudaMemcpyAsync(a.data, pinned, sizeof(int), cudaMemcpyHostToDevice, stream) == cudaSuccess);
  *pinned = 2;
  stream.synchronize();
  CHECK(value_of(a) == 2);
  int pageable = 3;
  REQUIRE(cudaMemcpyAsync(a.data, &pageable, sizeof(int), cudaMemcpyHostToDevice, stream) == cudaSuccess);
  pageable = 4;
  stream.synchronize();
  CHECK(value_of(a) == 3);
  REQUIRE(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("emulation: copies with a wrong direction, past the end, of freed memory") {
  const Array<int> a(4), b(4);
  int host[8] = {};
  const auto copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpy(to, from, bytes, kind);
  };
  CHECK(copy(host, host + 4, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(a.data, b.data, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(a.data, host, 20, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(a.data, b.data, 16, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(cudaMemset(host, 0, 4) == cudaErrorInvalidValue);
  void* p = nullptr;
  REQUIRE(cudaMalloc(&p, 16) == cudaSuccess);
  REQUIRE(cudaFree(p) == cudaSuccess);
  CHECK(copy(p, host, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaFree(p) == cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  REQUIRE(cudaPointerGetAttributes(&attributes, a.data + 1) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  REQUIRE(cudaPointerGetAttributes(&attributes, host) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("emulation: memory runs out, and is initially NaN") {
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  void *p = nullptr, *q = nullptr;
  CHECK(cudaMalloc(&p, free + 1) == cudaErrorMemoryAllocation);
  CHECK(p == nullptr);
  REQUIRE(cudaMalloc(&p, free / 2) == cudaSuccess);
  CHECK(cudaMalloc(&q, free / 2 + 512) == cudaErrorMemoryAllocation);
  REQUIRE(cudaFree(p) == cudaSuccess);
  REQUIRE(cudaMalloc(&q, free / 2 + 512) == cudaSuccess);
  REQUIRE(cudaFree(q) == cudaSuccess);
  const Array<float> a(3);
  const float value = a.values()[1];
  CHECK(value != value);
  fail_next("cudaMalloc", cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&p, 4) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&p, 4) == cudaSuccess);
  CHECK(cudaFree(p) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("emulation: a failed kernel is reported later, by every call") {
  const Array<int> a(std::vector<int>{1});
  const Stream stream;
  fail_next("execution", cudaErrorIllegalAddress);
  CHECK(fill(stream, a.data, 2) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress);
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 4) == cudaErrorIllegalAddress);
  clear_fault();
  CHECK(value_of(a) == 1);
}

TEST_CASE("emulation: events are not ready until their stream has run") {
  const Array<int> a(std::vector<int>{1});
  const Stream stream;
  const Event event;
  CHECK(cudaEventQuery(event) == cudaSuccess);
  REQUIRE(fill(stream, a.data, 2) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  while (cudaEventQuery(event) == cudaErrorNotReady) {
  }
  CHECK(value_of(a) == 2);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  cudaEvent_t timed[2];
  float ms = -1;
  for (cudaEvent_t& one : timed) {
    REQUIRE(cudaEventCreate(&one) == cudaSuccess);
    REQUIRE(fill(stream, a.data, 3) == cudaSuccess);
    REQUIRE(cudaEventRecord(one, stream) == cudaSuccess);
  }
  CHECK(cudaEventElapsedTime(&ms, timed[0], timed[1]) == cudaErrorNotReady);
  REQUIRE(cudaEventSynchronize(timed[1]) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, timed[0], timed[1]) == cudaSuccess);
  CHECK(ms >= 0);
  for (cudaEvent_t one : timed) CHECK(cudaEventDestroy(one) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("emulation: the legacy stream and blocking streams wait for each other") {
  const Array<int> a(std::vector<int>{1}), b(std::vector<int>{0});
  cudaStream_t blocking = nullptr;
  REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
  REQUIRE(fill(blocking, a.data, 2) == cudaSuccess);
  REQUIRE(add(nullptr, b.data, a.data, a.data) == cudaSuccess);
  REQUIRE(fill(blocking, a.data, 7) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(blocking) == cudaSuccess);
  CHECK(value_of(b) == 4);
  CHECK(value_of(a) == 7);
  REQUIRE(cudaStreamDestroy(blocking) == cudaSuccess);
}

TEST_CASE("emulation: host functions may wait for other threads; two threads do not deadlock") {
  const Stream first, second;
  static std::atomic<int> seen;
  seen = 0;
  const auto wait = [](void*) {
    while (seen == 0) std::this_thread::yield();
  };
  REQUIRE(cudaLaunchHostFunc(first, wait, nullptr) == cudaSuccess);
  std::thread other([&second] {
    REQUIRE(cudaLaunchHostFunc(
                second, [](void*) { seen = 1; }, nullptr) == cudaSuccess);
    second.synchronize();
  });
  first.synchronize();
  other.join();
  CHECK(seen == 1);
}

}  // namespace tandem::cuda_emulation
