// The names of the kernels in a backend's tables, in the tables' order: what the profiler shows.
//
// A kernel that is added to a table needs its name here: the sizes are compared when this is compiled.
#include <algorithm>
#include <span>

#include "tandem/core/backend.h"
#include "tandem/core/kernels/activation_ops.h"
#include "tandem/core/kernels/algebraic_ops.h"
#include "tandem/core/kernels/arithmetic_ops.h"
#include "tandem/core/kernels/bitwise_ops.h"
#include "tandem/core/kernels/compare_ops.h"
#include "tandem/core/kernels/exponential_ops.h"
#include "tandem/core/kernels/kernel_span.h"
#include "tandem/core/kernels/random_ops.h"
#include "tandem/core/kernels/rounding_ops.h"
#include "tandem/core/kernels/ternary_ops.h"
#include "tandem/core/kernels/trigonometric_ops.h"
#include "tandem/core/profile_spans.h"

namespace tandem::profiler::detail {
namespace {

constexpr const char* kReduce[] = {"sum",           "prod", "mean", "amax",      "amin", "any", "all",
                                   "count_nonzero", "norm", "var",  "logsumexp", "max",  "min"};
constexpr const char* kScan[] = {"cumsum", "cumprod", "linear_recurrence"};
constexpr const char* kSoftmax[] = {"softmax", "log_softmax", "softmax_backward", "log_softmax_backward"};
constexpr const char* kSort[] = {"sort", "topk", "kthvalue"};
constexpr const char* kIndex[] = {"index_offsets", "index",   "index_put",   "index_put_add",
                                  "gather",        "scatter", "scatter_add", "count_nonzero",
                                  "nonzero",       "cat",     "tril"};
constexpr const char* kLinalg[] = {"matmul", "linear"};
constexpr const char* kConv[] = {"conv2d", "conv2d_backward_input", "conv2d_backward_weight",
                                 "conv2d_backward_bias"};
constexpr const char* kPool[] = {"avg_pool2d",
                                 "avg_pool2d_backward",
                                 "max_pool2d",
                                 "max_pool2d_backward",
                                 "max_pool2d_gather",
                                 "adaptive_avg_pool2d",
                                 "adaptive_avg_pool2d_backward"};
constexpr const char* kLoss[] = {"cross_entropy_loss", "cross_entropy_loss_backward", "nll_loss",
                                 "nll_loss_backward"};
constexpr const char* kNorm[] = {"batch_norm_statistics", "batch_norm", "batch_norm_backward"};
constexpr const char* kOptim[] = {"sgd", "adam", "rmsprop", "adagrad"};
constexpr const char* kData[] = {"gather_normalized"};
// A replay has a span of its own; the rest is not worth one.
constexpr const char* kCapture[] = {nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr, nullptr, nullptr};
constexpr const char* kWhereCopyFill[] = {"where", "copy", "fill"};
constexpr const char* kMultinomial[] = {"multinomial"};

constexpr std::size_t kSlot = sizeof(Kernel<void()>);

// Kernels that lie side by side, and their names.
struct Range {
  const char *begin, *end;
  std::vector<const char*> names;
};

class Table {
 public:
  explicit Table(const Backend& b) {
    runtime(b.runtime);
    family(b.reduce, kReduce);
    family(b.scan, kScan);
    family(b.softmax, kSoftmax);
    family(b.sort, kSort);
    family(b.index, kIndex);
    family(b.linalg, kLinalg);
    family(b.conv, kConv);
    family(b.pool, kPool);
    family(b.loss, kLoss);
    family(b.norm, kNorm);
    family(b.optim, kOptim);
    family(b.data, kData);
    family(b.capture, kCapture);
    static_assert(sizeof(PointwiseKernels) == 16 * kSlot && sizeof(RandomKernels) == 2 * kSlot,
                  "a kernel has no name in this file");
    range(&b.pointwise.where, kWhereCopyFill);
    range(&b.random.multinomial, kMultinomial);
    array(b.random.fill);
    array(b.pointwise.compare);
    array(b.pointwise.ternary);
    array(b.pointwise.binary.arithmetic);
    array(b.pointwise.binary.bitwise);
    array(b.pointwise.unary.rounding);
    array(b.pointwise.unary.algebraic);
    array(b.pointwise.unary.exponential);
    array(b.pointwise.unary.trigonometric);
    array(b.pointwise.unary.activation);
    array(b.pointwise.gradient.algebraic, "_backward");
    array(b.pointwise.gradient.exponential, "_backward");
    array(b.pointwise.gradient.trigonometric, "_backward");
    array(b.pointwise.gradient.activation, "_backward");
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& x, const Range& y) { return x.begin < y.begin; });
  }

