#include "tandem/parallel/reducer.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <unordered_set>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/parallel/buckets.h"
#include "tandem/parallel/model_sync.h"

namespace tandem::distributed {

struct Reducer::Impl {
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  std::shared_ptr<ProcessGroup> group;
  ReducerOptions options;
  std::vector<unsigned> handles;

  std::vector<Bucket> buckets;
  std::vector<BucketPlace> places;  // by parameter
  bool rebuilt = false;             // the order of the buckets follows rank 0's backward

  // ---- one backward pass
  std::mutex mutex;        // parameters on several devices are ready on several threads
  bool expecting = false;  // prepare() was called and the gradients have not been reduced yet
  bool queued = false;     // finish() will run at the end of the pass
  std::vector<char> ready;
  std::vector<std::size_t> order;  // in which gradients arrived
  std::vector<std::size_t> unused;
  std::size_t next = 0;  // the first bucket that has not been started
  std::vector<HookResult> started;

  void begin();
  void mark_ready(std::size_t parameter, bool has_gradient);
  void start_complete();
  void start(Bucket& bucket);
  void finish();
  void follow_order();
  void find_unused(const Tensors& outputs);
  void drop_unused();
  void arrived(std::size_t parameter);
  [[noreturn]] void fail_incomplete();
};

Reducer::Reducer(std::vector<Tensor> parameters, std::vector<std::string> names,
                 std::shared_ptr<ProcessGroup> group, ReducerOptions options)
    : impl_(std::make_unique<Impl>()) {
  Impl& s = *impl_;
  check(!parameters.empty(), "DistributedDataParallel: the model has no parameters that require a gradient");
  check(options.bucket_bytes > 0 && options.first_bucket_bytes > 0,
        "DistributedDataParallel: bucket_bytes and first_bucket_bytes must be positive, got ",
        options.bucket_bytes, " and ", options.first_bucket_bytes);
  s.parameters = std::move(parameters);
  s.names = std::move(names);
  s.group = std::move(group);
  s.options = std::move(options);
  std::vector<std::size_t> order(s.parameters.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // backward starts with the last parameters
  s.buckets = make_buckets(s.parameters, order, s.options.first_bucket_bytes, s.options.bucket_bytes);
  s.places = places_of(s.buckets, s.parameters.size());
  for (std::size_t i = 0; i < s.parameters.size(); ++i)
    s.handles.push_back(s.parameters[i].register_post_accumulate_grad_hook(
        [impl = impl_.get(), i](const Tensor&) { impl->arrived(i); }));
}

Reducer::~Reducer() {
  for (std::size_t i = 0; i < impl_->handles.size(); ++i) impl_->parameters[i].remove_hook(impl_->handles[i]);
}

void Reducer::prepare(const Tensors& outputs) {
  Impl& s = *impl_;
  s.begin();
  if (s.options.find_unused_parameters && !(s.options.static_graph && s.rebuilt)) s.find_unused(outputs);
  for (const std::size_t i : s.unused) s.mark_ready(i, /*has_gradient=*/false);
}

void Reducer::skip() { impl_->expecting = false; }

void Reducer::shadow() {
  Impl& s = *impl_;
  s.begin();
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    s.parameters[i].mutable_grad().reset();
    s.unused.push_back(i);
    s.mark_ready(i, false);
  }
  s.start_complete();
  s.finish();
}

void Reducer::set_hook(CommHook hook) { impl_->options.comm_hook = std::move(hook); }
std::size_t Reducer::buckets() const { return impl_->buckets.size(); }
std::size_t Reducer::bytes() const {
  std::size_t sum = 0;
  for (const Bucket& bucket : impl_->buckets) sum += bucket.buffer.nbytes();
  return sum;
}

void Reducer::Impl::begin() {
  if (expecting && queued) fail_incomplete();
  expecting = true;
  queued = false;
  ready.assign(parameters.size(), 0);
  order.clear();
  next = 0;
  started.clear();
  if (!(options.static_graph && rebuilt)) unused.clear();
  for (Bucket& bucket : buckets) bucket.missing = bucket.parameters.size();
}

// Called after the gradient of a parameter has been accumulated.
void Reducer::Impl::arrived(std::size_t parameter) {
  const std::lock_guard lock(mutex);
  if (!expecting) return;
  if (!queued) {
    queued = true;
    autograd::queue_callback([this] { finish(); });
  }
  check(!ready[parameter], "DistributedDataParallel: parameter ", names[parameter],
        " received a gradient twice in one backward pass, or was found to be unused before");
  mark_ready(parameter, true);
  order.push_back(parameter);
  start_complete();
}

// Moves the gradient into its bucket, unless it is there already.
void Reducer::Impl::mark_ready(std::size_t parameter, bool has_gradient) {
  const NoGradGuard no_grad;
  const BucketPlace place = places[parameter];
  Bucket& bucket = buckets[place.bucket];
  Tensor& view = bucket.views[place.index];
  Tensor& grad = parameters[parameter].mutable_grad();
  if (has_gradient) {
    if (grad.data_ptr() != view.data_ptr() || !grad.is_contiguous()) {
      view.copy_(grad);
      grad = view.detach();
    }
  } else if (grad.defined() && grad.data_ptr() == view.data_ptr()) {
    // Accumulated under no_sync: part of the sum.
  } else if (grad.defined()) {
    view.copy_(grad);
    grad = view.detach();
  } else {
    view.zero_();
  }
  ready[parameter] = 1;
  --bucket.missing;
}

void Reducer::Impl::start_complete() {
  while (next < buckets.size() && buckets[next].missing == 0) start(buckets[next++]);
}

void Reducer::Impl::start(Bucket& bucket) {
  GradBucket given;
  given.buffer_ = bucket.buffer;
  given.gradients_ = bucket.views;
  for (const std::size_t i : bucket.parameters) given.parameters_.push_back(parameters[i]);
  given.index_ = static_cast<std::size_t>(&bucket - buckets.data());
  given.is_last_ = given.index_ + 1 == buckets.size();
  started.push_back(options.comm_hook(*group, given));
}

// At the end of the backward pass: waits for all reductions.
void Reducer::Impl::finish() {
  if (next < buckets.size()) fail_incomplete();
  expecting = queued = false;
  for (HookResult& result : started) {
    for (const WorkPtr& work : result.works) work->wait();
    if (result.finish) result.finish();
  }
  started.clear();
  drop_unused();
  if (!rebuilt) follow_order();
}

void Reducer::Impl::fail_incomplete() {
  std::string list;
  int count = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!ready[i] && ++count <= 10) list += (list.empty() ? "" : ", ") + names[i];
  if (count > 10) list += ", …";
  expecting = queued = false;
  const std::string text =
      concat("DistributedDataParallel: ", count, " of ", parameters.size(),
             " parameters had no gradient in the backward pass: ", list,
             "; if forward does not use every parameter in every step, set find_unused_parameters = true");
  group->abort(text);
  throw Error(text);
}

