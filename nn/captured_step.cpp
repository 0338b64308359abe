// Captured steps: which recording serves a call, and what a replay does on the host.
#include "tandem/nn/captured_step.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/capture.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile.h"
#include "tandem/nn/step_signature.h"
#include "tandem/nn/step_state.h"

namespace tandem {

namespace detail {
void wrong_input_count(std::size_t expected, std::size_t given) {
  fail("captured step: the function takes ", expected, " tensors, got ", given);
}

// While alive, directs work to the capture's stream and memory.
class CaptureScope {
 public:
  explicit CaptureScope(const Capture& capture) : capture_(capture) { capture.kernels().enter(capture.get()); }
  ~CaptureScope() { capture_.kernels().leave(capture_.get()); }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  const Capture& capture_;
};

// The state in which a recording expects a parameter's gradient before the step.
enum class Entry {
  kAny,        // anything: the function replaces it before reading it
  kUndefined,  // it was undefined
  kSame,       // the same tensor: it was written in place or read
};

struct Graph {
  StepSignature signature;
  int warm = 0;
  bool ready = false, entry_reported = false;
  std::unique_ptr<Capture> capture;
  std::vector<Tensor> inputs, outputs;      // of the recording
  std::vector<Tensor> parameters;           // parameters with managed gradients
  std::vector<Tensor> gradients, expected;  // after a step; before it, for Entry::kSame
  std::vector<Entry> entries;
  std::vector<OptimizerCall> calls;
};

void copy_into(const Tensor& slot, const Tensor& input) {
  if (slot.data_ptr() == input.data_ptr()) return;
  if (const MemoryFormat format = dense_format(slot); input.is_contiguous(format))
    copy_bytes_raw(slot, input, true);
  else
    copy_raw(slot, input);
}

}  // namespace detail

using namespace detail;

struct CapturedStep::State {
  std::unique_ptr<StepFunction> function;
  std::vector<optim::Optimizer*> optimizers;
  CapturedStepOptions options;
  nn::Module* root = nullptr;
  std::vector<std::shared_ptr<nn::Module>> modules;
  std::vector<Tensor> watched, buffers;
  std::vector<std::unique_ptr<Graph>> graphs;
  Graph* last = nullptr;  // graph of the last call
  bool given_up = false, full_told = false, last_captured = false;
  uint64_t launches = 0;
  FusionCounts fused;
  std::string message;

  void say(const std::string& text) {
    message = concat("tandem: captured step: ", text);
    std::fprintf(stderr, "%s\n", message.c_str());
  }
  void give_up(const std::string& why) {
    given_up = true;
    say(concat("the step ", why, ": it runs uncaptured from now on"));
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> outputs = function->run(inputs);
    for (Tensor& t : outputs)
      if (t.defined()) t = t.detach();
    return outputs;
  }

  template <class F>
  void each_parameter(const F& f) const {
    for (const optim::Optimizer* optimizer : optimizers)
      for (const auto& group : optimizer->param_groups())
        for (const Tensor& p : group.params()) f(p);
    for (const Tensor& p : watched) f(p);
  }

  Device device_of(const std::vector<Tensor>& inputs) const;
  bool fits(const std::vector<Tensor>& inputs, Device device);
  StepSignature signature_of(const std::vector<Tensor>& inputs, Device device) const;
  Graph* find(StepSignature&& signature);
  bool record(Graph& g, const std::vector<Tensor>& inputs);
  std::string look_over(Graph& g, const CaptureResult& result, const std::vector<Tensor>& before) const;
  bool gradients_fit(Graph& g);
  bool replay(Graph& g, const std::vector<Tensor>& inputs, bool first);
  std::vector<Tensor> call(const std::vector<Tensor>& inputs);
};

// The first non-CPU device among the inputs or, failing that, the parameters; otherwise cpu:0.
Device CapturedStep::State::device_of(const std::vector<Tensor>& inputs) const {
  for (const Tensor& t : inputs)
    if (t.defined() && !t.is_cpu()) return t.device();
  Device found(kCPU, 0);
  each_parameter([&](const Tensor& p) {
    if (found.is_cpu() && p.defined() && !p.is_cpu()) found = p.device();
  });
  return found;
}

// Whether a step on these tensors can be recorded; gives up with a message if not.
bool CapturedStep::State::fits(const std::vector<Tensor>& inputs, Device device) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    if (!t.defined() || t.device() != device)
      return give_up(concat("has input ", i, " ", t.defined() ? concat("on ", t.device()) : "undefined", ", not on ",
                            device)),
             false;
    if (t.requires_grad()) return give_up(concat("has input ", i, " that requires a gradient")), false;
  }
  bool one_device = true;
  each_parameter([&](const Tensor& p) { one_device &= p.defined() && p.device() == device; });
  if (!one_device) give_up(concat("has parameters that are not on ", device));
  return one_device;
}

