#include "tandem/parallel/distributed_data_parallel/reducer.h"

#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/parallel/distributed_data_parallel/reducer_errors.h"
#include "tandem/parallel/shared/backward_anchor.h"
#include "tandem/parallel/shared/buckets.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {

using parallel::Bucket;
using parallel::BucketPlace;
using parallel::make_buckets;
using parallel::places_of;

// The state of a Reducer, and the steps of a backward pass.
struct Reducer::Impl : std::enable_shared_from_this<Reducer::Impl> {
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  std::shared_ptr<ProcessGroup> group;
  ReducerOptions options;

  std::vector<Bucket> buckets;
  std::vector<BucketPlace> places;  // by parameter
  bool rebuilt = false;             // the first step is over; the buckets follow rank 0's backward
  bool learned = false;             // static_graph: `remembered` is known
  std::vector<std::size_t> remembered;
  std::vector<std::size_t> times;        // static_graph: by parameter, gradients per step
  std::vector<char> used_anywhere;       // by parameter, by any process; under static_graph in the first step
  std::vector<char> used_before;         // by parameter, by passes that stayed on this process
  std::optional<BackwardAnchor> anchor;  // for steps in which this process uses no parameter

  // ---- one backward pass
  std::mutex mutex;        // parameters on several devices are ready on several threads
  bool expecting = false;  // prepare() was called and the gradients have not been reduced yet
  bool queued = false;     // end_pass() will run at the end of the pass
  std::size_t depth = 0;   // how many passes forward ran in
  std::vector<char> ready;
  std::vector<std::size_t> order;  // in which gradients arrived
  std::vector<std::size_t> unused;
  std::vector<std::size_t> begun;    // by parameter, gradients that came or are being accumulated
  std::vector<std::size_t> missing;  // static_graph: by parameter, gradients still to come
  parallel::BucketQueue queue;
  std::vector<HookResult> started;
  std::exception_ptr failure;  // of an earlier reduction; the group has failed too

  /// A callback that calls a member while the Reducer exists.
  template <class Member>
  auto while_alive(Member member) {
    return [weak = weak_from_this(), member](auto... arguments) {
      if (const auto impl = weak.lock()) (impl.get()->*member)(arguments...);
    };
  }
  bool may_lack_gradients() const { return options.find_unused_parameters || options.static_graph; }
  bool learning() const { return options.static_graph && !learned; }

  // The other processes wait for the gradients of a pass that failed, so there is no next step.
  void check_finished() {
    if (failure) std::rethrow_exception(failure);
    if (!expecting || !queued) return;
    const std::string text =
        "DistributedDataParallel: the previous backward pass did not finish, because it threw an exception or runs on "
        "another thread; the other processes wait for its gradients, so training cannot continue in this group";
    group->abort(text);
    throw Error(text);
  }

