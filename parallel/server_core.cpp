// The devices' part of a step: pieces of a batch, forward and backward on one host thread per device.
#include "tandem/parallel/server_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/inherited_autocast.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/device_threads.h"
#include "tandem/core/random/generator.h"
#include "tandem/parallel/server_impl.h"

namespace tandem::parallel {
namespace {

Device root_of(const std::vector<Device>& devices, const ServerOptions& options) {
  const Device root = options.root ? resolve(*options.root) : devices[0];
  check(std::find(devices.begin(), devices.end(), root) != devices.end(), "ParameterServer: the root ", root,
        " is not one of the devices");
  return root;
}

// Moves the copy for a device there.
void adapt(nn::Module& copy, const std::vector<Tensor>& parameters, Device device) {
  copy.to(device);
  const std::vector<Tensor> theirs = copy.parameters();
  check(theirs.size() == parameters.size(), "ParameterServer: the replica on ", device, " has ", theirs.size(),
        " parameters, but the model has ", parameters.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    check(theirs[i].dtype() == parameters[i].dtype(), "ParameterServer: parameter ", i, " of the replica differs\n  ",
          theirs[i], "\n  ", parameters[i]);
    theirs[i].set_requires_grad(parameters[i].requires_grad());
  }
}

}  // namespace

double StepResult::loss() const {
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i)
    sum += losses[i].defined() ? weights[i] * losses[i].item<double>() : std::numeric_limits<double>::quiet_NaN();
  return sum;
}

ServerCore::ServerCore(std::shared_ptr<nn::Module> net, ArrayRef<Device> devices, const ServerOptions& options,
                       MakeFunction make)
    : impl_(std::make_unique<Impl>()) {
  Impl& s = *impl_;
  check(net != nullptr, "ParameterServer: no model given");
  check(options.shards >= 0, "ParameterServer: shards must not be negative, got ", options.shards);
  check(options.buckets >= 0, "ParameterServer: buckets must not be negative, got ", options.buckets);
  check(options.loss == Reduction::Mean || options.loss == Reduction::Sum,
        "ParameterServer: options.loss must be Mean or Sum");
  s.devices = checked_devices("ParameterServer", devices);
  s.options = options;
  const Device root = root_of(s.devices, options);
  s.root = static_cast<std::size_t>(std::find(s.devices.begin(), s.devices.end(), root) - s.devices.begin());
  const std::vector<Tensor> parameters = net->parameters();
  check(!parameters.empty(), "ParameterServer: the model has no parameters");
  for (const Tensor& p : parameters)
    check(p.device() == parameters[0].device(), "ParameterServer: the model must be on one device\n  ", parameters[0],
          "\n  ", p);
  if (parameters[0].device() != root) net->to(root);
  s.has_buffers = !net->buffers().empty();
  if (options.group) s.group = std::make_unique<ServerGroup>(options.group, *net, options.bucket_bytes);
  s.set = std::make_unique<detail::ReplicaSet>(std::make_shared<detail::Master>(net, nullptr), s.devices, s.root,
                                               "ParameterServer");
  s.set->create(s.devices.size(), [&](Device device) {
    std::shared_ptr<nn::Module> copy = make(device);
    check(copy != nullptr && copy != net, "ParameterServer: each device needs a separate module; for ", device,
          copy ? " the model itself was returned" : " no module was created");
    return copy;
  });
  for (std::size_t i = 0; i < s.devices.size(); ++i) {
    if (i != s.root) adapt(*s.set->module(i), parameters, s.devices[i]);
    s.replicas.push_back(std::make_unique<ServerReplica>(s.devices[i], s.set->module(i)));
  }
  s.leaf = s.master().flat.as_parameter();
  s.master().forget_gradients();
  s.leaf.mutable_grad().reset();
  s.make_inboxes();
  s.timings.devices.resize(s.devices.size());
  for (auto& r : s.replicas) r->forget_gradients(), r->take_from(s.master(), true);
}
ServerCore::~ServerCore() = default;

