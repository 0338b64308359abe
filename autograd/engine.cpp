// The engine. One pass counts how many gradients each node waits for; then nodes run from a heap, latest
// first. A graph on several devices has heaps and a host thread per device. A pass nested inside a node,
// at any depth, runs on a separate stack when the thread's stack runs short.
#include "tandem/autograd/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/inherited_autocast.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/tasks.h"
#include "tandem/autograd/urgent_node.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/base/fork.h"
#include "tandem/core/device_threads.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile.h"
#include "tandem/core/threads/fresh_stack.h"
#include "tandem/core/warning.h"

namespace tandem::autograd {
namespace {

bool later(const Node* a, const Node* b) {
  if (a->is_accumulate() != b->is_accumulate()) return b->is_accumulate();  // leaves as soon as they are ready
  return a->sequence < b->sequence;
}

// Sums gradients that reach the same output through several edges.
void add_gradient(Tensor& sum, Tensor&& grad) {
  if (!grad.defined()) return;
  if (!sum.defined())
    sum = std::move(grad);
  else if (!GradMode::is_enabled() && sum.use_count() == 1 && sum.storage()->use_count() == 1 && is_dense(sum))
    sum.add_(grad);
  else
    sum = sum + grad;
}

// The callbacks that hooks queued during one pass, on any of its threads.
struct Callbacks {
  explicit Callbacks(Callbacks* around) : outer(around), depth(around ? around->depth + 1 : 1) {}
  std::mutex mutex;
  std::vector<std::function<void()>> queued;
  Callbacks* const outer;  // of the pass that contains this one
  const std::size_t depth;
};
thread_local Callbacks* callbacks_here = nullptr;

class CallbacksGuard {
 public:
  explicit CallbacksGuard(Callbacks* callbacks) : previous_(std::exchange(callbacks_here, callbacks)) {}
  ~CallbacksGuard() { callbacks_here = previous_; }
  CallbacksGuard(const CallbacksGuard&) = delete;
  CallbacksGuard& operator=(const CallbacksGuard&) = delete;

 private:
  Callbacks* previous_;
};

class Pass {
 public:
  explicit Pass(const BackwardArgs& args) : args_(args) {}

  std::vector<Tensor> run() {
    const CallbacksGuard guard(&callbacks_);
    run_nodes();
    // A callback may queue another one.
    for (std::size_t i = 0; i < callbacks_.queued.size(); ++i) std::exchange(callbacks_.queued[i], nullptr)();
    return collect();
  }

 private:
  void run_nodes() {
    AutoGradMode mode(args_.create_graph);
    add_roots();
    add_targets();
    count_edges();
    mark_wanted();
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      Tensor grad = root_grads_[i];
      roots_[i].function->outputs[roots_[i].input_nr].validate(grad, "backward: gradient of the root", i);
      Task& task = tasks_[roots_[i].function.get()];
      add_gradient(task.grads[roots_[i].input_nr], std::move(grad));
      if (task.waiting == 0 && !task_queued(task)) push(roots_[i].function.get());
    }
    if (devices_.size() > 1)
      run_on_all();
    else
      run_here();
  }

  void add_roots() {
    check(args_.grad_outputs.empty() || args_.grad_outputs.size() == args_.outputs.size(), "backward: got ",
          args_.outputs.size(), " tensors but ", args_.grad_outputs.size(), " gradients");
    for (std::size_t i = 0; i < args_.outputs.size(); ++i) {
      const Tensor& out = args_.outputs[i];
      check(out.defined() && out.requires_grad(), "element ", i,
            " of tensors does not require grad and does not have a grad_fn: ", out);
      Tensor grad = i < args_.grad_outputs.size() ? args_.grad_outputs[i] : Tensor();
      if (!grad.defined()) {
        check(out.numel() == 1, "grad can be implicitly created only for scalar outputs: tensor ", i, " is ", out);
        check(!out.is_complex(), "grad can be implicitly created only for real scalar outputs: tensor ", i, " is ",
              out);
        grad = ones(out.sizes(), out.options());
      }
      check(grad.sizes() == out.sizes(), "backward: gradient ", grad, " for tensor ", i, " of ", out);
      roots_.push_back(gradient_edge(out));
      root_grads_.push_back(std::move(grad));
    }
  }

