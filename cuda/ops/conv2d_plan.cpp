// Selects the engine of a convolution: by timing the first proposals of cuDNN's heuristic and our own, once on a machine, or
// as the heuristic orders them after globalContext().setBenchmarkCuDNN(false). Engines that may produce different bits on
// each run are excluded unless setDeterministicCuDNN(false).
#include "tandem/cuda/ops/conv2d_plan.h"

#include <algorithm>
#include <array>
#include <climits>
#include <unordered_set>
#include <utility>

#include "tandem/core/global_context.h"
#include "tandem/cuda/ops/conv2d_direct.h"
#include "tandem/cuda/ops/conv2d_kept.h"

namespace tandem::cuda_impl {
namespace {

constexpr int32_t kMaxAlignment = 16;
// Of those that a heuristic proposes; one takes about 25 KB of the host's memory.
constexpr std::size_t kMostEngines = 10;
constexpr std::size_t kMaxConvPlans = kMaxPlans / 4;

cudnnDataType_t type_of(ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      return CUDNN_DATA_HALF;
    case kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case kDouble:
      return CUDNN_DATA_DOUBLE;
    case kFloat:
      return CUDNN_DATA_FLOAT;
    default:
      unsupported_dtype("conv2d", dtype);
  }
}

template <class T>
constexpr cudnnBackendAttributeType_t kAttributeType = CUDNN_TYPE_INT64;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<float> = CUDNN_TYPE_FLOAT;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<double> = CUDNN_TYPE_DOUBLE;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<void*> = CUDNN_TYPE_VOID_PTR;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
constexpr cudnnBackendAttributeType_t kAttributeType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;

GraphObject create(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  ensure(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  return GraphObject(made);
}
void finalize(const GraphObject& object) { ensure(cudnnBackendFinalize(object.get()), "cudnnBackendFinalize"); }
template <class T, std::size_t N>
void set(const GraphObject& object, cudnnBackendAttributeName_t name, const std::array<T, N>& values) {
  static_assert(kAttributeType<T> != CUDNN_TYPE_INT64 || std::is_same_v<T, int64_t>);
  ensure(cudnnBackendSetAttribute(object.get(), name, kAttributeType<T>, N, values.data()), "cudnnBackendSetAttribute");
}
template <class T>
void set(const GraphObject& object, cudnnBackendAttributeName_t name, const T& value) {
  set(object, name, std::array<T, 1>{value});
}
void set(const GraphObject& object, cudnnBackendAttributeName_t name, const GraphObject& value) {
  cudnnBackendDescriptor_t const raw = value.get();
  ensure(cudnnBackendSetAttribute(object.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw),
         "cudnnBackendSetAttribute");
}
// Returns the number of values, of which at most `room` were stored.
int64_t get(const GraphObject& object, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
            void* values) {
  int64_t count = 0;
  ensure(cudnnBackendGetAttribute(object.get(), name, type, room, &count, values), "cudnnBackendGetAttribute");
  return count;
}

// Ids of the tensors in a graph.
constexpr std::array<int64_t, 3> kIds{1, 2, 3};

GraphObject tensor(const ConvKey& key, std::size_t which, const std::array<int64_t, 4>& sizes) {
  const auto& [n, c, h, w] = sizes;
  GraphObject made = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(key.dtype));
  set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  set(made, CUDNN_ATTR_TENSOR_STRIDES,
      key.channels_last ? std::array{h * w * c, int64_t{1}, w * c, c} : std::array{c * h * w, h * w, w, int64_t{1}});
  set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, kIds[which]);
  set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{key.alignment[which]});
  finalize(made);
  return made;
}

GraphObject convolution(const ConvKey& key) {
  GraphObject made = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, key.dtype == kDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2});
  set(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, key.p.padding);
  set(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, key.p.padding);
  set(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, key.p.stride);
  set(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, key.p.dilation);
  finalize(made);
  return made;
}