  void check_parameters() const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& p = parameters[i];
      const Tensor& view = buckets[places[i].bucket].views[places[i].index];
      check(p.dtype() == view.dtype() && p.device() == view.device() && p.sizes() == view.sizes(),
            "DistributedDataParallel: parameter ", names[i], " has changed since the model was wrapped\n  it was ",
            view, "\n  it is  ", p, "\nconvert or move the model before wrapping it");
      check(p.requires_grad() || may_lack_gradients(), "DistributedDataParallel: parameter ", names[i],
            " was frozen after the model was wrapped; freeze it before, or set find_unused_parameters = true");
    }
  }

  void begin() {
    check_finished();
    expecting = queued = false;
    ready.assign(parameters.size(), 0);
    order.clear();
    queue.begin(buckets);
    started.clear();
    unused = remembered;
    if (learning()) times.assign(parameters.size(), 0);
    begun.assign(parameters.size(), 0);
    missing = times;
    depth = autograd::pass_depth();
  }

  // Whether the gradients of the running pass are averaged.
  bool averages() const {
    if (!expecting) return false;
    check(!GradMode::is_enabled(),
          "DistributedDataParallel: backward(create_graph = true) is not supported, because averaged gradients "
          "have no history; compute gradients that you differentiate again with autograd::grad");
    return true;
  }

  // Called before a gradient is accumulated. Refuses one that would change a bucket while it is being sent.
  void arriving(std::size_t parameter) {
    const std::lock_guard lock(mutex);
    if (!averages()) return;
    try {
      begin_backward();
      const std::size_t before = begun[parameter]++;
      const bool expected = learning() || (options.static_graph ? before < times[parameter] : before == 0);
      if (!expected || ready[parameter]) fail_surplus(options, names[parameter], before > 0);
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

  // Called after the gradient of a parameter has been accumulated, or when the outputs depend on none.
  void arrived(optional<std::size_t> parameter) {
    const std::lock_guard lock(mutex);
    if (!averages()) {
      if (parameter) used_before[*parameter] = 1;
      return;
    }
    try {
      begin_backward();
      if (parameter) add_gradient(*parameter);
      if (!learning()) start_complete();
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

  void begin_backward() {
    if (queued) return;
    queued = true;
    // For the pass through the outputs of forward, which may contain the one that is running.
    autograd::queue_callback(while_alive(&Impl::end_pass), std::min(depth + 1, autograd::pass_depth()));
    // Not earlier: programs may reset gradients between forward and backward.
    for (const std::size_t i : unused) mark_ready(i, false);
  }

  void add_gradient(std::size_t parameter) {
    if (options.static_graph && !count_gradient(parameter)) return;
    mark_ready(parameter);
    order.push_back(parameter);
  }

  // Under static_graph: whether this is the last gradient of the parameter in this pass. Unknown in the first pass,
  // which communicates at its end.
  bool count_gradient(std::size_t parameter) {
    if (learned) return --missing[parameter] == 0;
    if (times[parameter]++ > 0) std::erase(order, parameter);
    order.push_back(parameter);
    return false;
  }

  // Moves the gradient into its bucket, unless it is there already. Without a gradient this process adds zeros. An
  // unused parameter adds what was accumulated before, e.g. under no_sync, and keeps that until it is known whether any
  // process used it.
  void mark_ready(std::size_t parameter, bool used = true) {
    const NoGradGuard no_grad;
    const BucketPlace place = places[parameter];
    Bucket& bucket = buckets[place.bucket];
    Tensor& view = bucket.views[place.index];
    Tensor& grad = parameters[parameter].mutable_grad();
    if (!grad.defined()) {
      view.zero_();
      used_before[parameter] = 0;  // it was reset since
    } else if (is_same_memory(grad, view)) {
      if (!used) grad = grad.clone();
    } else {
      view.copy_(grad);
      if (used) grad = view.detach();
    }
    ready[parameter] = 1;
    queue.arrived(place.bucket);
  }

  void start_complete() {
    queue.start_complete([&](std::size_t k) { start(buckets[k]); });
  }

  void start(Bucket& bucket) {
    GradBucket given;
    given.buffer_ = bucket.buffer;
    given.gradients_ = bucket.views;
    for (const std::size_t i : bucket.parameters) given.parameters_.push_back(parameters[i]);
    given.index_ = static_cast<std::size_t>(&bucket - buckets.data());
    given.is_last_ = given.index_ + 1 == buckets.size();
    HookResult result = options.comm_hook(*group, given);
    for (const WorkPtr& work : result.works)
      check(work != nullptr, "DistributedDataParallel: the communication hook returned a null work for bucket ",
            given.index_);
    started.push_back(std::move(result));
  }

  // At the end of the backward pass.
  void end_pass() {
    try {
      if (learning())
        learn_unused();
      else if (options.several_devices && options.find_unused_parameters && !options.static_graph)
        add_missing();
      if (!queue.all_started()) fail_incomplete(options, names, ready);
      finish();
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

  // Waits for all reductions.
  void finish() {
    const NoGradGuard no_grad;
    for (HookResult& result : started) {
      for (const WorkPtr& work : result.works) work->wait();
      if (result.finish) result.finish();
    }
    started.clear();
    keep_unused();
    if (!rebuilt) follow_order();
    expecting = queued = false;
  }

  // Later passes rethrow `error`; the other processes are notified, as they would wait for this one. Gradients that
  // have been sent are dropped, because the group may still write to them while the caller goes on.
  void fail(const std::exception_ptr& error) {
    for (std::size_t k = 0; k < queue.started(); ++k)
      for (std::size_t j = 0; j < buckets[k].parameters.size(); ++j) {
        Tensor& grad = parameters[buckets[k].parameters[j]].mutable_grad();
        if (grad.defined() && is_same_memory(grad, buckets[k].views[j])) grad.reset();
      }
    expecting = queued = false;
    failure = error;
    abort_with(*group, error, "an exception in backward");
  }

  // After the first step: arranges the buckets in the order in which rank 0 received its gradients, on all ranks. With
  // several devices there that order would differ between runs, and with it the bits of sums over three or more
  // processes, so the buckets stay as they are.
  void follow_order() {
    rebuilt = true;
    if (options.find_unused_parameters && !options.static_graph) return;  // the order may change with every step
    if (options.several_devices) order.clear();
    std::vector<char> seen(parameters.size(), 0);
    for (const std::size_t i : order) seen[i] = 1;
    for (std::size_t i = parameters.size(); i-- > 0;)
      if (!seen[i]) order.push_back(i);
    Tensor shared = empty({static_cast<int64_t>(order.size())}, kLong);
    for (std::size_t i = 0; i < order.size(); ++i) shared.data_ptr<int64_t>()[i] = static_cast<int64_t>(order[i]);
    broadcast_from(*group, {shared}, 0);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::size_t>(shared.data_ptr<int64_t>()[i]);
    std::vector<Bucket> arranged = make_buckets(parameters, order, options.first_bucket_bytes, options.bucket_bytes);
    const std::vector<BucketPlace> before = std::exchange(places, places_of(arranged, parameters.size()));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Tensor& grad = parameters[i].mutable_grad();
      if (!grad.defined() || !is_same_memory(grad, buckets[before[i].bucket].views[before[i].index])) continue;
      Tensor& view = arranged[places[i].bucket].views[places[i].index];
      view.copy_(grad);
      grad = view.detach();
    }
    buckets = std::move(arranged);
  }

  // Under static_graph the first backward pass shows which parameters are unused.
  void learn_unused() {
    learned = true;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (times[i] == 0) remembered.push_back(i);
      mark_ready(i, times[i] > 0);
    }
    unused = remembered;
    start_complete();
  }

  // The parameters without a gradient take part with zeros.
  void add_missing() {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (ready[i]) continue;
      unused.push_back(i);
      mark_ready(i, false);
    }
    start_complete();
  }

  std::vector<char> gather_used() {
    Tensor used = ones({1, static_cast<int64_t>(parameters.size())}, kInt);
    for (const std::size_t i : unused) used.data_ptr<int>()[i] = used_before[i];
    used = gather_rows(*group, used).amax(0);
    return std::vector<char>(used.data_ptr<int>(), used.data_ptr<int>() + parameters.size());
  }

  // A parameter that no process used keeps the gradient that it had, as it does without processes; the others get the
  // average.
  void keep_unused() {
    if (may_lack_gradients()) {
      if (!options.static_graph || !rebuilt) used_anywhere = gather_used();
      for (const std::size_t i : unused)
        if (used_anywhere[i]) parameters[i].mutable_grad() = buckets[places[i].bucket].views[places[i].index].detach();
    }
    used_before.assign(parameters.size(), 0);
  }

  // Whether the outputs depend on no parameter. Finds the unused parameters, except under static_graph.
  bool uses_nothing(const Tensors& outputs) {
    if (options.static_graph && learned) return remembered.size() == parameters.size();
    const auto nodes = nodes_behind(outputs);
    std::vector<std::size_t> absent;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (!nodes.contains(autograd::gradient_edge(parameters[i]).function.get())) absent.push_back(i);
    const bool all = absent.size() == parameters.size();
    if (!options.static_graph) unused = std::move(absent);
    return all;
  }
};

Reducer::Reducer(std::vector<Tensor> parameters, std::vector<std::string> names, std::shared_ptr<ProcessGroup> group,
                 ReducerOptions options)
    : impl_(std::make_shared<Impl>()) {
  Impl& s = *impl_;
  check(!parameters.empty(), "DistributedDataParallel: the model has no parameters that require a gradient");
  check(options.bucket_bytes > 0 && options.first_bucket_bytes > 0,
        "DistributedDataParallel: bucket_bytes and first_bucket_bytes must be positive, got ", options.bucket_bytes,
        " and ", options.first_bucket_bytes);
  check(options.comm_hook != nullptr, "DistributedDataParallel: the communication hook is empty");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    check(parameters[i].is_leaf() && parameters[i].requires_grad(), "DistributedDataParallel: parameter ", names[i],
          " must be a leaf that requires a gradient, got ", parameters[i]);
  s.parameters = std::move(parameters);
  s.names = std::move(names);
  s.group = std::move(group);
  s.options = std::move(options);
  s.buckets = make_buckets(s.parameters, parallel::backward_order(s.parameters.size()), s.options.first_bucket_bytes,
                           s.options.bucket_bytes);
  s.places = places_of(s.buckets, s.parameters.size());
  s.used_before.assign(s.parameters.size(), 0);
  hooks_ = parallel::GradientHooks(s.parameters, s.while_alive(&Impl::arrived), s.while_alive(&Impl::arriving));
  if (s.may_lack_gradients()) s.anchor.emplace([arrived = s.while_alive(&Impl::arrived)] { arrived(nullopt); });
}

Reducer::~Reducer() = default;

bool Reducer::prepare(Tensors& outputs, bool trains) {
  Impl& s = *impl_;
  s.begin();
  s.check_parameters();
  const bool replaced = s.may_lack_gradients() && s.uses_nothing(outputs) && s.anchor->attach(outputs);
  check(replaced || !trains || s.unused.size() < s.parameters.size() || s.options.static_graph,
        "DistributedDataParallel: forward in training mode returned no floating-point tensor, so this process "
        "cannot take part in the backward pass of the others; return what the loss depends on, or call "
        "forward under NoGradGuard");
  s.expecting = true;
  return replaced;
}

void Reducer::check_previous() { impl_->check_finished(); }

void Reducer::skip() {
  impl_->check_finished();
  impl_->expecting = false;
}

void Reducer::shadow() {
  Impl& s = *impl_;
  s.begin();
  s.unused.clear();
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    s.parameters[i].mutable_grad().reset();
    s.unused.push_back(i);
    s.mark_ready(i);
  }
  s.start_complete();
  s.finish();
}

void Reducer::set_hook(CommHook hook) {
  check(hook != nullptr, "DistributedDataParallel: the communication hook is empty");
  impl_->options.comm_hook = std::move(hook);
}
std::size_t Reducer::buckets() const { return impl_->buckets.size(); }
std::size_t Reducer::bytes() const {
  std::size_t sum = 0;
  for (const Bucket& bucket : impl_->buckets) sum += bucket.buffer.nbytes();
  return sum;
}

}  // namespace tandem::distributed
