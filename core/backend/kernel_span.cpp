// Around a watched kernel call: the text of its span (dtype, shapes and device), and the recorder.
#include "tandem/core/backend/kernel_span.h"

#include <algorithm>

#include "tandem/core/backend/optim.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile/profile_spans.h"

namespace tandem::detail {
namespace {

// The part of a kernel's arguments that a span reports.
struct KernelArguments {
  const Tensor* tensors[8] = {};
  int tensor_count = 0;
  Device devices[2];
  int device_count = 0;
  std::size_t bytes = 0;

  explicit KernelArguments(const KernelCall& call) {
    for (std::size_t i = 0; i < call.count; ++i) {
      if (const auto* tensor = call.argument<Tensor>(i)) note(*tensor);
      if (const auto* operand = call.argument<Operand>(i); operand != nullptr && operand->tensor != nullptr)
        note(*operand->tensor);
      if (const auto* list = call.argument<TensorList>(i)) note(*list);
      if (const auto* gradients = call.argument<Gradients>(i)) note(gradients->of);
      if (const auto* device = call.argument<Device>(i)) note(*device);
      if (const auto* stream = call.argument<StreamHandle>(i)) note(stream->device);
      if (const auto* count = call.argument<std::size_t>(i)) bytes = *count;
    }
  }
  void note(const Tensor& t) {
    if (t.defined() && tensor_count < 8) tensors[tensor_count++] = &t;
  }
  void note(TensorList list) {
    for (const Tensor& t : list) note(t);
  }
  void note(Device device) {
    if (device_count < 2) devices[device_count++] = device;
  }
};

std::string text_of(const KernelArguments& a) {
  std::string text;
  if (a.tensor_count > 0) append(text, a.tensors[0]->dtype());
  for (int i = 0; i < a.tensor_count; ++i) {
    text += ' ';
    append(text, a.tensors[i]->sizes());
    if (is_channels_last(dense_format(*a.tensors[i]))) text += a.tensors[i]->dim() == 4 ? " nhwc" : " ndhwc";
  }
  if (a.device_count == 2)
    text = concat(a.devices[1], " to ", a.devices[0], ", ", a.bytes, " bytes");
  else if (a.device_count == 1)
    text = a.devices[0].str();
  return text;
}

// The device whose stream runs a kernel with these arguments; the CPU unless they name another.
Device device_of(const KernelArguments& a) {
  if (a.tensor_count > 0) return a.tensors[0]->device();
  for (int i = 0; i < a.device_count; ++i)
    if (!a.devices[i].is_cpu()) return a.devices[i];
  return Device(kCPU, 0);
}

}  // namespace

WatchedCall::WatchedCall(const KernelCall& call, bool queued) : name_(call.name) {
  if (paused_.recorder() != nullptr) paused_.recorder()->called(call);
  const KernelArguments arguments(call);
  profiler::detail::set_note(note_, text_of(arguments));
  const Device device = queued ? device_of(arguments) : Device(kCPU, 0);
  begin_span(open_, device.is_cpu() ? nullptr : &device);
}

WatchedCall::~WatchedCall() {
  profiler::detail::Span span{.name = name_, .category = "kernel"};
  std::copy(std::begin(note_), std::end(note_), span.note);
  end_span(open_, span);
}

}  // namespace tandem::detail