StepSignature CapturedStep::State::signature_of(const std::vector<Tensor>& inputs, Device device) const {
  StepSignature s;
  s.device = device;
  for (const Tensor& t : inputs) s.add_input(t);
  each_parameter([&](const Tensor& p) { s.add_parameter(p); });
  for (const Tensor& b : buffers) s.buffers.push_back(b.data_ptr());
  if (root != nullptr) s.training.push_back(root->is_training());
  for (const auto& module : modules) s.training.push_back(module->is_training());
  s.add_modes();
  return s;
}

// The graph for a signature, new if necessary, or nullptr when there are too many.
Graph* CapturedStep::State::find(StepSignature&& signature) {
  for (const auto& g : graphs)
    if (g->signature == signature) return last = g.get();
  const std::string change = last != nullptr ? difference(signature, last->signature) : "";
  if (static_cast<int>(graphs.size()) >= options.max_graphs) {
    if (!full_told)
      say(concat(change, ", and there are already ", graphs.size(), " recordings: such steps run uncaptured"));
    full_told = true;
    return nullptr;
  }
  if (last != nullptr && options.say_changes)
    say(concat(change, ": the step runs uncaptured ", std::max(1, options.warm_up),
               " times, then is recorded separately"));
  graphs.push_back(std::make_unique<Graph>());
  graphs.back()->signature = std::move(signature);
  return last = graphs.back().get();
}

// Determines the entry state of each gradient. Returns the reason if the recording cannot be used.
std::string CapturedStep::State::look_over(Graph& g, const CaptureResult& result,
                                           const std::vector<Tensor>& before) const {
  std::unordered_set<const void*> own, read;
  each_parameter([&](const Tensor& p) { own.insert(p.impl()); });
  for (const OptimizerCall& call : result.calls) {
    for (const Tensor& p : call.params)
      if (!own.contains(p.impl())) return "steps an optimizer that was not given to it, or non-contiguous parameters";
    for (const Tensor& t : call.grads) read.insert(t.impl());
  }
  g.gradients = gradients_of(g.parameters);
  g.entries.clear();
  g.expected.assign(before.size(), Tensor());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!before[i].defined()) {
      g.entries.push_back(Entry::kUndefined);
    } else if (before[i].is_same(g.gradients[i]) || read.contains(before[i].impl())) {
      g.entries.push_back(Entry::kSame);
      g.expected[i] = before[i];
    } else {
      g.entries.push_back(Entry::kAny);
    }
  }
  return {};
}

// Returns false if the step must run eagerly. Rethrows the function's exceptions.
bool CapturedStep::State::record(Graph& g, const std::vector<Tensor>& inputs) {
  // Not even recorded: step() may change what no snapshot restores.
  if (!std::ranges::all_of(optimizers, &optim::Optimizer::can_be_replayed)) {
    give_up("steps an optimizer without a kernel of its own, such as Adadelta, Adamax, NAdam or RAdam");
    return false;
  }
  g.inputs.clear();
  {
    CaptureScope scope(*g.capture);
    for (const Tensor& t : inputs) g.inputs.push_back(empty_like(t));
  }
  g.parameters.clear();
  each_parameter([&](const Tensor& p) { g.parameters.push_back(p); });
  const OptimizerSnapshot snapshot(optimizers);
  const std::vector<Tensor> before = gradients_of(g.parameters);
  const CaptureKernels& kernels = g.capture->kernels();
  std::exception_ptr thrown;
  const profiler::HostOnly untimed;
  kernels.begin(g.capture->get(), options.fuse);
  try {
    g.outputs = run(g.inputs);
  } catch (...) {
    thrown = std::current_exception();
  }
  CaptureResult result = kernels.end(g.capture->get());
  fused = result.fused;
  std::string why = result.refusal;
  if (why.empty() && thrown == nullptr) why = snapshot.forbidden_change();
  if (why.empty() && thrown == nullptr) why = look_over(g, result, before);
  if (why.empty() && thrown == nullptr && kernels.place) try {
      std::vector<Tensor> results = g.outputs;
      results.insert(results.end(), g.gradients.begin(), g.gradients.end());
      kernels.place(g.capture->get(), results);
    } catch (const std::exception& error) {
      why = error.what();
    }
  if (why.empty() && thrown == nullptr) {
    g.calls = std::move(result.calls);
    return g.ready = true;
  }
  g.outputs.clear();
  snapshot.restore();
  set_gradients(g.parameters, before);
  if (why.empty()) std::rethrow_exception(thrown);
  give_up(why);
  return false;
}