// cuDNN's names for a pass: its operation and that operation's attributes.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, input, weight, output, alpha, beta;
};
constexpr PassNames kForwardNames{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr PassNames kInputNames{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
constexpr PassNames kWeightNames{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

// The groups follow from the numbers of channels.
GraphObject graph_of(Context& c, const ConvKey& key) {
  const PassNames& names = key.pass == ConvPass::kForward ? kForwardNames
                           : key.pass == ConvPass::kInput ? kInputNames
                                                          : kWeightNames;
  const GraphObject operation = create(names.operation);
  set(operation, names.convolution, convolution(key));
  set(operation, names.input, tensor(key, 0, key.input));
  set(operation, names.weight, tensor(key, 1, key.weight));
  set(operation, names.output, tensor(key, 2, key.output));
  if (key.dtype == kDouble) {
    set(operation, names.alpha, 1.0);
    set(operation, names.beta, 0.0);
  } else {
    set(operation, names.alpha, 1.0f);
    set(operation, names.beta, 0.0f);
  }
  finalize(operation);
  GraphObject graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, c.dnn());
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  finalize(graph);
  return graph;
}

GraphObject engine_of(const GraphObject& config) {
  GraphObject engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  return engine;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const GraphObject& engine) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const int64_t count = get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data());
  notes.resize(std::min(static_cast<std::size_t>(count), notes.size()));
  return notes;
}

// The name of a proposal, for a later run: its place, since a heuristic may propose an engine with several settings, and
// the engine, in case that the proposals are others then.
constexpr const char *kBest = "proposal ", *kFallback = "fallback ", *kDirect = "direct";
std::string name_of(cudnnBackendHeurMode_t mode, std::size_t place, const GraphObject& engine) {
  int64_t number = 0;
  get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number);
  return concat(mode == CUDNN_HEUR_MODE_A ? kBest : kFallback, place, ", engine ", number);
}

// Transforms (Winograd, Fourier) are allowed, as in PyTorch. float32 without TF32 is computed with fused multiply-adds;
// nothing is rounded to 16 bits on the way.
bool accurate(const ConvKey& key, cudnnBackendNumericalNote_t note) {
  if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return key.dtype != kFloat || key.tf32;
  return note != CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS && note != CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
}

std::size_t large_workspace(const ConvEngine& engine) {
  return engine.workspace <= kConvWorkspaceLimit ? 0 : engine.workspace;
}

// Behind those that are to be tried before it, since they have a small workspace.
void add_engine(ConvPlan& plan, ConvEngine engine) {
  const auto at = std::ranges::upper_bound(plan.engines, std::size_t{0}, {}, large_workspace);
  plan.engines.insert(at, std::move(engine));
}

// Adds the engines that the heuristic proposes and the key allows, before those with a large workspace.
void add_engines(ConvPlan& plan, cudnnBackendHeurMode_t mode) {
  const GraphObject heuristic = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, plan.graph);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) return forget_error();  // it proposes nothing
  const auto results = [&](int64_t room, cudnnBackendDescriptor_t* to) {
    return get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, to);
  };
  std::vector<GraphObject> configs(static_cast<std::size_t>(results(0, nullptr)));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (GraphObject& config : configs) {
    config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(config.get());
  }
  configs.resize(static_cast<std::size_t>(results(static_cast<int64_t>(raw.size()), raw.data())));  // may be fewer
  const std::size_t most = plan.engines.size() + kMostEngines;
  for (std::size_t place = 0; place < configs.size() && plan.engines.size() < most; ++place) {
    const GraphObject engine = engine_of(configs[place]);
    const auto notes = notes_of(engine);
    if (!std::ranges::all_of(notes, [&](auto note) { return accurate(plan.key, note); })) continue;
    if (plan.key.deterministic && std::ranges::count(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) > 0)
      plan.left_out = true;
    else
      add_engine(plan, {.config = std::move(configs[place]), .plan = {}, .name = name_of(mode, place, engine)});
  }
}

// Those that work for any shape.
void complete(ConvPlan& plan) {
  if (std::exchange(plan.complete, true)) return;
  add_engines(plan, CUDNN_HEUR_MODE_FALLBACK);
}

