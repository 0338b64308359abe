// Anomaly mode: notes about the forward pass, and their use in the backward pass.
#include "tandem/autograd/anomaly_mode.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <utility>

#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/record.h"
#include "tandem/core/base/demangle.h"
#include "tandem/core/base/fork.h"
#include "tandem/core/warning.h"

namespace tandem::autograd {

constinit std::atomic<bool> AnomalyMode::enabled_{false}, AnomalyMode::check_nan_{true};

namespace {
constinit tandem::detail::ForkMutex guards_mutex;
constinit int guards = 0;
constinit bool enabled_before_guards = false;

// The node whose backward runs on this thread, in anomaly mode.
constinit thread_local const Node* running = nullptr;

// "tandem::log(tandem::Tensor const&)", or "program(+0x1234)" for a function without a public name.
std::string describe(void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return concat(address);
  if (info.dli_sname == nullptr) {
    char offset[32];
    std::snprintf(offset, sizeof offset, "(+%#zx)",
                  static_cast<std::size_t>(static_cast<char*>(address) - static_cast<char*>(info.dli_fbase)));
    return info.dli_fname + std::string(offset);
  }
  return tandem::detail::demangle(info.dli_sname);
}

// The calls that led to `first`, a return address on the stack, innermost first. How many frames lie above it depends
// on inlining, and on sanitizers.
std::vector<void*> calls(const void* first) {
  std::array<void*, 48> frames;
  void** const end = frames.data() + ::backtrace(frames.data(), static_cast<int>(frames.size()));
  void** const at = std::find(frames.data(), end, first);
  return std::vector<void*>(at == end ? frames.data() : at, end);  // not braces: void** converts to void*
}

void print_origin(const Node& node) {
  std::string text = concat("error detected in ", node.label());
  if (!node.forward_note)
    text += ", which was recorded outside anomaly mode: enable the mode for the forward pass, too";
  const char* joint = ": the forward call that caused it was ";
  for (std::size_t i = 0; node.forward_note && i < node.forward_note->levels.size(); ++i) {
    const auto& level = node.forward_note->levels[i];
    text += std::exchange(joint, "\n  recorded by the backward of ") + level.call;
    for (void* frame : level.frames)  // the call is the instruction before the return address
      text += "\n    " + describe(static_cast<char*>(frame) - 1);
  }
  warn(text);
}

bool has_nan(const Tensor& t) {
  const Tensor values = t.detach();
  return (values.is_floating_point() || values.is_complex()) && (values != values).any().item<bool>();
}

void check_nan(const Node& node, std::span<Tensor> gradients) {
  for (std::size_t j = 0; j < gradients.size(); ++j)
    if (gradients[j].defined() && has_nan(gradients[j]))
      fail("Function '", node.label(), "' returned nan values in its ", j, "th output.\n  forward: ",
           node.forward_note ? node.forward_note->call() : std::string("recorded outside anomaly mode"));
}

struct RunningGuard {
  explicit RunningGuard(const Node& node) : outer(std::exchange(running, &node)) {}
  ~RunningGuard() { running = outer; }
  RunningGuard(const RunningGuard&) = delete;
  RunningGuard& operator=(const RunningGuard&) = delete;
  const Node* outer;
};
}  // namespace

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan) {
  const std::lock_guard lock(guards_mutex);
  if (guards++ == 0) enabled_before_guards = AnomalyMode::is_enabled();
  check_nan_before_ = AnomalyMode::should_check_nan();
  AnomalyMode::set_enabled(true, check_nan);
}
DetectAnomalyGuard::~DetectAnomalyGuard() {
  const std::lock_guard lock(guards_mutex);
  AnomalyMode::set_enabled(--guards > 0 || enabled_before_guards, check_nan_before_);
}

void backward_in_anomaly_mode(Node& node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) {
  const RunningGuard guard(node);
  try {
    node.backward(grad_outputs, grad_inputs);
    if (AnomalyMode::should_check_nan()) check_nan(node, grad_inputs);
  } catch (...) {
    print_origin(node);
    throw;
  }
}

namespace detail {
[[gnu::noinline]] void note_forward(Node& node, TensorList inputs) {
  std::string text = node.label();
  if (const auto at = text.rfind("Backward"); at != std::string::npos) text.resize(at);
  text += "(";
  for (std::size_t i = 0; i < inputs.size(); ++i) text += concat(i == 0 ? "" : ", ", inputs[i]);
  text += ")";
  constexpr std::size_t kLevels = 4;  // passes may be nested thousands of times
  std::vector<ForwardNote::Level> levels;
  levels.push_back({std::move(text), calls(__builtin_return_address(0))});
  if (running != nullptr && running->forward_note) {
    const auto& outer = running->forward_note->levels;
    levels.insert(levels.end(), outer.begin(),
                  outer.begin() + static_cast<std::ptrdiff_t>(std::min(outer.size(), kLevels - 1)));
  } else if (running != nullptr) {
    levels.push_back({running->label(), {}});
  }
  node.forward_note = std::make_unique<ForwardNote>(ForwardNote{std::move(levels)});
}
}  // namespace detail

}  // namespace tandem::autograd