  // False when the kernel is of another table.
  bool find(const void* kernel, const char*& name) const {
    const char* const at = static_cast<const char*>(kernel);
    auto range = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                                  [](const char* a, const Range& r) { return a < r.begin; });
    if (range == ranges_.begin() || at >= (--range)->end) return false;
    name = range->names[static_cast<std::size_t>(at - range->begin) / kSlot];
    return true;
  }

 private:
  void range(const void* first, std::span<const char* const> names) {
    const char* begin = static_cast<const char*>(first);
    ranges_.push_back({begin, begin + names.size() * kSlot, {names.begin(), names.end()}});
  }
  // Of the runtime only what moves bytes or waits is shown.
  void runtime(const RuntimeKernels& kernels) {
    static_assert(sizeof(RuntimeKernels) % kSlot == 0);
    std::vector<const char*> names(sizeof(RuntimeKernels) / kSlot, nullptr);
    const char* const begin = reinterpret_cast<const char*>(&kernels);
    const auto show = [&](const auto& kernel, const char* name) {
      names[static_cast<std::size_t>(reinterpret_cast<const char*>(&kernel) - begin) / kSlot] = name;
    };
    show(kernels.copy_bytes, "copy_bytes");
    show(kernels.synchronize_stream, "synchronize_stream");
    show(kernels.synchronize, "synchronize");
    show(kernels.synchronize_event, "synchronize_event");
    range(&kernels, names);
  }
  template <class Family, std::size_t N>
  void family(const Family& kernels, const char* const (&names)[N]) {
    static_assert(sizeof(Family) == N * kSlot, "a kernel has no name in this file");
    range(&kernels, names);
  }
  template <class... Ops, class Signature>
  void array(const KernelArray<TypeList<Ops...>, Signature>& kernels, const char* suffix = "") {
    static_assert(sizeof kernels == sizeof...(Ops) * kSlot);
    const char* names[] = {(*suffix == '\0' ? Ops::name : interned(concat(Ops::name, suffix)))...};
    range(&kernels, names);
  }
  std::vector<Range> ranges_;
};

}  // namespace

KernelName name_of_kernel(const void* kernel) {
  static const Table* const cpu = new Table(cpu_backend);
  const char* name = nullptr;
  if (cpu->find(kernel, name)) return {name, false};
  static const Table* const cuda = cuda_backend() != nullptr ? new Table(*cuda_backend()) : nullptr;
  if (cuda == nullptr || !cuda->find(kernel, name)) return {};
  const char* const runtime = reinterpret_cast<const char*>(&cuda_backend()->runtime);
  const auto offset = static_cast<const char*>(kernel) - runtime;
  const bool waits = offset >= 0 && offset < static_cast<std::ptrdiff_t>(sizeof(RuntimeKernels)) &&
                     kernel != &cuda_backend()->runtime.copy_bytes;
  return {name, !waits};
}

void KernelArguments::note(const Tensor& t) {
  if (t.defined() && tensor_count < 8) tensors[tensor_count++] = &t;
}
void KernelArguments::note(const Operand& operand) {
  if (operand.tensor != nullptr) note(*operand.tensor);
}
void KernelArguments::note(const StreamHandle& stream) { note(stream.device); }
void KernelArguments::note(Device device) {
  if (device_count < 2) devices[device_count++] = device;
}
void KernelArguments::note(TensorList tensors) {
  for (const Tensor& t : tensors) note(t);
}
void KernelArguments::note(const Gradients& gradients) { note(gradients.of); }

namespace {

std::string text_of(const KernelArguments& a) {
  std::string text;
  if (a.tensor_count > 0) append(text, a.tensors[0]->dtype());
  for (int i = 0; i < a.tensor_count; ++i) {
    text += ' ';
    tandem::detail::append(text, a.tensors[i]->sizes());
  }
  if (a.device_count == 2)
    text = concat(a.devices[1], " to ", a.devices[0], ", ", a.bytes, " bytes");
  else if (a.device_count == 1)
    text = a.devices[0].str();
  return text;
}

// The device on whose stream the kernel runs.
Device device_of(const KernelArguments& a) {
  if (a.tensor_count > 0) return a.tensors[0]->device();
  for (int i = 0; i < a.device_count; ++i)
    if (!a.devices[i].is_cpu()) return a.devices[i];
  return resolve(kCUDA);
}

}  // namespace

KernelSpan::KernelSpan(const void* kernel, const KernelArguments& arguments) {
  const KernelName found = name_of_kernel(kernel);
  name_ = found.name;
  if (name_ == nullptr) return;
  set_note(note_, text_of(arguments));
  const Device device = found.queued ? device_of(arguments) : Device(kCPU, 0);
  begin_span(open_, device.is_cpu() ? nullptr : &device);
}

KernelSpan::~KernelSpan() {
  if (name_ == nullptr) return;
  Span span{.name = name_, .category = "kernel"};
  std::copy(std::begin(note_), std::end(note_), span.note);
  end_span(open_, span);
}

}  // namespace tandem::profiler::detail
