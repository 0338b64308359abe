// 2-d convolution with cuDNN, or with kernels of our own where they are faster. A batch that is too large for cuDNN is
// split. When memory for an engine is missing, or cuDNN rejects it at run time, the next engine of the plan is used.
#include <algorithm>

#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/memory/kept_weight.h"
#include "tandem/core/memory_format.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/batch_norm_tables.h"
#include "tandem/cuda/ops/conv2d_plan.h"
#include "tandem/cuda/strict/conv2d.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

// cuDNN uses 32-bit offsets.
constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;
// Some cuDNN kernels map images to a grid's y or z dimension, and fail or compute wrong results beyond its
// limit.
constexpr int64_t kMaxImages = 65535;

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
// Whether to try another engine. Internal errors may be transient; one cause is a lack of memory.
bool gives_way(cudnnStatus_t status) {
  return refused(status) || CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_INTERNAL_ERROR;
}
// Whether cuDNN would reject it every time. An engine rejected during a capture may work outside of it.
bool refused_for_good(const Context& c, cudnnStatus_t status) { return refused(status) && c.recording == nullptr; }

// Runs the first engine that works, on tensors in the layout. Engines that cuDNN rejects permanently are removed from
// the plan, except the last. Returns whether the engine is our own, which has added the bias unless that is undefined.
bool run(Context& c, ConvPass pass, const ConvTensors& t, const Conv2dParameters& p, const Tensor& bias,
         bool channels_last) {
  ConvPlan& plan = conv_plan(c, conv_key(pass, t, p, channels_last), t);
  for (std::size_t i = 0;;) {
    const ConvEngine& engine = *engine_at(c, plan, i);
    Tensor workspace;
    try {
      workspace = empty_raw({static_cast<int64_t>(engine.workspace)}, kByte, c.device());
    } catch (const Error&) {
      if (engine_at(c, plan, ++i) == nullptr) throw;
      continue;
    }
    const cudnnStatus_t status = run_engine(c, plan, engine, t, workspace, bias);
    if (status == CUDNN_STATUS_SUCCESS) return engine.direct();
    if (!gives_way(status)) ensure(status, "cudnnBackendExecute");
    forget_error();
    check(engine_at(c, plan, i + 1) != nullptr, "conv2d: cuDNN: ", cudnnGetErrorString(status), described(t));
    if (refused_for_good(c, status))
      plan.engines.erase(plan.engines.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
}

// A tensor in another layout for the time of a convolution; the tensor itself where it has that layout.
class LaidOut {
 public:
  LaidOut(const Tensor& t, MemoryFormat format, bool read) : given_(t), used_(t) {
    if (t.is_contiguous(format)) return;
    used_ = empty_raw(t.sizes(), t.dtype(), t.device(), format);
    if (read) copy_raw(used_, t);
  }
  const Tensor& used() const { return used_; }
  void write_back() const {
    if (!used_.is_same(given_)) copy_raw(given_, used_);
  }

 private:
  Tensor given_, used_;
};

bool convolve_in(Context& c, ConvPass pass, const ConvTensors& t, const Conv2dParameters& p, const Tensor& bias,
                 bool channels_last) {
  const MemoryFormat format = channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  const LaidOut input(t.input, format, pass != ConvPass::kInput), weight(t.weight, format, pass != ConvPass::kWeight),
      output(t.output, format, pass != ConvPass::kForward);
  const bool direct = run(c, pass, {input.used(), weight.used(), output.used()}, p, bias, channels_last);
  if (pass == ConvPass::kInput) input.write_back();
  if (pass == ConvPass::kWeight) weight.write_back();
  if (pass == ConvPass::kForward) output.write_back();
  return direct;
}

bool convolve(Context& c, ConvPass pass, const ConvTensors& t, const Conv2dParameters& p, const Tensor& bias = {}) {
  const ChannelsLast last = runs_channels_last(c, pass, t, p);
  if (last == ChannelsLast::kIfAccepted) try {
      return convolve_in(c, pass, t, p, bias, true);
    } catch (const OutOfMemoryError&) {
      throw;
    } catch (const Error&) {
      if (c.recording != nullptr) throw;  // what fails in a capture may work outside of it
      forget_error();
      refuse_channels_last(c, conv_key(pass, t, p, true));
    }
  return convolve_in(c, pass, t, p, bias, last == ChannelsLast::kYes);
}

// Images [first, first + count) of a batch.
Tensor images(const Tensor& t, int64_t first, int64_t count) {
  Dims sizes(t.sizes());
  sizes[0] = count;
  return alias(t, sizes, t.strides(), t.storage_offset() + first * t.strides()[0]);
}

// Calls f(input, output, whether it is the first part) for parts of the batch that cuDNN accepts. f returns what convolve()
// does.
template <class F>
void for_batches(Context& c, const char* operation, const Tensor& input, const Tensor& output, F f) {
  if (!may_start(c, operation)) return;
  const int64_t batch = input.size(0), image = std::max(input.numel(), output.numel()) / batch;
  const int64_t step = std::min(kMaxImages, kMaxElements / image);
  check(step > 0, "conv2d: cuDNN supports images of up to ", kMaxElements, " elements\n  input  ", input, "\n  output ",
        output);
  for (int64_t first = 0; first < batch; first += step) {
    const int64_t count = std::min(step, batch - first);
    const bool direct = count == batch ? f(input, output, true)
                                       : f(images(input, first, count), images(output, first, count), first == 0);
    if (!direct) done(c, operation);
  }
}

void add(const Tensor& to, const Tensor& from) { binary_kernels.value.get<ops::Add>()(to, to, from, 1); }

void forward(const Tensor& out, const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& e,
             const Conv2dParameters& p, KeptWeight* kept) {
  if (kept != nullptr) kept->clear();  // cuDNN packs nothing
  Context& c = context(out.device());
  supported(out);
  if (out.numel() == 0) return;
  if (is_strict()) return strict::conv2d_forward(out, input, weight, e.bias, p);
  const auto add_bias = [&](const Tensor& to) {
    if (e.bias.defined()) add(to, alias(e.bias, to.sizes(), {0, 1, 0, 0}, e.bias.storage_offset()));
  };
  if (input.numel() == 0 || weight.numel() == 0) {  // empty sums
    fill_raw(out, 0);
    return add_bias(out);
  }
  for_batches(c, "conv2d", input, out, [&](const Tensor& x, const Tensor& y, bool) {
    const bool direct = convolve(c, ConvPass::kForward, {x, weight, y}, p, e.bias);
    if (!direct) add_bias(y);
    return direct;
  });
}

void backward_input(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight,
                    const Conv2dParameters& p) {
  Context& c = context(grad_input.device());
  supported(grad_input);
  if (grad_input.numel() == 0) return;
  if (grad_output.numel() == 0 || weight.numel() == 0) return fill_raw(grad_input, 0);
  if (is_strict()) return strict::conv2d_backward_input(grad_input, grad_output, weight, p);
  for_batches(c, "conv2d_backward_input", grad_input, grad_output, [&](const Tensor& dx, const Tensor& dy, bool) {
    return convolve(c, ConvPass::kInput, {dx, weight, dy}, p);
  });
}

// cuDNN's own takes thirty times as long as reading the gradient, and knows no bfloat16.
void backward_bias(const Tensor& grad_bias, const Tensor& grad_output) {
  supported(grad_bias);
  if (is_strict()) return strict::conv2d_backward_bias(grad_bias, grad_output);
  const int64_t n = grad_output.size(0), channels = grad_output.size(1),
                plane = grad_output.size(2) * grad_output.size(3);
  const Dims sizes = grad_output.is_contiguous() ? Dims{n, channels, plane} : Dims{n * plane, channels, 1};
  sum_channels(grad_bias, alias(grad_output, sizes, contiguous_strides(sizes), grad_output.storage_offset()));
}

// The results for the parts of a batch are added in order.
void backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output, const Tensor& input,
                     const Conv2dParameters& p) {
  Context& c = context(grad_weight.device());
  supported(grad_weight);
  if (is_strict() && grad_weight.numel() > 0 && grad_output.numel() > 0)
    return strict::conv2d_backward_weight(grad_weight, grad_bias, grad_output, input, p);
  if (grad_bias.defined()) backward_bias(grad_bias, grad_output);
  if (grad_weight.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_raw(grad_weight, 0);
  for_batches(c, "conv2d_backward_weight", input, grad_output, [&](const Tensor& x, const Tensor& dy, bool first) {
    const Tensor part = first ? grad_weight : empty_elementwise(grad_weight, grad_weight.dtype());
    const bool direct = convolve(c, ConvPass::kWeight, {x, part, dy}, p);
    if (!first) add(grad_weight, part);
    return direct;
  });
}

}  // namespace

constinit const ConvKernels conv_kernels{.forward = {forward, kTakesHalf},
                                         .backward_input = {backward_input, kTakesHalf},
                                         .backward_weight = {backward_weight, kTakesHalf},
                                         .backward_bias = {backward_bias, kTakesHalf}};

}  // namespace tandem::cuda_impl