  // The pass ends at the oldest of the given inputs: nothing behind it is visited.
  void add_targets() {
    if (args_.inputs.empty()) return;
    if (!args_.accumulate) captured_.resize(args_.inputs.size());
    tasks_.oldest = UINT64_MAX;
    for (std::size_t i = 0; i < args_.inputs.size(); ++i) {
      const Tensor& input = args_.inputs[i];
      check(input.defined() && input.requires_grad(), "grad: input ", i, " (", input, ") does not require a gradient");
      targets_.push_back(gradient_edge(input));
      if (args_.accumulate) input.retain_grad();  // does nothing to leaves: their accumulators write .grad()
      tasks_.oldest = std::min(tasks_.oldest, targets_[i].function->sequence);
    }
  }

  void count_edges() {
    std::vector<Node*> stack;
    for (const Edge& root : roots_)
      if (!tasks_.has(root.function.get())) {
        tasks_[root.function.get()];
        stack.push_back(root.function.get());
      }
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      order_.push_back(node);
      if (const Device device = device_of(*node); devices_.size() == 0 || devices_.back() != device)
        if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) devices_.push_back(device);
      for (const Edge& edge : node->next) {
        if (!visits(edge)) continue;
        const bool seen = tasks_.has(edge.function.get());
        ++tasks_[edge.function.get()].waiting;
        if (!seen) stack.push_back(edge.function.get());
      }
    }
  }

  // With given inputs, only nodes on a path to one of them run.
  void mark_wanted() {
    if (args_.inputs.empty()) return;
    for (Node* node : order_) tasks_[node].needed = false;
    for (const Edge& target : targets_)
      if (Task* task = tasks_.get(target.function.get())) {
        task->captured = true;
        task->needed = target.function->is_accumulate();
      }
    // Edges point to nodes with smaller numbers.
    std::sort(order_.begin(), order_.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
    for (Node* node : order_) {
      Task& task = tasks_[node];
      for (const Edge& edge : node->next) task.needed = task.needed || wanted(edge);
    }
  }
  bool visits(const Edge& edge) const { return edge.valid() && edge.function->sequence >= tasks_.oldest; }
  bool wanted(const Edge& edge) { return visits(edge) && tasks_[edge.function.get()].wanted(); }

  bool task_queued(const Task& task) const { return std::find(heap_.begin(), heap_.end(), task.node) != heap_.end(); }
  void push(Node* node) { push(heap_, node); }
  static void push(std::vector<Node*>& heap, Node* node) {
    heap.push_back(node);
    std::push_heap(heap.begin(), heap.end(), later);
  }
  static Node* pop(std::vector<Node*>& heap) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Node* node = heap.back();
    heap.pop_back();
    return node;
  }
  static Device device_of(const Node& node) { return node.outputs[0].device; }

  TaskMap* chosen() { return args_.inputs.empty() ? nullptr : &tasks_; }

  void run_here() {
    const ChosenTasksGuard guard(chosen());
    while (!heap_.empty()) step(*pop(heap_));
  }

  // Runs the node itself, without delivering to its successors.
  void run_node(Node& node, SmallVector<Tensor, 1>& grads, SmallVector<Tensor, 3>& results) {
    const Task& task = *tasks_.get(&node);
    if (task.wanted()) capture(node, grads);
    const bool any = std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); });
    if (!task.needed) return;
    if (any) call(node, grads, results);
    if (!args_.retain_graph) node.release();
  }

  void step(Node& node) {
    SmallVector<Tensor, 1> grads = std::move(tasks_[&node].grads);
    SmallVector<Tensor, 3> results(node.next.size());
    run_node(node, grads, results);
    for (std::size_t j = 0; j < node.next.size(); ++j) {
      const Edge& edge = node.next[j];
      if (!visits(edge)) continue;
      Task& target = tasks_[edge.function.get()];
      edge.function->outputs[edge.input_nr].validate(results[j], node.label(), j);
      add_gradient(target.grads[edge.input_nr], std::move(results[j]));
      if (--target.waiting == 0) push(edge.function.get());
    }
  }

  // ---- several devices: each has two heaps and a thread. Gradients that meet at a node are kept separate until
  // it runs and are then summed in the order in which a single thread would have produced them, so the bits
  // do not depend on which device finished first.
  struct Arrival {
    uint64_t sequence;
    std::size_t edge;
    uint32_t output_nr;
    Tensor grad;
  };
  // The nodes that are ready on one device.
  struct Ready {
    std::vector<Node*> urgent, others;
    bool empty() const { return urgent.empty() && others.empty(); }
    void push(Node* node) { Pass::push(dynamic_cast<UrgentNode*>(node) ? urgent : others, node); }
    Node* pop() { return Pass::pop(urgent.empty() ? others : urgent); }
  };
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Ready> ready;  // one per device
    std::unordered_map<Node*, std::vector<Arrival>> arrivals;
    std::size_t left = 0;  // nodes that have not run
    bool failed = false;
    const uint32_t process = tandem::detail::this_process();
  };

  void run_on_all() {
    // The calling thread serves the device on which the pass begins.
    const Device first = device_of(*roots_[0].function);
    std::iter_swap(devices_.begin(), std::find(devices_.begin(), devices_.end(), first));
    Shared shared;
    shared.ready.resize(devices_.size());
    shared.left = order_.size();
    for (Node* node : heap_) shared.ready[place(*node)].push(node);
    const bool create_graph = args_.create_graph;
    const autocast::detail::State callers = autocast::detail::state;
    const auto errors = run_on_devices(ArrayRef<Device>(devices_.data(), devices_.size()), [&](std::size_t i) {
      const autocast::detail::InheritedAutocast same_precision(callers);
      AutoGradMode mode(create_graph);
      const ChosenTasksGuard tasks(chosen());
      const CallbacksGuard callbacks(&callbacks_);
      try {
        serve(shared, i);
      } catch (...) {  // the other devices must not wait for results of this one
        const std::lock_guard lock(shared.mutex);
        shared.failed = true;
        shared.changed.notify_all();
        throw;
      }
    });
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }
  std::size_t place(const Node& node) const {
    return static_cast<std::size_t>(std::find(devices_.begin(), devices_.end(), device_of(node)) - devices_.begin());
  }

  // Runs the nodes that become ready on device i until no node is left on any device.
  void serve(Shared& shared, std::size_t i) {
    std::unique_lock lock(shared.mutex);
    for (;;) {
      shared.changed.wait(lock, [&] { return shared.failed || shared.left == 0 || !shared.ready[i].empty(); });
      if (shared.failed || shared.left == 0) return;
      Node* node = shared.ready[i].pop();
      SmallVector<Tensor, 1> grads = std::move(tasks_.get(node)->grads);
      std::vector<Arrival> arrivals;
      if (auto found = shared.arrivals.extract(node)) arrivals = std::move(found.mapped());
      lock.unlock();
      SmallVector<Tensor, 3> results(node->next.size());
      sum(grads, arrivals);
      run_node(*node, grads, results);
      tandem::detail::check_same_process(shared.process, "backward on several devices");
      for (std::size_t j = 0; j < results.size(); ++j)
        if (const Edge& edge = node->next[j]; visits(edge))
          edge.function->outputs[edge.input_nr].validate(results[j], node->label(), j);
      lock.lock();
      deliver(shared, *node, results);
    }
  }

  static void sum(SmallVector<Tensor, 1>& grads, std::vector<Arrival>& arrivals) {
    std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
      return a.sequence != b.sequence ? a.sequence > b.sequence : a.edge < b.edge;
    });
    for (Arrival& arrival : arrivals) add_gradient(grads[arrival.output_nr], std::move(arrival.grad));
  }

  void deliver(Shared& shared, Node& node, SmallVector<Tensor, 3>& results) {
    for (std::size_t j = 0; j < node.next.size(); ++j) {
      const Edge& edge = node.next[j];
      if (!visits(edge)) continue;
      Node* target = edge.function.get();
      if (results[j].defined())
        shared.arrivals[target].push_back({node.sequence, j, edge.input_nr, std::move(results[j])});
      if (--tasks_.get(target)->waiting == 0) shared.ready[place(*target)].push(target);
    }
    --shared.left;
    shared.changed.notify_all();
  }

  // Hooks see a gradient first; then it is stored for retain_grad and for the inputs of grad().
  void capture(Node& node, SmallVector<Tensor, 1>& grads) {
    if (node.is_accumulate()) static_cast<AccumulateGrad&>(node).run_hooks(grads[0]);
    if (node.hooks) {
      for (std::size_t nr = 0; nr < grads.size(); ++nr)
        run_pre_hooks(*node.hooks, static_cast<uint32_t>(nr), grads[nr]);
      for (auto& [nr, weak] : node.hooks->retained)
        if (const auto place = weak.lock(); place && grads[nr].defined()) {
          static std::mutex mutex;  // several backward passes may get here at once
          const std::lock_guard lock(mutex);
          *place = place->defined() ? *place + grads[nr] : grads[nr].clone();
        }
    }
    for (std::size_t i = 0; i < captured_.size(); ++i)
      if (targets_[i].function.get() == &node) captured_[i] = grads[targets_[i].input_nr];
  }

  void call(Node& node, SmallVector<Tensor, 1>& grads, SmallVector<Tensor, 3>& results) {
    if (node.is_accumulate() && !args_.accumulate) return;
    const Device device = node.outputs[0].device;
    const bool elsewhere = device.index() != backend(device).runtime.current_device();
    optional<DeviceGuard> guard;
    if (elsewhere) guard.emplace(device);
    const profiler::Record span(node.label(), "backward");
    const std::span given(grads.data(), grads.size()), wanted(results.data(), results.size());
    if (AnomalyMode::is_enabled()) [[unlikely]]
      backward_in_anomaly_mode(node, given, wanted);
    else
      node.backward(given, wanted);
  }

  std::vector<Tensor> collect() {
    if (args_.accumulate) return {};
    for (std::size_t i = 0; i < captured_.size(); ++i)
      check(captured_[i].defined() || args_.allow_unused, "grad: input ", i, " (", args_.inputs[i],
            ") was not used in the graph. Set allow_unused=True to get an undefined gradient for it");
    return std::move(captured_);
  }

  const BackwardArgs& args_;
  std::vector<Edge> roots_, targets_;
  std::vector<Tensor> root_grads_, captured_;
  std::vector<Node*> order_, heap_;
  SmallVector<Device, 2> devices_;
  TaskMap tasks_;
  Callbacks callbacks_{callbacks_here};
};