bool CapturedStep::State::gradients_fit(Graph& g) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    const Tensor& now = g.parameters[i].grad();
    const char* what = nullptr;
    if (g.entries[i] == Entry::kUndefined && now.defined())
      what = "is defined but was undefined when the step was recorded";
    else if (g.entries[i] == Entry::kSame && (!now.defined() || now.data_ptr() != g.expected[i].data_ptr()))
      what = now.defined() ? "is in different memory" : "is undefined but was defined when the step was recorded";
    if (what == nullptr) continue;
    if (!g.entry_reported) say(concat("the gradient of parameter ", i, " ", what, ": the step runs uncaptured"));
    g.entry_reported = true;
    return false;
  }
  return true;
}

// `first`: the function's host side has already run, during recording. Returns false if nothing was done.
bool CapturedStep::State::replay(Graph& g, const std::vector<Tensor>& inputs, bool first) {
  const CaptureKernels& kernels = g.capture->kernels();
  if (!first && !g.calls.empty()) {
    const OptimizerSnapshot snapshot(optimizers);
    const std::vector<Tensor> before = gradients_of(g.parameters);
    for (const OptimizerCall& call : g.calls) set_gradients(call.params, call.grads);
    std::string why;
    kernels.begin_numbers(g.capture->get());
    try {
      for (optim::Optimizer* optimizer : optimizers) optimizer->step();
      why = kernels.end_numbers(g.capture->get());
    } catch (const std::exception& error) {
      why = kernels.end_numbers(g.capture->get());
      if (why.empty()) why = error.what();
    }
    if (!why.empty()) {
      snapshot.restore();
      set_gradients(g.parameters, before);
      give_up(concat("cannot be replayed: ", why));
      return false;
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) copy_into(g.inputs[i], inputs[i]);
  {
    const profiler::Record span("captured step", "step", g.signature.device);
    kernels.replay(g.capture->get());
  }
  set_gradients(g.parameters, g.gradients);
  ++launches;
  last_captured = true;
  return true;
}

std::vector<Tensor> CapturedStep::State::call(const std::vector<Tensor>& inputs) {
  last_captured = false;
  if (given_up) return run(inputs);
  const Device device = device_of(inputs);
  if (!backend(device).capture.create || !fits(inputs, device)) return run(inputs);
  Graph* g = find(signature_of(inputs, device));
  if (g == nullptr) return run(inputs);
  if (!g->ready) {
    if (!g->capture) g->capture = std::make_unique<Capture>(backend(device).capture, device);
    if (g->warm < std::max(1, options.warm_up)) {
      CaptureScope scope(*g->capture);
      std::vector<Tensor> outputs = run(inputs);
      ++g->warm;
      return outputs;
    }
    if (!record(*g, inputs) || !replay(*g, inputs, /*first=*/true)) return run(inputs);
    return g->outputs;
  }
  if (!gradients_fit(*g) || !replay(*g, inputs, /*first=*/false)) return run(inputs);
  return g->outputs;
}

CapturedStep::CapturedStep(std::unique_ptr<StepFunction> function, std::vector<optim::Optimizer*> optimizers,
                           CapturedStepOptions options)
    : state_(std::make_unique<State>()) {
  for (const optim::Optimizer* optimizer : optimizers)
    check(optimizer != nullptr, "captured step: an optimizer is null");
  state_->function = std::move(function);
  state_->optimizers = std::move(optimizers);
  state_->options = options;
}
CapturedStep::~CapturedStep() = default;
CapturedStep::CapturedStep(CapturedStep&&) noexcept = default;
CapturedStep& CapturedStep::operator=(CapturedStep&&) noexcept = default;

void CapturedStep::watch(nn::Module& module) {
  check(state_->root == nullptr, "captured step: watch() can be called only once");
  state_->root = &module;
  state_->modules = module.modules(/*include_self=*/false);
  std::unordered_set<const void*> known;
  state_->each_parameter([&](const Tensor& p) { known.insert(p.impl()); });
  for (const Tensor& p : module.parameters())
    if (!known.contains(p.impl())) state_->watched.push_back(p);
  state_->buffers = module.buffers();
}

std::vector<Tensor> CapturedStep::operator()(const std::vector<Tensor>& inputs) { return state_->call(inputs); }
bool CapturedStep::captured() const { return state_->last_captured; }
uint64_t CapturedStep::launches() const { return state_->launches; }
FusionCounts CapturedStep::fused() const { return state_->fused; }
std::size_t CapturedStep::graphs() const {
  return static_cast<std::size_t>(std::ranges::count_if(state_->graphs, [](const auto& g) { return g->ready; }));
}
const std::string& CapturedStep::message() const { return state_->message; }

}  // namespace tandem