void ServerCore::Impl::make_inboxes() {
  inboxes.resize(devices.size());
  if (shards()) {
    for (auto& r : replicas) r->collect_into_tree();
    return;
  }
  if (group) group_sum = std::make_unique<GroupSum>(master().flat, group->processes(), options.bucket_bytes);
  const Tensor& like = master().flat.grad();
  const auto bytes = static_cast<int64_t>(like.nbytes());
  const int64_t automatic = std::min<int64_t>(4, 1 + bytes / (1 << 20));
  const int64_t parts = options.buckets > 0 ? options.buckets : automatic;
  const int64_t part = std::max<int64_t>(1, (bytes + parts - 1) / parts);
  const std::vector<Bucket> buckets = cut_buckets(master().flat, part, part);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i == root || (options.buckets == 0 && reads_directly(devices[root], devices[i]))) {
      if (group) replicas[i]->tell(*group_sum, i);
      continue;
    }
    inboxes[i] = zeros_like(like);
    replicas[i]->send_by(buckets, inboxes[i]);
  }
}

// With shards the batch of all processes is cut, otherwise this process's part of it.
std::vector<int64_t> ServerCore::Impl::piece_sizes(int64_t samples) const {
  const std::size_t parts = shards() ? static_cast<std::size_t>(options.shards) : devices.size();
  return options.chunks ? chunk_sizes(samples, parts) : balanced_sizes(samples, parts);
}

// Without shards, gradients of this part's mean loss get the part's weight before they are sent. Where several calls
// add to the same gradients, each needs its weight in backward.
void ServerCore::Impl::begin_batch(int64_t samples) {
  part_samples = samples;
  weighted_late = group && !shards() && !accumulating && held_back == 0;
  if (group)
    whole = group->begin_step(
        samples, options.shards, steps, [this](int64_t all) { return shard_sizes(all); },
        shards() ? options.chunks : !weighted_late);
  else
    whole = {.samples = samples, .assumed = samples, .seed = default_generator().current_seed(), .own_shards = {}};
  if (!whole.own_shards.empty()) return;
  whole.own_shards = piece_sizes(samples);
  whole.count = static_cast<int64_t>(whole.own_shards.size());
  whole.total = whole.count;
}

bool ServerCore::Impl::complete_batch() {
  return !group || group->complete(whole, [this](int64_t all) { return shard_sizes(all); });
}

ServerCore::Impl::Sizes ServerCore::Impl::shard_sizes(int64_t samples) const {
  return shards() ? piece_sizes(samples) : Sizes();
}

// The weights of shards are their sizes, and the sum is divided once: a size of the whole batch that comes late does
// not matter then.
std::vector<Piece> ServerCore::Impl::cut(const WholeBatch& whole) const {
  std::vector<Piece> out;
  int64_t start = 0;
  const double of = shards() ? 1 : static_cast<double>(weighted_late ? part_samples : whole.samples);
  for (const int64_t size : whole.own_shards) {
    const double weight = options.loss == Reduction::Mean ? static_cast<double>(size) / of : 1.0;
    out.push_back({start, size, weight, whole.first + static_cast<int64_t>(out.size())});
    start += size;
  }
  return out;
}

// What the sum of the gradients of all parts (without shards) or of all shards is divided by.
double ServerCore::Impl::divisor() const {
  if (options.loss != Reduction::Mean) return 1;
  const auto all = static_cast<double>(whole.samples);
  if (shards()) return all;
  return weighted_late ? all / static_cast<double>(whole.assumed) : 1;
}

// Without shards: what the sum of this part is divided by before it is sent. The size of the whole batch need not be
// known yet: all processes use the size of the last one.
double ServerCore::Impl::part_divisor() const {
  if (options.loss != Reduction::Mean || !weighted_late) return 1;
  return static_cast<double>(whole.assumed) / static_cast<double>(part_samples);
}

void ServerCore::Impl::set_weights(StepResult& result) const {
  for (std::size_t i = 0; i < result.weights.size(); ++i)
    result.weights[i] = options.loss == Reduction::Mean
                            ? static_cast<double>(whole.own_shards[i]) / static_cast<double>(whole.samples)
                            : 1.0;
}

// Different on every process, whatever their numbers of devices; those of rank 0 are as on several devices without
// a group.
uint64_t ServerCore::Impl::stream_of(const Piece& piece) const {
  const auto number = static_cast<uint64_t>(piece.number);
  return group && !shards() ? static_cast<uint64_t>(group->rank()) << 32 | number : number;
}

