// cuDNN's graph API: heuristics, engines, execution.
#include <algorithm>

#include "tandem/tests/cuda_emulation/dnn_graph.h"

namespace tandem::cuda_emulation::graph {
namespace {

constexpr std::size_t kPage = 4096;

// What the heuristics propose, best first. Engines whose notes a caller may want to avoid have results that show it.
// The one of the fallback prepares its workspace with a kernel of its own.
const std::vector<Engine>& engines() {
  static const std::vector<Engine> all = {
      {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, true, true, true, 4 * kPage},
      {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, true, true, true, 0},
      {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, true, true, true, 0},
      {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_FFT}, true, true, false, 0},
      {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_WINOGRAD}, true, false, true, std::size_t{2} << 30},
      {CUDNN_HEUR_MODE_A, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, false, true, true, kPage},
      {CUDNN_HEUR_MODE_A, {}, true, false, true, 1024 * kPage},
      {CUDNN_HEUR_MODE_FALLBACK, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, true, true, true, kPage},
  };
  return all;
}

// Configurations to fill are new ones. cuDNN announces more of them than there are.
cudnnStatus_t get_results(const Object& heuristic, int64_t room, int64_t* count, void* values) {
  std::vector<const Engine*> found;
  const bool forward = heuristic.operation.pass == Pass::kForward;
  const auto mode = *heuristic.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  for (const Engine& one : engines())
    if (one.mode == mode && (forward ? one.forward : one.backward)) found.push_back(&one);
  if (room == 0 || values == nullptr) {
    *count = static_cast<int64_t>(found.size()) + 1;
    return CUDNN_STATUS_SUCCESS;
  }
  *count = std::min(room, static_cast<int64_t>(found.size()));
  for (int64_t i = 0; i < *count; ++i) {
    Object& config = *static_cast<Object* const*>(values)[i];
    if (config.type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR || config.finalized) return CUDNN_STATUS_BAD_PARAM;
    config.engine = found[static_cast<std::size_t>(i)];
    config.operation = heuristic.operation;
    config.finalized = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t get(const Object& object, Name name, Type type, int64_t room, int64_t* count, void* values) {
  if (!object.finalized) return CUDNN_STATUS_NOT_INITIALIZED;
  if (count == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && object.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
      type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return get_results(object, room, count, values);
  if (room < 1 || values == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *count = 1;
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE && object.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
      type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    Object& engine = **static_cast<Object* const*>(values);
    if (engine.type != CUDNN_BACKEND_ENGINE_DESCRIPTOR || engine.finalized) return CUDNN_STATUS_BAD_PARAM;
    engine.engine = object.engine;
    engine.finalized = true;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && object.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
      type == CUDNN_TYPE_NUMERICAL_NOTE) {
    *count = static_cast<int64_t>(object.engine->notes.size());
    std::copy_n(object.engine->notes.begin(), std::min(*count, room), static_cast<Note*>(values));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && object.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
      type == CUDNN_TYPE_INT64) {
    *static_cast<int64_t*>(values) = object.engine - engines().data();
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && object.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      type == CUDNN_TYPE_INT64) {
    *static_cast<int64_t*>(values) = static_cast<int64_t>(object.engine->workspace);
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t execute(cudnnHandle_t handle, const Object& plan, const Object& pack) {
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
  if (!plan.finalized || !pack.finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  if (plan.operation.handle != handle) return CUDNN_STATUS_BAD_PARAM;
  const Engine& engine = *plan.engine;
  Convolution c = plan.operation.convolution;
  const Strided* const tensors[] = {&c.x, &c.w, &c.y};
  void* data[3] = {};
  if (pack.count(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) != 3) return CUDNN_STATUS_BAD_PARAM;
  const auto* ids = pack.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto* at = std::find(ids, ids + 3, plan.operation.ids[i]);
    if (at == ids + 3) return CUDNN_STATUS_BAD_PARAM;
    data[i] = pack.get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)[at - ids];
    if (reinterpret_cast<std::uintptr_t>(data[i]) % static_cast<std::uintptr_t>(plan.operation.alignments[i]) != 0)
      return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    if (!tensor_usable(*tensors[i], data[i], c.type)) return CUDNN_STATUS_EXECUTION_FAILED;
  }
  void* workspace = *pack.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (handle->gpu != host_thread().gpu || !usable(workspace, engine.workspace, handle->gpu))
    return CUDNN_STATUS_EXECUTION_FAILED;
  const bool exact = !engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
                     !engine.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  const bool reversed = engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) && state().counters.library_calls % 2 != 0;
  c.tf32 = c.type == kFloat && engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  const Pass pass = plan.operation.pass;
  const auto [x, w, y] = data;
  const Pointers p = pass == Pass::kForward ? Pointers{x, w, y}
                     : pass == Pass::kData  ? Pointers{y, w, x}
                                            : Pointers{x, y, w};
  const std::size_t bytes = engine.workspace;
  bool queued =
      engine.mode != CUDNN_HEUR_MODE_FALLBACK ||
      enqueue_library(handle->stream, "cudnnBackendExecute", [workspace, bytes] { clobber(workspace, bytes); });
  queued = queued && enqueue_library(handle->stream, "cudnnBackendExecute", [=] {
             clobber(workspace, bytes);
             run(c, pass, p, exact ? 1 : 1.01, 0, reversed);
           });
  return queued ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace tandem::cuda_emulation::graph
