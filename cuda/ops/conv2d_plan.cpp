// Selects the algorithm of a convolution: by cuDNN's heuristic by default, or by timing all algorithms after
// globalContext().setBenchmarkCuDNN(true). Algorithms that may produce different bits on each run are
// excluded unless setDeterministicCuDNN(false).
#include "tandem/cuda/ops/conv2d_plan.h"

#include <algorithm>
#include <array>
#include <climits>

#include "tandem/core/global_context.h"

namespace tandem::cuda_impl {
namespace {

cudnnDataType_t type_of(ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      return CUDNN_DATA_HALF;
    case kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case kDouble:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

template <class D, class Create>
D create(Create function, const char* call) {
  typename D::pointer made = nullptr;
  ensure(function(&made), call);
  return D(made);
}

// The differences between the three passes: their result type and three calls.
struct ForwardSearch {
  using Result = cudnnConvolutionFwdAlgoPerf_t;
  static cudnnStatus_t guess(cudnnHandle_t h, const ConvPlan& p, int room, int* count, Result* results) {
    return cudnnGetConvolutionForwardAlgorithm_v7(h, p.input.get(), p.weight.get(), p.conv.get(), p.output.get(), room,
                                                  count, results);
  }
  static cudnnStatus_t measure(cudnnHandle_t h, const ConvPlan& p, const ConvTensors& t, int room, int* count,
                               Result* results, void* workspace, std::size_t bytes) {
    return cudnnFindConvolutionForwardAlgorithmEx(h, p.input.get(), t.input.data_ptr(), p.weight.get(),
                                                  t.weight.data_ptr(), p.conv.get(), p.output.get(),
                                                  t.output.data_ptr(), room, count, results, workspace, bytes);
  }
  static cudnnStatus_t workspace(cudnnHandle_t h, const ConvPlan& p, decltype(Result::algo) algorithm,
                                 std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(h, p.input.get(), p.weight.get(), p.conv.get(), p.output.get(),
                                                   algorithm, bytes);
  }
};
struct InputSearch {
  using Result = cudnnConvolutionBwdDataAlgoPerf_t;
  static cudnnStatus_t guess(cudnnHandle_t h, const ConvPlan& p, int room, int* count, Result* results) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(h, p.weight.get(), p.output.get(), p.conv.get(), p.input.get(),
                                                       room, count, results);
  }
  static cudnnStatus_t measure(cudnnHandle_t h, const ConvPlan& p, const ConvTensors& t, int room, int* count,
                               Result* results, void* workspace, std::size_t bytes) {
    return cudnnFindConvolutionBackwardDataAlgorithmEx(h, p.weight.get(), t.weight.data_ptr(), p.output.get(),
                                                       t.output.data_ptr(), p.conv.get(), p.input.get(),
                                                       t.input.data_ptr(), room, count, results, workspace, bytes);
  }
  static cudnnStatus_t workspace(cudnnHandle_t h, const ConvPlan& p, decltype(Result::algo) algorithm,
                                 std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(h, p.weight.get(), p.output.get(), p.conv.get(), p.input.get(),
                                                        algorithm, bytes);
  }
};
struct WeightSearch {
  using Result = cudnnConvolutionBwdFilterAlgoPerf_t;
  static cudnnStatus_t guess(cudnnHandle_t h, const ConvPlan& p, int room, int* count, Result* results) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(h, p.input.get(), p.output.get(), p.conv.get(), p.weight.get(),
                                                         room, count, results);
  }
  static cudnnStatus_t measure(cudnnHandle_t h, const ConvPlan& p, const ConvTensors& t, int room, int* count,
                               Result* results, void* workspace, std::size_t bytes) {
    return cudnnFindConvolutionBackwardFilterAlgorithmEx(h, p.input.get(), t.input.data_ptr(), p.output.get(),
                                                         t.output.data_ptr(), p.conv.get(), p.weight.get(),
                                                         t.weight.data_ptr(), room, count, results, workspace, bytes);
  }
  static cudnnStatus_t workspace(cudnnHandle_t h, const ConvPlan& p, decltype(Result::algo) algorithm,
                                 std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(h, p.input.get(), p.output.get(), p.conv.get(),
                                                          p.weight.get(), algorithm, bytes);
  }
};

constexpr int kMaxAlgorithms = 16;

// float32 without TF32 is computed with fused multiply-adds, and never rounded to 16 bits; the half types use tensor
// cores.
cudnnMathType_t math_of(const ConvKey& key, cudnnMathType_t proposed = CUDNN_DEFAULT_MATH) {
  if (isReducedFloatingType(key.dtype)) return CUDNN_TENSOR_OP_MATH;
  if (key.dtype == kFloat && !key.tf32) return CUDNN_FMA_MATH;
  return proposed == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION ? CUDNN_DEFAULT_MATH : proposed;
}

template <class Result>
bool usable(const Result& result, const ConvKey& key) {
  return result.status == CUDNN_STATUS_SUCCESS && (!key.deterministic || result.determinism == CUDNN_DETERMINISTIC);
}

template <class Search>
using Results = std::vector<typename Search::Result>;

// Results timed by cuDNN. Empty when memory is short or timing fails; then the heuristic's results are used.
template <class Search>
Results<Search> timed(Context& c, const ConvKey& key, const ConvTensors& t, const ConvPlan& plan,
                      const Results<Search>& guessed) try {
  std::size_t bytes = 16;
  for (const auto& result : guessed)
    if (usable(result, key) && result.memory <= kConvWorkspaceLimit) bytes = std::max(bytes, result.memory);
  const Tensor workspace = empty_raw({static_cast<int64_t>(bytes)}, kByte, c.device());
  Results<Search> results(kMaxAlgorithms);
  int count = 0;
  const cudnnStatus_t status =
      Search::measure(c.dnn(), plan, t, kMaxAlgorithms, &count, results.data(), workspace.data_ptr(), bytes);
  if (status != CUDNN_STATUS_SUCCESS) {
    forget_error();
    return {};
  }
  results.resize(static_cast<std::size_t>(count));
  return results;
} catch (const Error&) {
  return {};
}

// Adds the algorithms with the workspace size for the math type they will use, which may differ from the
// proposed one.
template <class Search>
void add_algorithms(Context& c, const ConvKey& key, const Results<Search>& results, ConvPlan& plan) {
  for (const auto& result : results) {
    ConvAlgorithm added{static_cast<int>(result.algo), 0, math_of(key, result.mathType)};
    const bool known = std::ranges::any_of(plan.algorithms, [&](const ConvAlgorithm& other) {
      return other.algorithm == added.algorithm && other.math == added.math;
    });
    if (known || !usable(result, key)) continue;
    ensure(cudnnSetConvolutionMathType(plan.conv.get(), added.math), "cudnnSetConvolutionMathType");
    if (Search::workspace(c.dnn(), plan, result.algo, &added.workspace) == CUDNN_STATUS_SUCCESS)
      plan.algorithms.push_back(added);
  }
}

template <class Search>
void search(Context& c, const ConvKey& key, const ConvTensors& t, ConvPlan& plan) {
  Results<Search> guessed(kMaxAlgorithms);
  int count = 0;
  const cudnnStatus_t status = Search::guess(c.dnn(), plan, kMaxAlgorithms, &count, guessed.data());
  if (status != CUDNN_STATUS_SUCCESS) fail("conv2d: cuDNN: ", cudnnGetErrorString(status), described(t));
  guessed.resize(static_cast<std::size_t>(count));
  if (key.benchmark) add_algorithms<Search>(c, key, timed<Search>(c, key, t, plan, guessed), plan);
  add_algorithms<Search>(c, key, guessed, plan);
  std::ranges::stable_sort(plan.algorithms, {},
                           [](const ConvAlgorithm& a) { return a.workspace <= kConvWorkspaceLimit ? 0 : a.workspace; });
  if (!plan.algorithms.empty()) return;
  if (std::ranges::any_of(
          guessed, [&](const auto& result) { return result.status == CUDNN_STATUS_SUCCESS && !usable(result, key); }))
    fail(
        "conv2d: cuDNN has no deterministic algorithm for these shapes; "
        "globalContext().setDeterministicCuDNN(false) allows nondeterministic ones",
        described(t));
  fail("conv2d: cuDNN has no algorithm for these shapes", described(t));
}

TensorDescriptor tensor_descriptor(ScalarType dtype, int64_t n, int64_t c, int64_t h, int64_t w) {
  auto made = create<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  ensure(cudnnSetTensor4dDescriptor(made.get(), CUDNN_TENSOR_NCHW, type_of(dtype), static_cast<int>(n),
                                    static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)),
         "cudnnSetTensor4dDescriptor");
  return made;
}