StepResult ServerCore::run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next) {
  const Exclusive::Use use(exclusive_, "ParameterServer.backward");
  return impl_->guarded([&] { return impl_->run_backward(batch, loss, next); });
}

StepResult ServerCore::Impl::run_backward(const Tensors& batch, PieceFunction loss, const optim::Optimizer* next) {
  Impl& s = *this;
  const double begin = seconds_now();
  if (s.left_at > 0) s.timings.data_wait += begin - s.left_at;
  s.master().check_unchanged();
  s.summing = false;
  s.begin_batch(batch_size(batch));
  if (s.has_buffers && s.group && !s.shards()) s.group->broadcast_buffers(s.master().net->buffers());
  Computed computed = s.compute(batch, loss);
  try {
    if (s.summing && !computed.failed) s.group_sum->start_rest();
    if (!s.complete_batch()) {
      s.master().shard_buffers.restore();
      computed = s.compute(batch, loss);
    }
  } catch (...) {
    s.forget();  // they are gradients of a part alone
    s.master().shard_buffers.restore();
    rethrow(computed.errors, computed.used, s.group.get());
    throw;
  }
  const double computed_at = seconds_now();
  StepResult& result = computed.result;
  s.set_weights(result);
  const std::size_t used = computed.used.size();
  if (s.group && !computed.failed && s.options.not_finite == NotFinite::kSkip)
    result.skipped = s.group->any(result.skipped);
  if (result.skipped && s.summing && !computed.failed) s.group_sum->finish(1);  // before its buffer is used again
  const bool lost = result.skipped || computed.failed;
  if (lost) s.forget();
  if (s.shards() && s.has_buffers) {
    if (lost)
      s.master().shard_buffers.restore();
    else
      s.fold_buffers(used);
  }
  rethrow(computed.errors, computed.used, s.group.get());
  s.add_timings(used, computed_at - begin);
  ++s.steps;
  if (!result.skipped) s.reduce(used, next);
  s.left_at = seconds_now();
  s.timings.reduce += s.left_at - computed_at;
  s.timings.total += s.left_at - begin;
  return std::move(result);
}

// Forward and backward of all pieces of this process.
ServerCore::Impl::Computed ServerCore::Impl::compute(const Tensors& batch, PieceFunction loss) {
  const std::vector<Piece> pieces = cut(whole);
  // Each device gets a run of consecutive pieces; device i gets counts[i] of them.
  const std::vector<int64_t> counts = balanced_sizes(static_cast<int64_t>(pieces.size()), devices.size());
  if (has_buffers)  // copied before computing, since the root's forward changes its own
    for (auto& r : replicas)
      if (r.get() != &master()) r->copy_buffers(master());
  if (has_buffers && shards()) master().shard_buffers.begin(*master().net);
  Computed out;
  out.used.assign(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(counts.size()));
  out.result = {Tensors(pieces.size()), std::vector<double>(pieces.size()), false};
  std::vector<char> bad(devices.size(), 0);
  for (std::size_t i = counts.size(); i < devices.size() && !accumulating; ++i) replicas[i]->forget_gradients();
  if (group_sum && held_back == 0) begin_sum(counts.size());
  const autocast::detail::State callers = autocast::detail::state;
  out.errors = run_on_devices(out.used, [&](std::size_t i) {
    const autocast::detail::InheritedAutocast same_precision(callers);
    std::size_t first = 0;
    for (std::size_t j = 0; j < i; ++j) first += static_cast<std::size_t>(counts[j]);
    work(i, pieces, first, static_cast<std::size_t>(counts[i]), batch, loss, out.result, bad);
  });
  out.result.skipped = std::find(bad.begin(), bad.end(), 1) != bad.end();
  out.failed = std::any_of(out.errors.begin(), out.errors.end(), [](const auto& e) { return e != nullptr; });
  return out;
}

// Where the root can read the gradients of all devices, backward starts the sums; otherwise reduce() does. The
// processes do the same calls in both cases.
void ServerCore::Impl::begin_sum(std::size_t used) {
  Tensors others;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (i >= used && !replicas[i]->has_gradient) continue;
    if (inboxes[i].defined()) return;
    if (i != root) others.push_back(seen_from(master().device, replicas[i]->flat.grad()));
  }
  if (root >= used && !master().has_gradient) {
    const DeviceGuard guard(master().device);
    master().flat.zero_grad();
    master().has_gradient = true;
  }
  group_sum->begin(used, std::move(others), part_divisor());
  summing = true;
}