// False if cuDNN rejects the engine.
bool prepare(Context& c, ConvEngine& engine) {
  GraphObject plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, c.dnn());
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.config);
  if (cudnnBackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS) {
    forget_error();
    return false;
  }
  int64_t bytes = 0;
  get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
  engine.workspace = static_cast<std::size_t>(bytes);
  engine.plan = std::move(plan);
  return true;
}

using Event = Descriptor<cudaEvent_t, cudaEventDestroy>;
Event event() {
  cudaEvent_t made = nullptr;
  ensure(cudaEventCreate(&made), "cudaEventCreate");
  return Event(made);
}

// The median of three runs after a first one; infinite if the engine fails or memory is short.
float time_of(Context& c, const ConvPlan& plan, const ConvEngine& engine, const ConvTensors& t) try {
  const Tensor workspace = empty_raw({static_cast<int64_t>(engine.workspace)}, kByte, c.device());
  const Event begin = event(), end = event();
  std::array<float, 4> times{};
  for (float& time : times) {
    ensure(cudaEventRecord(begin.get(), c.stream()), "cudaEventRecord");
    ensure(run_engine(c, plan, engine, t, workspace, {}), "cudnnBackendExecute");
    ensure(cudaEventRecord(end.get(), c.stream()), "cudaEventRecord");
    ensure(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    ensure(cudaEventElapsedTime(&time, begin.get(), end.get()), "cudaEventElapsedTime");
  }
  std::sort(times.begin() + 1, times.end());
  return times[2];
} catch (const Error&) {
  forget_error();
  return std::numeric_limits<float>::infinity();
}

// The name of the fastest engine here. The others keep no plan.
std::string fastest(Context& c, ConvPlan& plan, const ConvTensors& t) {
  std::string name;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t place = 0; place <= kMostEngines; ++place) {
    ConvEngine* engine = engine_at(c, plan, place);
    if (engine == nullptr || engine->workspace > kConvWorkspaceLimit) break;
    if (const float time = time_of(c, plan, *engine, t); time < least) {
      least = time;
      name = engine->name;
    }
    engine->plan.reset();
  }
  return name;
}

// Moves the engine that was the fastest in an earlier run, or is it now, to the front.
void choose(Context& c, ConvPlan& plan, const ConvTensors& t, const KeptEngine& kept) {
  std::string name = kept.find();
  if (name.empty()) try {
      name = fastest(c, plan, t);
      if (!name.empty()) name = kept.keep(name);
    } catch (const Error&) {
      return;  // what would be forgotten is no choice
    }
  if (name.starts_with(kFallback)) complete(plan);
  const auto at = std::ranges::find(plan.engines, name, &ConvEngine::name);
  if (at != plan.engines.end()) std::rotate(plan.engines.begin(), at, at + 1);
}

using ConvPlans = std::unordered_map<ConvKey, ConvPlan, PlanHash>;
using RefusedKeys = std::unordered_set<ConvKey, PlanHash>;

}  // namespace

std::string described(const ConvTensors& t) {
  return concat("\n  input  ", t.input, "\n  weight ", t.weight, "\n  output ", t.output);
}

ChannelsLast runs_channels_last(Context& c, ConvPass pass, const ConvTensors& t, const Conv2dParameters& p) {
  const bool half = isReducedFloatingType(t.input.dtype());
  if (!half && !(t.input.dtype() == kFloat && globalContext().allowTF32CuDNN())) return ChannelsLast::kNo;
  if (half && t.weight.size(0) % 8 == 0 && t.weight.size(1) % 8 == 0) return ChannelsLast::kYes;
  const auto given = [](const Tensor& x) { return !x.is_contiguous() && x.is_contiguous(MemoryFormat::ChannelsLast); };
  if (!given(t.input) && !given(t.weight) && !given(t.output)) return ChannelsLast::kNo;
  const auto& refused = c.plans<RefusedKeys>();
  return refused.contains(conv_key(pass, t, p, true)) ? ChannelsLast::kNo : ChannelsLast::kIfAccepted;
}

