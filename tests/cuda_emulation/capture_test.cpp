// Stream capture and graphs.
#include "tandem/tests/cuda_emulation/test_support.h"

namespace tandem::cuda_emulation {
namespace {

cudaError_t add(cudaStream_t stream, int* to, const int* a, int b) {
  return launch("add", stream, 1, 1, 0, [=] { *to = *a + b; });
}
cudaError_t twice(cudaStream_t stream, int* to, const int* a) {
  return launch("twice", stream, 1, 1, 0, [=] { *to = 2 * *a; });
}

struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ~Graph() {
    if (exec != nullptr) cudaGraphExecDestroy(exec);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  void end(cudaStream_t stream) {
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  }
  std::size_t nodes() const {
    std::size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
    return count;
  }
};

}  // namespace

TEST_CASE("emulation: captured work runs at every launch of the graph") {
  const Array<int> a(std::vector<int>{1}), b(std::vector<int>{0});
  const Stream stream;
  Graph graph;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(add(stream, a.data, a.data, 3) == cudaSuccess);
  REQUIRE(twice(stream, b.data, a.data) == cudaSuccess);
  graph.end(stream);
  stream.synchronize();
  CHECK(a.values()[0] == 1);
  CHECK(graph.nodes() == 2);
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(cudaGraphLaunch(graph.exec, stream) == cudaSuccess);
    stream.synchronize();
    CHECK(b.values()[0] == 2 * (1 + 3 * i));
  }
}

TEST_CASE("emulation: forked streams join the capture through events") {
  const Array<int> a(std::vector<int>{1}), b(std::vector<int>{0}), c(std::vector<int>{0});
  const Stream first, second;
  const Event fork, join;
  for (const bool ordered : {true, false}) {
    Graph graph;
    REQUIRE(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal) == cudaSuccess);
    REQUIRE(cudaEventRecord(fork, first) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(second, fork, 0) == cudaSuccess);
    REQUIRE(add(second, b.data, a.data, 1) == cudaSuccess);
    REQUIRE(cudaEventRecord(join, second) == cudaSuccess);
    if (ordered) REQUIRE(cudaStreamWaitEvent(first, join, 0) == cudaSuccess);
    REQUIRE(twice(first, c.data, b.data) == cudaSuccess);
    if (!ordered) REQUIRE(cudaStreamWaitEvent(first, join, 0) == cudaSuccess);
    graph.end(first);
    REQUIRE(cudaMemset(b.data, 0, sizeof(int)) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(cudaGraphLaunch(graph.exec, first) == cudaSuccess);
    first.synchronize();
    CHECK(c.values()[0] == (ordered ? 4 : 0));
  }
}

TEST_CASE("emulation: operations forbidden during a capture invalidate it") {
  const Stream stream, other;
  const Event outside;
  cudaGraph_t graph = nullptr;
  void* p = nullptr;
  int host = 0;
  const Array<int> a(std::vector<int>{1});
  const auto check = [&](cudaError_t expected, auto&& call) {
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(call() == expected);
    cudaStreamCaptureStatus status;
    REQUIRE(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    CHECK(add(stream, a.data, a.data, 1) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
  };
  check(cudaErrorStreamCaptureUnsupported, [&] { return cudaMalloc(&p, 16); });
  check(cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(stream); });
  check(cudaErrorStreamCaptureUnsupported, [&] { return cudaDeviceSynchronize(); });
  check(cudaErrorStreamCaptureUnsupported,
        [&] { return cudaMemcpyAsync(a.data, &host, sizeof host, cudaMemcpyHostToDevice, stream); });
  REQUIRE(add(other, a.data, a.data, 1) == cudaSuccess);
  REQUIRE(cudaEventRecord(outside, other) == cudaSuccess);
  check(cudaErrorStreamCaptureIsolation, [&] { return cudaStreamWaitEvent(stream, outside, 0); });
  check(cudaErrorStreamCaptureUnsupported, [&] { return cudaEventQuery(outside); });
  cudaGetLastError();
}

TEST_CASE("emulation: unjoined work, wrong end calls, relaxed threads") {
  const Stream first, second;
  const Event fork;
  const Array<int> a(std::vector<int>{1});
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(first, &graph) == cudaErrorIllegalState);
  REQUIRE(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal) == cudaErrorIllegalState);
  REQUIRE(cudaEventRecord(fork, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(second, fork, 0) == cudaSuccess);
  CHECK(cudaEventQuery(fork) == cudaErrorCapturedEvent);
  REQUIRE(add(second, a.data, a.data, 1) == cudaSuccess);
  CHECK(cudaStreamEndCapture(first, &graph) == cudaErrorStreamCaptureUnjoined);

  REQUIRE(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 16) == cudaSuccess);
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(first, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaFree(p) == cudaSuccess);
  cudaGetLastError();
}

}  // namespace tandem::cuda_emulation
