// Makes optimizers and schedules by name, and trains.
#include "tandem/tests/networks/training.h"

#include <ostream>

namespace tandem::testing {
namespace {

double number(const Keywords& options, const char* name) { return std::strtod(options.at(name).c_str(), nullptr); }
int64_t whole(const Keywords& options, const char* name) { return std::stoll(options.at(name)); }

/// Sets the fields that are given by name. Throws Error if one is unknown.
void set_fields(optim::OptimizerOptions& options, const Keywords& given) {
  std::size_t known = 0;
  for (const optim::Field& field : options.fields()) {
    const auto found = given.find(field.name);
    if (found == given.end()) continue;
    ++known;
    if (field.number != nullptr) *field.number = std::strtod(found->second.c_str(), nullptr);
    if (field.flag != nullptr) *field.flag = found->second == "True";
  }
  check(known == given.size(), "an option of the optimizer is unknown");
}

// The defaults are those of a default constructor: a group's options that equal these are taken from the defaults.
template <class Optimizer, class OptimizerOptions>
std::unique_ptr<optim::Optimizer> made(std::vector<optim::OptimizerParamGroup> groups,
                                       const std::vector<Keywords>& given) {
  for (std::size_t k = 0; k < groups.size(); ++k) {
    auto options = std::make_unique<OptimizerOptions>(1.0);
    set_fields(*options, given[k]);
    groups[k].set_options(std::move(options));
  }
  if constexpr (std::is_default_constructible_v<OptimizerOptions>)
    return std::make_unique<Optimizer>(groups, OptimizerOptions());
  else
    return std::make_unique<Optimizer>(groups, OptimizerOptions(1.0));
}

using Make = std::unique_ptr<optim::Optimizer> (*)(std::vector<optim::OptimizerParamGroup>,
                                                   const std::vector<Keywords>&);

std::unique_ptr<optim::Optimizer> make_optimizer(const Description& description, const NetImpl& net) {
  using namespace optim;
  static const std::map<std::string, Make> all{
      {"SGD", made<SGD, SGDOptions>},
      {"Adam", made<Adam, AdamOptions>},
      {"AdamW", made<AdamW, AdamWOptions>},
      {"RMSprop", made<RMSprop, RMSpropOptions>},
      {"Adagrad", made<Adagrad, AdagradOptions>},
      {"NAdam", made<NAdam, NAdamOptions>},
      {"RAdam", made<RAdam, RAdamOptions>},
      {"Adamax", made<Adamax, AdamaxOptions>},
      {"Adadelta", made<Adadelta, AdadeltaOptions>},
  };
  std::vector<OptimizerParamGroup> groups;
  std::vector<Keywords> options;
  const auto& lines = description.groups;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    Tensors members;
    for (const auto& [variable, p] : net.ordered())
      if (variable >= std::stoul(lines[k][0]) && (k + 1 == lines.size() || variable < std::stoul(lines[k + 1][0])))
        members.push_back(p);
    if (members.empty()) continue;
    groups.emplace_back(members);
    options.push_back(options_of(lines[k]));
  }
  return all.at(lines.at(0).at(1))(groups, options);
}

std::unique_ptr<optim::LRScheduler> make_scheduler(const Words& words, optim::Optimizer& optimizer) {
  using namespace optim;
  if (words.empty()) return nullptr;
  const std::string& type = words[0];
  const Keywords o = options_of(words);
  if (type == "StepLR") return std::make_unique<StepLR>(optimizer, whole(o, "step_size"), number(o, "gamma"));
  if (type == "MultiStepLR")
    return std::make_unique<MultiStepLR>(optimizer, read_word<std::vector<int64_t>>("l" + o.at("milestones"), {}),
                                         number(o, "gamma"));
  if (type == "ExponentialLR") return std::make_unique<ExponentialLR>(optimizer, number(o, "gamma"));
  if (type == "CosineAnnealingLR")
    return std::make_unique<CosineAnnealingLR>(optimizer, whole(o, "T_max"), number(o, "eta_min"));
  if (type == "ConstantLR")
    return std::make_unique<ConstantLR>(optimizer, number(o, "factor"), whole(o, "total_iters"));
  if (type == "LinearLR")
    return std::make_unique<LinearLR>(optimizer, number(o, "start_factor"), number(o, "end_factor"),
                                      whole(o, "total_iters"));
  if (type == "PolynomialLR")
    return std::make_unique<PolynomialLR>(optimizer, whole(o, "total_iters"), number(o, "power"));
  if (type == "CosineAnnealingWarmRestarts")
    return std::make_unique<CosineAnnealingWarmRestarts>(optimizer, whole(o, "T_0"), whole(o, "T_mult"));
  if (type == "OneCycleLR")
    return std::make_unique<OneCycleLR>(optimizer,
                                        OneCycleLROptions{.max_lr = number(o, "max_lr"),
                                                          .total_steps = whole(o, "total_steps"),
                                                          .cycle_momentum = o.at("cycle_momentum") == "True"});
  check(type == "CyclicLR", "random networks have no scheduler ", type);
  return std::make_unique<CyclicLR>(optimizer, CyclicLROptions{.base_lr = number(o, "base_lr"),
                                                               .max_lr = number(o, "max_lr"),
                                                               .step_size_up = whole(o, "step_size_up"),
                                                               .mode = o.at("mode"),
                                                               .gamma = number(o, "gamma"),
                                                               .cycle_momentum = o.at("cycle_momentum") == "True"});
}

}  // namespace

Training::Training(DescriptionPtr description, ScalarType dtype, Device device)
    : description_(std::move(description)), net_(std::make_shared<NetImpl>(description_, dtype)) {
  net_->to(device);
  optimizer_ = make_optimizer(*description_, *net_);
  scheduler_ = make_scheduler(description_->scheduler, *optimizer_);
}

void Training::run(int64_t first, int64_t last, bool checkpointed) {
  for (int64_t step = first; step < last; ++step) {
    keep_loss(backward(net_->batch(step), checkpointed));
    clip();
    optimizer_->step();
    advance();
  }
}

Tensor Training::backward(const Tensors& batch, bool checkpointed) {
  Tensor loss = net_->forward(batch, checkpointed);
  optimizer_->zero_grad();
  loss.backward();
  return loss;
}

void Training::clip() {
  if (description_->clip.empty()) return;
  Tensors parameters;
  for (const auto& [variable, p] : net_->ordered()) parameters.push_back(p);
  const double bound = std::strtod(description_->clip.at(1).c_str(), nullptr);
  if (description_->clip[0] == "norm")
    nn::utils::clip_grad_norm_(parameters, bound);
  else
    nn::utils::clip_grad_value_(parameters, bound);
}

void Training::advance() {
  if (scheduler_) scheduler_->step();
}

Outcome Training::outcome() const {
  Outcome made{losses_, {}};
  for (const auto& item : net_->named_parameters())
    made.state.emplace_back(item.key(), item.value().detach().cpu().clone());
  for (const auto& item : net_->named_buffers())
    if (item.key()[0] != 'c') made.state.emplace_back(item.key(), item.value().cpu().clone());
  return made;
}

void Training::save(std::ostream& net, std::ostream& optimizer, std::ostream& scheduler) const {
  tandem::save(net_, net);
  tandem::save(*optimizer_, optimizer);
  if (scheduler_) tandem::save(*scheduler_, scheduler);
}

void Training::load(std::istream& net, std::istream& optimizer, std::istream& scheduler) {
  tandem::load(net_, net);
  tandem::load(*optimizer_, optimizer);
  if (scheduler_) tandem::load(*scheduler_, scheduler);
}

}  // namespace tandem::testing
