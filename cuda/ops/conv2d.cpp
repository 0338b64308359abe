// 2-d convolution with cuDNN. A batch that is too large for cuDNN is split. When memory for an algorithm is
// missing, or cuDNN rejects it at run time, the next algorithm of the plan is used.
#include <algorithm>

#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/core/backend/unary.h"
#include "tandem/core/memory/kept_weight.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/conv2d_plan.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

// cuDNN uses 32-bit offsets.
constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;
// Some cuDNN kernels map images to a grid's y or z dimension, and fail or compute wrong results beyond its
// limit.
constexpr int64_t kMaxImages = 65535;

// Pointers to 0 and 1 in the type that cuDNN expects for scaling factors.
const void* number(ScalarType dtype, bool one) {
  static constexpr float single[] = {0, 1};
  static constexpr double twice[] = {0, 1};
  return dtype == kDouble ? static_cast<const void*>(&twice[one]) : &single[one];
}

void supported(const Tensor& t) {
  if (!is_floating_point(t.dtype())) unsupported_dtype("conv2d", t.dtype());
}

void done(Context& c, const char* operation) {
  note_launch(operation);
  if (sync_after_launch()) sync_and_check(c, operation);
}

bool refused(cudnnStatus_t status) {
  const int category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM;
}
// Whether to try another algorithm. Internal errors may be transient; one cause is a lack of memory.
bool gives_way(cudnnStatus_t status) {
  return refused(status) || CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_INTERNAL_ERROR;
}
// Whether cuDNN would reject it every time. An algorithm rejected during a capture may work outside of it.
bool refused_for_good(const Context& c, cudnnStatus_t status) { return refused(status) && c.recording == nullptr; }

// Workspace for an algorithm; undefined when memory is short and another algorithm is left to try.
Tensor workspace_of(Context& c, const ConvAlgorithm& algorithm, bool last) {
  const Dims bytes{static_cast<int64_t>(algorithm.workspace)};
  if (last) return empty_raw(bytes, kByte, c.device());
  try {
    return empty_raw(bytes, kByte, c.device());
  } catch (const Error&) {
    return {};
  }
}

// Calls run(plan, algorithm, workspace) with the first algorithm that works. Algorithms that cuDNN rejects
// permanently are removed from the plan. `first`: the result is still empty, so algorithms may be timed on
// it.
template <class Run>
void with_plan(Context& c, ConvPass pass, const ConvTensors& t, const Conv2dParameters& p, bool first, Run run) {
  ConvKey key = conv_key(pass, t, p);
  key.benchmark &= first;
  ConvPlan& plan = conv_plan(c, key, t);
  for (std::size_t i = 0; i < plan.algorithms.size();) {
    const ConvAlgorithm algorithm = plan.algorithms[i];
    const bool last = i + 1 == plan.algorithms.size();
    const Tensor workspace = workspace_of(c, algorithm, last);
    if (!workspace.defined()) {
      ++i;
      continue;
    }
    ensure(cudnnSetConvolutionMathType(plan.conv.get(), algorithm.math), "cudnnSetConvolutionMathType");
    const cudnnStatus_t status = run(plan, algorithm, workspace.data_ptr());
    if (status == CUDNN_STATUS_SUCCESS) return;
    if (!gives_way(status)) ensure(status, "cudnnConvolution");
    forget_error();
    check(!last, "conv2d: cuDNN: ", cudnnGetErrorString(status), described(t));
    if (refused_for_good(c, status))
      plan.algorithms.erase(plan.algorithms.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
}

// Images [first, first + count) of a batch.
Tensor images(const Tensor& t, int64_t first, int64_t count) {
  Dims sizes(t.sizes());
  sizes[0] = count;
  return alias(t, sizes, t.strides(), t.storage_offset() + first * t.strides()[0]);
}

// Calls f(input, output, whether it is the first part) for parts of the batch that cuDNN accepts.
template <class F>
void for_batches(Context& c, const char* operation, const Tensor& input, const Tensor& output, F f) {
  if (!may_start(c, operation)) return;
  const int64_t batch = input.size(0), image = std::max(input.numel(), output.numel()) / batch;
  const int64_t step = std::min(kMaxImages, kMaxElements / image);
  check(step > 0, "conv2d: cuDNN supports images of up to ", kMaxElements, " elements\n  input  ", input, "\n  output ",
        output);
  for (int64_t first = 0; first < batch; first += step) {
    const int64_t count = std::min(step, batch - first);
    if (count == batch)
      f(input, output, true);
    else
      f(images(input, first, count), images(output, first, count), first == 0);
    done(c, operation);
  }
}

// cuDNN fuses the bias with one algorithm only.
cudnnStatus_t with_bias(Context& c, ConvPlan& plan, const ConvAlgorithm& algorithm, void* workspace,
                        const ConvTensors& t, const Tensor& bias) {
  const void *one = number(bias.dtype(), true), *zero = number(bias.dtype(), false);
  void* out = t.output.data_ptr();
  const auto algo = static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.algorithm);
  if (plan.bias_fused && algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) {
    const cudnnStatus_t status = cudnnConvolutionBiasActivationForward(
        c.dnn(), one, plan.input.get(), t.input.data_ptr(), plan.weight.get(), t.weight.data_ptr(), plan.conv.get(),
        algo, workspace, algorithm.workspace, zero, plan.output.get(), out, plan.bias.get(), bias.data_ptr(),
        plan.identity.get(), plan.output.get(), out);
    if (!gives_way(status)) return status;
    forget_error();
    plan.bias_fused = !refused_for_good(c, status);
  }
  const cudnnStatus_t status = cudnnConvolutionForward(c.dnn(), one, plan.input.get(), t.input.data_ptr(),
                                                       plan.weight.get(), t.weight.data_ptr(), plan.conv.get(), algo,
                                                       workspace, algorithm.workspace, zero, plan.output.get(), out);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return cudnnAddTensor(c.dnn(), one, plan.bias.get(), bias.data_ptr(), one, plan.output.get(), out);
}

// Without the residual and the relu.
void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const Conv2dParameters& p) {
  Context& c = context(out.device());
  supported(out);
  if (out.numel() == 0) return;
  if (input.numel() == 0 || weight.numel() == 0) {  // empty sums
    if (!bias.defined()) return fill_raw(out, 0);
    return copy_raw(out, alias(bias, out.sizes(), {0, 1, 0, 0}, bias.storage_offset()));
  }
  for_batches(c, "conv2d", input, out, [&](const Tensor& x, const Tensor& y, bool) {
    const ConvTensors t{x, weight, y};
    with_plan(c, ConvPass::kForward, t, p, true, [&](ConvPlan& plan, const ConvAlgorithm& a, void* workspace) {
      if (bias.defined()) return with_bias(c, plan, a, workspace, t, bias);
      return cudnnConvolutionForward(c.dnn(), number(x.dtype(), true), plan.input.get(), x.data_ptr(),
                                     plan.weight.get(), weight.data_ptr(), plan.conv.get(),
                                     static_cast<cudnnConvolutionFwdAlgo_t>(a.algorithm), workspace, a.workspace,
                                     number(x.dtype(), false), plan.output.get(), y.data_ptr());
    });
  });
}

