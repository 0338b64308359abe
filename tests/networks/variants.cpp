// Compares training with itself: again, resumed, checkpointed; for float32 with autocast; fused; with shards; captured.
#include "tandem/tests/networks/variants.h"

#include <cmath>
#include <cstring>
#include <sstream>

#include "tandem/core/backend/backend.h"

namespace tandem::testing {
namespace {

/// NaN is NaN: its other bits are the processor's.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  if (x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0) return true;
  if (!x.is_floating_point()) return false;
  // Equal numbers of different bits are zeros of different signs.
  return (((x == y) & (x.signbit() == y.signbit())) | (x.isnan() & y.isnan())).all().item<bool>();
}

/// The first difference of two outcomes.
std::string first_difference(const Outcome& own, const Outcome& wanted) {
  for (std::size_t k = 0; k < wanted.losses.size(); ++k)
    if (k >= own.losses.size() || !same_bits(own.losses[k], wanted.losses[k]))
      return concat("the loss of step ", k, " is ", k < own.losses.size() ? own.losses[k].item<double>() : NAN,
                    " instead of ", wanted.losses[k].item<double>());
  if (own.state.size() != wanted.state.size()) return "another number of parameters and buffers";
  for (std::size_t k = 0; k < wanted.state.size(); ++k)
    if (own.state[k].first != wanted.state[k].first || !same_bits(own.state[k].second, wanted.state[k].second))
      return concat(own.state[k].first, " differs by ",
                    (own.state[k].second - wanted.state[k].second).abs().max().item<double>());
  return "";
}

Outcome trained(const DescriptionPtr& description, ScalarType dtype, bool checkpointed) {
  Training training(description, dtype);
  training.run(0, Training::kSteps, checkpointed);
  return training.outcome();
}

/// Interrupted before step 2 or 3, and continued by another network, which starts with other numbers.
Outcome resumed(const DescriptionPtr& description, ScalarType dtype) {
  const int64_t stop = 2 + static_cast<int64_t>(description->loss % 2);
  std::stringstream net, optimizer, scheduler;
  Training before(description, dtype), after(description, dtype);
  before.run(0, stop);
  before.save(net, optimizer, scheduler);
  after.run(0, 1);
  after.load(net, optimizer, scheduler);
  Outcome made = before.outcome();
  after.run(stop);
  const Outcome rest = after.outcome();
  made.losses.insert(made.losses.end(), rest.losses.begin() + 1, rest.losses.end());
  made.state = rest.state;
  return made;
}

/// Two steps in shards on so many devices.
Outcome sharded(const DescriptionPtr& description, ScalarType dtype, int devices) {
  Training training(description, dtype);
  std::vector<Device> where;
  for (int i = 0; i < devices; ++i) where.emplace_back(kCPU, i);
  parallel::ParameterServer<NetImpl> server(training.net_ptr(), where,
                                            {.shards = 8, .not_finite = parallel::NotFinite::kIgnore},
                                            [&] { return std::make_shared<NetImpl>(description, dtype); });
  const auto loss = [](NetImpl& net, const Tensors& piece) { return net.forward(piece); };
  for (int64_t step = 0; step < 2; ++step) {
    const parallel::StepResult result = server.backward(training.net().batch(step), loss);
    training.keep_loss(tensor(result.loss()));
    training.clip();
    server.update(training.optimizer());
    training.advance();
  }
  return training.outcome();
}

/// Whether each piece of a batch can be computed alone.
bool in_shards(const Description& description) {
  for (const Instruction& at : description.instructions)
    if (at.kind == "data") return at.words[0].find('@') != std::string::npos;
  return false;
}

/// The loss of the first batch.
double evaluated(NetImpl& net) {
  const NoGradGuard no_grad;
  return net.forward(net.batch(0)).item<double>();
}

/// Multiplies parameters by 1 ± epsilon.
void perturb(NetImpl& net, double epsilon, int64_t seed) {
  const NoGradGuard no_grad;
  for (const auto& [variable, p] : net.ordered())
    p.mul_((1 + epsilon * drawn(p.sizes().vec(), ++seed, -1, 1)).to(p.scalar_type()));
}

/// How far the loss moves when its parameters do by `epsilon`, at most, in four tries.
double movement(const DescriptionPtr& description, ScalarType dtype, double epsilon, double (*loss)(NetImpl&)) {
  double most = 0;
  NetImpl plain(description, dtype);
  const double middle = loss(plain);
  for (int64_t k = 0; k < 4; ++k) {
    NetImpl net(description, dtype);
    perturb(net, epsilon, 1000 * k);
    most = std::max(most, std::abs(loss(net) - middle));
  }
  return most;
}

double in_evaluation(NetImpl& net) {
  net.eval();
  return evaluated(net);
}

std::string fused(const DescriptionPtr& description) {
  NetImpl net(description, kDouble);
  const double wanted = in_evaluation(net);
  const nn::FuseResult result = nn::fuse(net);
  if (result.norms == 0) return "";
  const double own = evaluated(net);
  if (own == wanted || (std::isnan(own) && std::isnan(wanted))) return "";
  const double bound = 100 * movement(description, kDouble, 1e-14, in_evaluation) + 1e-12 * (1 + std::abs(wanted));
  if (std::abs(own - wanted) <= bound) return "";
  return concat("the loss in evaluation is ", own, " instead of ", wanted, ", bound ", bound);
}

double mixed(NetImpl& net) {
  const autocast::AutocastGuard guard(kCPU, kBFloat16);
  return evaluated(net);
}

// Perturbed with autocast, too: then the roundings of each operation are others.
std::string with_autocast(const DescriptionPtr& description) try {
  NetImpl net(description, kFloat), other(description, kFloat);
  const double wanted = evaluated(net), own = mixed(other);
  if (!std::isfinite(wanted) || own == wanted) return "";
  const double moved =
      movement(description, kFloat, 1.0 / 256, evaluated) + movement(description, kFloat, 1.0 / 256, mixed);
  const double bound = 20 * moved + 0.02 * (1 + std::abs(wanted));
  if (std::abs(own - wanted) <= bound) return "";
  return concat("the loss is ", own, " instead of ", wanted, ", bound ", bound);
} catch (const Error& error) {  // some operations want one dtype, as in PyTorch
  if (std::string(error.what()).find("dtypes") == std::string::npos) throw;
  return "";
}

/// The outcome of training on a device so far, with the gradients.
Outcome with_gradients(Training& training) {
  Outcome made = training.outcome();
  for (const auto& item : training.net().named_parameters())
    if (const Tensor& gradient = item.value().grad(); gradient.defined())
      made.state.emplace_back(item.key() + ".grad", gradient.cpu());
  return made;
}

/// How training with captured steps differs from eager training, both on a device, and what the steps have become.
std::string captured(const DescriptionPtr& description, ScalarType dtype, Device device, bool fuse,
                     std::string& became) {
  Training eager(description, dtype, device), training(description, dtype, device);
  // The norm of gradients is read on the host, and some optimizers have no kernel: then the step ends before them.
  const bool whole =
      training.optimizer().can_be_replayed() && (description->clip.empty() || description->clip[0] != "norm");
  const auto update = [](Training& of) {
    of.clip();
    of.optimizer().step();
  };
  const auto function = [&](const Tensors& batch) {
    const Tensor loss = training.backward(batch).detach().clone();
    if (whole) update(training);
    return loss;
  };
  CapturedStep step(function, whole ? std::vector{&training.optimizer()} : std::vector<optim::Optimizer*>(),
                    {.warm_up = 1, .fuse = fuse});
  step.watch(training.net());
  std::string found;
  for (int64_t k = 0; k < Training::kSteps && found.empty(); ++k) {
    Tensors batch = training.net().batch(k);
    for (Tensor& t : batch) t = t.to(device);
    eager.keep_loss(eager.backward(batch));
    update(eager);
    eager.advance();
    training.keep_loss(step(batch)[0]);
    if (!whole) update(training);
    training.advance();
    found = first_difference(with_gradients(training), with_gradients(eager));
    if (!found.empty()) found = concat("after step ", k, " ", found);
    if (k > 0 && !step.captured()) became = concat("uncaptured ", step.message());
  }
  if (became.empty()) became = concat("captured ", step.fused().calls, " ", step.fused().kernels);
  return found;
}

}  // namespace