void describe(const ConvKey& key, ConvPlan& plan) {
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  const auto& [o, i, kh, kw] = key.weight;
  const Conv2dParameters& p = key.p;
  plan.input = tensor_descriptor(key.dtype, key.input[0], key.input[1], key.input[2], key.input[3]);
  plan.output = tensor_descriptor(key.dtype, key.output[0], key.output[1], key.output[2], key.output[3]);
  plan.bias = tensor_descriptor(key.dtype, 1, o, 1, 1);
  plan.weight = create<FilterDescriptor>(cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor");
  ensure(cudnnSetFilter4dDescriptor(plan.weight.get(), type_of(key.dtype), CUDNN_TENSOR_NCHW, number(o), number(i),
                                    number(kh), number(kw)),
         "cudnnSetFilter4dDescriptor");
  plan.conv = create<ConvDescriptor>(cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor");
  ensure(cudnnSetConvolution2dDescriptor(plan.conv.get(), number(p.padding[0]), number(p.padding[1]),
                                         number(p.stride[0]), number(p.stride[1]), number(p.dilation[0]),
                                         number(p.dilation[1]), CUDNN_CROSS_CORRELATION,
                                         key.dtype == kDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
         "cudnnSetConvolution2dDescriptor");
  ensure(cudnnSetConvolutionGroupCount(plan.conv.get(), number(p.groups)), "cudnnSetConvolutionGroupCount");
  ensure(cudnnSetConvolutionMathType(plan.conv.get(), math_of(key)), "cudnnSetConvolutionMathType");
  plan.identity = create<ActivationDescriptor>(cudnnCreateActivationDescriptor, "cudnnCreateActivationDescriptor");
  ensure(cudnnSetActivationDescriptor(plan.identity.get(), CUDNN_ACTIVATION_IDENTITY, CUDNN_NOT_PROPAGATE_NAN, 0),
         "cudnnSetActivationDescriptor");
}

}  // namespace

std::string described(const ConvTensors& t) {
  return concat("\n  input  ", t.input, "\n  weight ", t.weight, "\n  output ", t.output);
}

ConvKey conv_key(ConvPass pass, const ConvTensors& t, const Conv2dParameters& p) {
  const auto sizes = [&](const Tensor& tensor) {
    std::array<int64_t, 4> out{};
    for (std::size_t d = 0; d < 4; ++d) {
      out[d] = tensor.sizes()[d];
      if (out[d] > INT_MAX) fail("conv2d: cuDNN supports sizes up to ", INT_MAX, described(t));
    }
    return out;
  };
  const bool single = t.input.dtype() == kFloat;
  return {.pass = pass,
          .dtype = t.input.dtype(),
          .tf32 = single && globalContext().allowTF32CuDNN(),
          .deterministic = globalContext().deterministicCuDNN(),
          .benchmark = globalContext().benchmarkCuDNN(),
          .input = sizes(t.input),
          .weight = sizes(t.weight),
          .output = sizes(t.output),
          .p = p};
}

namespace {
struct ConvPlans {
  std::unordered_map<ConvKey, ConvPlan, PlanHash> plans;
  std::unordered_map<BiasKey, BiasPlan, PlanHash> bias;
};
}  // namespace

ConvPlan& conv_plan(Context& c, ConvKey key, const ConvTensors& t) {
  auto& plans = c.plans<ConvPlans>().plans;
  auto at = plans.find(key);
  if (at == plans.end() && key.benchmark && c.recording != nullptr) {
    key.benchmark = false;  // timing synchronises, which is not allowed during a capture
    at = plans.find(key);
  }
  if (at != plans.end()) [[likely]]
    return at->second;
  ConvPlan plan;
  try {
    describe(key, plan);
  } catch (const Error& error) {
    fail("conv2d: ", error.what(), described(t));
  }
  if (key.pass == ConvPass::kForward) search<ForwardSearch>(c, key, t, plan);
  if (key.pass == ConvPass::kInput) search<InputSearch>(c, key, t, plan);
  if (key.pass == ConvPass::kWeight) search<WeightSearch>(c, key, t, plan);
  if (plans.size() >= kMaxPlans) plans.clear();
  return plans.emplace(key, std::move(plan)).first->second;
}

BiasPlan& bias_plan(Context& c, const Tensor& output) {
  auto& plans = c.plans<ConvPlans>().bias;
  const BiasKey key{output.dtype(), {output.size(0), output.size(1), output.size(2), output.size(3)}};
  const auto at = plans.find(key);
  if (at != plans.end()) [[likely]]
    return at->second;
  const auto& [n, channels, h, w] = key.output;
  BiasPlan plan{tensor_descriptor(key.dtype, n, channels, h, w), tensor_descriptor(key.dtype, 1, channels, 1, 1)};
  if (plans.size() >= kMaxPlans) plans.clear();
  return plans.emplace(key, std::move(plan)).first->second;
}

}  // namespace tandem::cuda_impl