void forward(const Tensor& out, const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& e,
             const Conv2dParameters& p, KeptWeight* kept) {
  if (kept != nullptr) kept->clear();  // cuDNN packs nothing
  convolve(out, input, weight, e.bias, p);
  if (e.residual.defined()) binary_kernels.value.get<ops::Add>()(out, out, e.residual, 1);
  if (e.relu) unary_kernels.value.get<ops::Relu>()(out, out, nullptr);
}

void backward_input(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight,
                    const Conv2dParameters& p) {
  Context& c = context(grad_input.device());
  supported(grad_input);
  if (grad_input.numel() == 0) return;
  if (grad_output.numel() == 0 || weight.numel() == 0) return fill_raw(grad_input, 0);
  for_batches(c, "conv2d_backward_input", grad_input, grad_output, [&](const Tensor& dx, const Tensor& dy, bool) {
    with_plan(
        c, ConvPass::kInput, {dx, weight, dy}, p, true, [&](ConvPlan& plan, const ConvAlgorithm& a, void* workspace) {
          return cudnnConvolutionBackwardData(c.dnn(), number(dx.dtype(), true), plan.weight.get(), weight.data_ptr(),
                                              plan.output.get(), dy.data_ptr(), plan.conv.get(),
                                              static_cast<cudnnConvolutionBwdDataAlgo_t>(a.algorithm), workspace,
                                              a.workspace, number(dx.dtype(), false), plan.input.get(), dx.data_ptr());
        });
  });
}

void backward_bias(const Tensor& grad_bias, const Tensor& grad_output) {
  Context& c = context(grad_bias.device());
  supported(grad_bias);
  if (grad_bias.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_raw(grad_bias, 0);
  const ScalarType dtype = grad_bias.dtype();
  if (isReducedFloatingType(dtype))  // cuDNN does not take bfloat16 here
    return reduce_kernels.sum(alias(grad_bias, {1, grad_bias.size(0), 1, 1}, {0, 1, 0, 0}, grad_bias.storage_offset()),
                              grad_output, 0b1101);
  for_batches(c, "conv2d_backward_bias", grad_output, grad_output, [&](const Tensor& part, const Tensor&, bool first) {
    const BiasPlan& plan = bias_plan(c, part);
    ensure(cudnnConvolutionBackwardBias(c.dnn(), number(dtype, true), plan.output.get(), part.data_ptr(),
                                        number(dtype, !first), plan.bias.get(), grad_bias.data_ptr()),
           "cudnnConvolutionBackwardBias");
  });
}

// The results for the parts of a batch are added in order.
void backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output, const Tensor& input,
                     const Conv2dParameters& p) {
  Context& c = context(grad_weight.device());
  supported(grad_weight);
  if (grad_bias.defined()) backward_bias(grad_bias, grad_output);
  if (grad_weight.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_raw(grad_weight, 0);
  for_batches(c, "conv2d_backward_weight", input, grad_output, [&](const Tensor& x, const Tensor& dy, bool first) {
    with_plan(c, ConvPass::kWeight, {x, grad_weight, dy}, p, first,
              [&](ConvPlan& plan, const ConvAlgorithm& a, void* workspace) {
                return cudnnConvolutionBackwardFilter(
                    c.dnn(), number(x.dtype(), true), plan.input.get(), x.data_ptr(), plan.output.get(), dy.data_ptr(),
                    plan.conv.get(), static_cast<cudnnConvolutionBwdFilterAlgo_t>(a.algorithm), workspace, a.workspace,
                    number(x.dtype(), !first), plan.weight.get(), grad_weight.data_ptr());
              });
  });
}

}  // namespace

constinit const ConvKernels conv_kernels{.forward = {forward, kTakesHalf},
                                         .backward_input = {backward_input, kTakesHalf},
                                         .backward_weight = {backward_weight, kTakesHalf},
                                         .backward_bias = {backward_bias, kTakesHalf}};

}  // namespace tandem::cuda_impl