// A parameter that no process used keeps the gradient that it had, as it does without processes.
void Reducer::Impl::drop_unused() {
  if (!options.find_unused_parameters) return;
  const NoGradGuard no_grad;
  Tensor used = ones({1, static_cast<int64_t>(parameters.size())}, kInt);
  for (const std::size_t i : unused) used.data_ptr<int>()[i] = 0;
  used = gather_rows(*group, used).amax(0);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor& grad = parameters[i].mutable_grad();
    if (used.data_ptr<int>()[i] != 0 && !grad.defined())
      grad = buckets[places[i].bucket].views[places[i].index].detach();
  }
}

// Marks the parameters that the outputs do not depend on.
void Reducer::Impl::find_unused(const Tensors& outputs) {
  std::unordered_set<const autograd::Node*> reached;
  std::vector<autograd::Node*> stack;
  const auto push = [&](autograd::Node* node) {
    if (node != nullptr && reached.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& output : outputs)
    if (output.defined() && output.requires_grad()) push(autograd::gradient_edge(output).node.get());
  while (!stack.empty()) {
    autograd::Node* node = stack.back();
    stack.pop_back();
    for (const autograd::Edge& edge : node->next) push(edge.node.get());
  }
  unused.clear();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!reached.contains(autograd::gradient_edge(parameters[i]).node.get())) unused.push_back(i);
}

// After the first step: arranges the buckets in the order in which rank 0 received its gradients, on all ranks.
void Reducer::Impl::follow_order() {
  rebuilt = true;
  if (options.find_unused_parameters && !options.static_graph)
    return;  // the order may change with every step
  const NoGradGuard no_grad;
  std::vector<char> seen(parameters.size(), 0);
  for (const std::size_t i : order) seen[i] = 1;
  for (std::size_t i = parameters.size(); i-- > 0;)
    if (!seen[i]) order.push_back(i);
  Tensor shared = empty({static_cast<int64_t>(order.size())}, kLong);
  for (std::size_t i = 0; i < order.size(); ++i)
    shared.data_ptr<int64_t>()[i] = static_cast<int64_t>(order[i]);
  broadcast_from(*group, {shared}, 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::size_t>(shared.data_ptr<int64_t>()[i]);
  std::vector<Bucket> arranged =
      make_buckets(parameters, order, options.first_bucket_bytes, options.bucket_bytes);
  places = places_of(arranged, parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor& grad = parameters[i].mutable_grad();
    if (!grad.defined()) continue;
    Tensor& view = arranged[places[i].bucket].views[places[i].index];
    view.copy_(grad);
    grad = view.detach();
  }
  buckets = std::move(arranged);
}

}  // namespace tandem::distributed