void warn_of_cycles() {
  static std::atomic_flag warned = ATOMIC_FLAG_INIT;
  if (!WarningUtils::is_due(warned)) return;
  warn(
      "Using backward() with create_graph=True creates a reference cycle between each leaf and its .grad(), which is "
      "a\n  memory leak until .grad() is reset (zero_grad, mutable_grad().reset()); autograd::grad creates none");
}

}  // namespace

std::vector<Tensor> run_backward(const BackwardArgs& args) {
  if (args.create_graph && args.accumulate) [[unlikely]]
    warn_of_cycles();
  const profiler::Record span(args.accumulate ? "backward" : "grad", "autograd");
  std::vector<Tensor> result;
  tandem::detail::call_nested([&] { result = Pass(args).run(); });
  return result;
}

void queue_callback(std::function<void()> callback) {
  queue_callback(std::move(callback), std::max<std::size_t>(1, pass_depth()));
}

void queue_callback(std::function<void()> callback, std::size_t depth) {
  check(callbacks_here != nullptr, "queue_callback: no backward pass is running on this thread");
  check(depth >= 1 && depth <= callbacks_here->depth, "queue_callback: expected a depth from 1 to ",
        callbacks_here->depth, ", got ", depth);
  Callbacks* pass = callbacks_here;
  while (pass->depth != depth) pass = pass->outer;
  const std::lock_guard lock(pass->mutex);
  pass->queued.push_back(std::move(callback));
}

std::size_t pass_depth() { return callbacks_here == nullptr ? 0 : callbacks_here->depth; }

void backward(TensorList tensors, TensorList grad_tensors, optional<bool> retain_graph, bool create_graph,
              TensorList inputs) {
  run_backward({.outputs = tensors,
                .grad_outputs = grad_tensors,
                .retain_graph = retain_graph.value_or(create_graph),
                .create_graph = create_graph,
                .inputs = inputs});
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs, optional<bool> retain_graph,
                         bool create_graph, bool allow_unused) {
  check(!inputs.empty(), "grad requires non-empty inputs.");
  return run_backward({.outputs = outputs,
                       .grad_outputs = grad_outputs,
                       .retain_graph = retain_graph.value_or(create_graph),
                       .create_graph = create_graph,
                       .inputs = inputs,
                       .accumulate = false,
                       .allow_unused = allow_unused});
}

}  // namespace tandem::autograd