void refuse_channels_last(Context& c, const ConvKey& key) {
  auto& refused = c.plans<RefusedKeys>();
  if (refused.size() >= kMaxConvPlans) refused.clear();
  refused.insert(key);
}

ConvKey conv_key(ConvPass pass, const ConvTensors& t, const Conv2dParameters& p, bool channels_last) {
  const auto sizes = [&](const Tensor& tensor) {
    std::array<int64_t, 4> out{};
    for (std::size_t d = 0; d < 4; ++d) {
      out[d] = tensor.sizes()[d];
      if (out[d] > INT_MAX) fail("conv2d: cuDNN supports sizes up to ", INT_MAX, described(t));
    }
    return out;
  };
  const auto alignment = [](const Tensor& tensor) { return std::min(kMaxAlignment, alignment_of(tensor.data_ptr())); };
  const bool single = t.input.dtype() == kFloat;
  return {.pass = pass,
          .dtype = t.input.dtype(),
          .tf32 = single && globalContext().allowTF32CuDNN(),
          .deterministic = globalContext().deterministicCuDNN(),
          .benchmark = globalContext().benchmarkCuDNN() && !kept_engines_folder().empty(),
          .channels_last = channels_last,
          .alignment = {alignment(t.input), alignment(t.weight), alignment(t.output)},
          .input = sizes(t.input),
          .weight = sizes(t.weight),
          .output = sizes(t.output),
          .p = p};
}

ConvEngine* engine_at(Context& c, ConvPlan& plan, std::size_t place) {
  auto& all = plan.engines;
  for (;;) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(place);
    if (!plan.complete && (at == all.end() || large_workspace(*at) > 0)) {
      complete(plan);
    } else if (at == all.end()) {
      return nullptr;
    } else if (at->plan != nullptr || at->direct()) {
      return &*at;
    } else if (!prepare(c, *at)) {
      all.erase(at);
    } else if (const std::size_t size = large_workspace(*at); size > 0) {
      std::rotate(at, at + 1, std::ranges::upper_bound(at + 1, all.end(), size, {}, large_workspace));
    }
  }
}

cudnnStatus_t run_engine(Context& c, const ConvPlan& plan, const ConvEngine& engine, const ConvTensors& t,
                         const Tensor& workspace, const Tensor& bias) {
  if (engine.direct()) {
    run_direct(c, plan.key, t, workspace, bias);
    return CUDNN_STATUS_SUCCESS;
  }
  const GraphObject pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kIds);
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
      std::array<void*, 3>{t.input.data_ptr(), t.weight.data_ptr(), t.output.data_ptr()});
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(workspace.data_ptr()));
  finalize(pack);
  return cudnnBackendExecute(c.dnn(), engine.plan.get(), pack.get());
}

ConvPlan& conv_plan(Context& c, ConvKey key, const ConvTensors& t) {
  auto& plans = c.plans<ConvPlans>();
  auto at = plans.find(key);
  if (at == plans.end() && key.benchmark && c.recording != nullptr) {
    key.benchmark = false;  // timing synchronises, which is not allowed during a capture
    at = plans.find(key);
  }
  if (at != plans.end()) [[likely]]
    return at->second;
  ConvPlan plan{.key = key};
  try {
    plan.graph = graph_of(c, key);
    add_engines(plan, CUDNN_HEUR_MODE_A);
    if (has_direct(key))
      add_engine(plan, {.config = {}, .plan = {}, .name = kDirect, .workspace = direct_workspace(key)});
  } catch (const Error& error) {
    fail("conv2d: ", error.what(), described(t));
  }
  if (key.benchmark) choose(c, plan, t, KeptEngine(kept_engines_folder(), c.gpu(), key));
  if (engine_at(c, plan, 0) == nullptr)
    fail("conv2d: cuDNN has no ", plan.left_out ? "deterministic " : "", "algorithm for these shapes",
         plan.left_out ? "; globalContext().setDeterministicCuDNN(false) allows nondeterministic ones" : "",
         described(t));
  if (plans.size() >= kMaxConvPlans) plans.clear();
  return plans.emplace(key, std::move(plan)).first->second;
}

}  // namespace tandem::cuda_impl
