// Capture: the work of a capturing stream becomes nodes of a graph, and events recorded in it carry
// dependencies to other streams. A graph runs in an order that its dependencies allow but that differs from
// the recorded one, so a missing dependency produces a wrong result.
#include <algorithm>
#include <set>

#include "tandem/tests/cuda_emulation/state.h"

namespace tandem::cuda_emulation {
namespace {

void leave_capture(const std::shared_ptr<Capture>& capture) {
  for (CUstream_st* stream : capture->streams) {
    stream->capture.reset();
    stream->ends.clear();
  }
  std::erase(state().captures, capture);
}

void add_ends(std::vector<std::size_t>& ends, const std::vector<std::size_t>& more) {
  for (const std::size_t node : more)
    if (std::find(ends.begin(), ends.end(), node) == ends.end()) ends.push_back(node);
}

// Whether the original stream waits for everything that the other streams did.
bool joined(const Capture& capture) {
  std::vector<bool> seen(capture.graph->nodes.size());
  std::vector<std::size_t> stack = capture.origin->ends;
  while (!stack.empty()) {
    const std::size_t node = stack.back();
    stack.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    const auto& after = capture.graph->nodes[node].after;
    stack.insert(stack.end(), after.begin(), after.end());
  }
  for (const CUstream_st* stream : capture.streams)
    for (const std::size_t node : stream->ends)
      if (!seen[node]) return false;
  return true;
}

cudaError_t begin(cudaStream_t handle, cudaStreamCaptureMode mode) {
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
  if (capturing(stream)) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->id = state().next_id++;
  capture->origin = stream;
  capture->thread = &host_thread();
  capture->graph = std::make_unique<CUgraph_st>();
  capture->streams = {stream};
  stream->capture = capture;
  state().captures.push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t end(cudaStream_t handle, cudaGraph_t* out) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!capturing(stream)) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) return invalidate(stream, cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != &host_thread())
    return cudaErrorStreamCaptureWrongThread;
  const bool complete = capture->invalid || joined(*capture);
  leave_capture(capture);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!complete) return cudaErrorStreamCaptureUnjoined;
  *out = capture->graph.release();
  return cudaSuccess;
}

// A topological order that always picks the newest node that is ready.
std::vector<std::size_t> adverse_order(const CUgraph_st& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> missing(count), order;
  std::vector<std::vector<std::size_t>> before(count);
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < count; ++i) {
    missing[i] = graph.nodes[i].after.size();
    for (const std::size_t j : graph.nodes[i].after) before[j].push_back(i);
    if (missing[i] == 0) ready.insert(i);
  }
  while (!ready.empty()) {
    const std::size_t i = *ready.rbegin();
    ready.erase(i);
    order.push_back(i);
    for (const std::size_t j : before[i])
      if (--missing[j] == 0) ready.insert(j);
  }
  return order;
}