Words on_device(const DescriptionPtr& description, ScalarType dtype, Device device) {
  if (device.is_cuda() && device_count(kCUDA) == 0) return {concat("skipped: ", cuda_reason())};
  Words lines(1);
  std::string unfused;
  const std::string found = captured(description, dtype, device, true, lines[0]);
  if (!found.empty())
    lines.push_back(concat(
        "differs ", captured(description, dtype, device, false, unfused).empty() ? "fused: " : "captured: ", found));
  return lines;
}

Words differences(const DescriptionPtr& description, ScalarType dtype, const Outcome& plain) {
  Words found;
  const auto note = [&](const char* variant, const std::string& text) {
    if (!text.empty()) found.push_back(concat(variant, ": ", text));
  };
  const auto compare = [&](const char* variant, const auto& run) {
    try {
      note(variant, run());
    } catch (const std::exception& error) {
      note(variant, error.what());
    }
  };
  compare("again", [&] { return first_difference(trained(description, dtype, false), plain); });
  compare("resumed", [&] { return first_difference(resumed(description, dtype), plain); });
  if (!description->segments.empty())
    compare("checkpointed", [&] { return first_difference(trained(description, dtype, true), plain); });
  if (in_shards(*description))
    compare("shards", [&] {
      const Outcome one = sharded(description, dtype, 1);
      return first_difference(sharded(description, dtype, 2 + 2 * static_cast<int>(description->loss % 2)), one);
    });
  compare("fused", [&] { return fused(description); });
  compare("autocast", [&] { return with_autocast(description); });
  return found;
}

}  // namespace tandem::testing