void ServerCore::Impl::add_timings(std::size_t used, double elapsed) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceTimings t = i < used ? replicas[i]->timings : DeviceTimings{};
    DeviceTimings& sum = timings.devices[i];
    sum.broadcast += t.broadcast;
    sum.copy_in += t.copy_in;
    sum.forward += t.forward;
    sum.backward += t.backward;
    sum.idle += elapsed - (t.broadcast + t.copy_in + t.forward + t.backward);
  }
}

void ServerCore::Impl::work(std::size_t device, const std::vector<Piece>& pieces, std::size_t first, std::size_t count,
                            const Tensors& batch, PieceFunction loss, StepResult& result, std::vector<char>& bad) {
  ServerReplica& r = *replicas[device];
  PhaseClock clock(r.device, options.synchronize_timings);
  r.timings = {};
  if (&r != &master()) {
    r.take_from(master(), false);
    set->follow_modes(device);
  }
  r.timings.broadcast += clock.lap();
  r.await_sent();
  if (shards()) {
    // The sum of earlier calls must stay where it is.
    r.tree.begin(whole.total, accumulating && &r == &master() ? FlatSum{} : r.gradients());
    if (has_buffers && &r != &master()) r.shard_buffers.begin(*r.net);
  } else if (!accumulating || !r.has_gradient) {
    r.flat.zero_grad();
  }
  AutoGradMode recording(true);
  for (std::size_t p = first; p < first + count && !bad[device]; ++p)
    bad[device] = !piece(r, pieces[p], p, batch, loss, result, clock, p + 1 == first + count);
  r.has_gradient = true;
  r.timings.backward += clock.lap();
}

// Returns false if the loss is not finite and the step is to be skipped.
bool ServerCore::Impl::piece(ServerReplica& r, const Piece& piece, std::size_t number, const Tensors& batch,
                             PieceFunction loss, StepResult& result, PhaseClock& clock, bool last) {
  Tensors inputs;
  for (const Tensor& t : batch) {
    const Tensor part = t.narrow(0, piece.start, piece.size);
    inputs.push_back(options.buckets == 0 ? seen_from(r.device, part) : part.to(r.device, /*non_blocking=*/true));
  }
  r.timings.copy_in += clock.lap();
  // A single device without shards draws from the caller's stream, as training without a server does.
  optional<GeneratorGuard> stream;
  if (shards() || devices.size() > 1 || group)
    stream.emplace(Generator(stream_seed(whole.seed, static_cast<uint64_t>(steps), stream_of(piece))));
  if (shards())
    for (const Tensor& p : r.flat.parameters()) p.mutable_grad().reset();
  Tensor value;
  {
    const autograd::BufferLogGuard log(r.shard_buffers.log());
    value = loss(*r.net, inputs);
  }
  const char* kind = shards() ? "shard " : "piece ";
  check(value.defined() && value.numel() == 1 && value.device() == r.device, "the loss of ", kind, piece.number,
        " must be a scalar on ", r.device, ", got ", value);
  result.losses[number] = value.detach();
  if (options.not_finite != NotFinite::kIgnore)
    if (const double number_now = value.item<double>(); !std::isfinite(number_now)) {
      check(options.not_finite == NotFinite::kSkip, "the loss of ", kind, piece.number, " (samples ", piece.start,
            " to ", piece.start + piece.size - 1, " of the batch) is ", number_now);
      return false;
    }
  r.timings.forward += clock.lap();
  const bool sends = !shards() && held_back == 0 && last;
  if (sends) r.begin_sending();
  r.summing = sends && summing;
  if (shards()) r.tree.begin_leaf(piece.number, r.flat.parameters(), r.flat.grad(), r.offsets);
  r.adding_shard = shards();
  if (piece.weight == 1)
    value.backward();
  else
    value.backward(full(value.sizes(), piece.weight, value.options()));
  value.reset();
  if (sends) r.end_sending();
  r.summing = false;
  if (shards()) {
    r.adding_shard = false;
    r.tree.end_leaf(r.flat.parameters());
    r.shard_buffers.end_shard();
  }
  r.timings.backward += clock.lap();
  return true;
}

}  // namespace tandem::parallel