cudaError_t instantiate(cudaGraphExec_t* out, cudaGraph_t graph) {
  if (out == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  auto entries = std::make_shared<std::vector<Entry>>();
  for (const std::size_t i : adverse_order(*graph)) entries->push_back(graph->nodes[i].entry);
  *out = new CUgraphExec_st{std::move(entries)};
  return cudaSuccess;
}

cudaStreamCaptureStatus status_of(const CUstream_st* stream) {
  if (!capturing(stream)) return cudaStreamCaptureStatusNone;
  return stream->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

}  // namespace

bool capturing(const CUstream_st* stream) { return stream->capture != nullptr; }

cudaError_t invalidate(CUstream_st* stream, cudaError_t why) {
  stream->capture->invalid = true;
  return why;
}

cudaError_t unsafe_in_capture() {
  const HostThread& own = host_thread();
  if (own.capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  bool forbidden = false;
  for (const auto& capture : state().captures) {
    const bool mine = capture->thread == &own && capture->mode != cudaStreamCaptureModeRelaxed;
    const bool everybody =
        own.capture_mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
    if (!mine && !everybody) continue;
    capture->invalid = true;
    forbidden = true;
  }
  return forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t legacy_in_capture(const CUstream_st* stream) {
  if (!stream->legacy) return cudaSuccess;
  for (const auto& capture : state().captures)
    for (const CUstream_st* other : capture->streams)
      if (other->gpu == stream->gpu && !(other->flags & cudaStreamNonBlocking)) {
        capture->invalid = true;
        return cudaErrorStreamCaptureImplicit;
      }
  return cudaSuccess;
}

cudaError_t capture_entry(CUstream_st* stream, Entry entry) {
  if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  CUgraph_st& graph = *stream->capture->graph;
  graph.handles.push_back({entry.work});
  graph.nodes.push_back({std::move(entry), stream->ends});
  stream->ends = {graph.nodes.size() - 1};
  return cudaSuccess;
}

cudaError_t capture_wait(CUstream_st* stream, CUevent_st* event) {
  const std::shared_ptr<Capture>& capture = event->capture;
  const auto& active = state().captures;
  if (std::find(active.begin(), active.end(), capture) == active.end()) return cudaErrorCapturedEvent;
  if (stream->legacy) return invalidate(capture->origin, cudaErrorStreamCaptureImplicit);
  if (capturing(stream) && stream->capture != capture) return invalidate(stream, cudaErrorStreamCaptureMerge);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!capturing(stream)) {
    stream->capture = capture;
    capture->streams.push_back(stream);
  }
  add_ends(stream->ends, event->ends);
  return cudaSuccess;
}

}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&] { return begin(stream, mode); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&] { return end(stream, graph); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* out) {
  return call("cudaStreamIsCapturing", [&] {
    const CUstream_st* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = legacy_in_capture(stream); status != cudaSuccess) return status;
    *out = status_of(stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* out, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return call("cudaStreamGetCaptureInfo", [&] {
    CUstream_st* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *out = status_of(stream);
    if (*out != cudaStreamCaptureStatusActive) return cudaSuccess;
    thread_local std::vector<cudaGraphNode_t> nodes;
    nodes.clear();
    for (const std::size_t i : stream->ends) nodes.push_back(&stream->capture->graph->handles[i]);
    if (id != nullptr) *id = stream->capture->id;
    if (graph != nullptr) *graph = stream->capture->graph.get();
    if (dependencies != nullptr) *dependencies = nodes.data();
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = nodes.size();
    return cudaSuccess;
  });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call("cudaThreadExchangeStreamCaptureMode", [&] {
    if (mode == nullptr) return cudaErrorInvalidValue;
    std::swap(*mode, host_thread().capture_mode);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiate", [&] { return instantiate(out, graph); });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiateWithFlags", [&] { return instantiate(out, graph); });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream) {
  return call("cudaGraphUpload",
              [&] { return graph != nullptr && find_stream(stream) != nullptr ? cudaSuccess : cudaErrorInvalidValue; });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return call("cudaGraphLaunch", [&] {
    if (graph == nullptr) return cudaErrorInvalidValue;
    const cudaError_t status = enqueue(stream, Work::kGraph, "graph", [entries = graph->entries] {
      for (const Entry& entry : *entries) run_entry(entry);
    });
    if (status != cudaSuccess) return status;
    ++state().counters.graph_launches;
    state().counters.graph_nodes += graph->entries->size();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&] {
    delete graph;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return call("cudaGraphExecDestroy", [&] {
    delete graph;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call("cudaGraphGetNodes", [&] {
    if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
    const std::size_t all = graph->nodes.size(), room = *count;
    *count = nodes == nullptr ? all : std::min(all, room);
    if (nodes == nullptr) return cudaSuccess;
    for (std::size_t i = 0; i < room; ++i) nodes[i] = i < all ? &graph->handles[i] : nullptr;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call("cudaGraphNodeGetType", [&] {
    if (node == nullptr || type == nullptr) return cudaErrorInvalidValue;
    switch (node->work) {
      case Work::kCopy:
        *type = cudaGraphNodeTypeMemcpy;
        break;
      case Work::kMemset:
        *type = cudaGraphNodeTypeMemset;
        break;
      case Work::kHost:
        *type = cudaGraphNodeTypeHost;
        break;
      case Work::kGraph:
        *type = cudaGraphNodeTypeGraph;
        break;
      default:
        *type = cudaGraphNodeTypeKernel;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
