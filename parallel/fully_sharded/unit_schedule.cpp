#include "tandem/parallel/fully_sharded/unit_schedule.h"

#include <algorithm>
#include <utility>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory/released_memory.h"

namespace tandem::distributed {

bool ShardedUnit::is_gathered() const {
  return std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part->is_gathered(); });
}
bool ShardedUnit::trains() const {
  return std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part->trains(); });
}

void GatherOrder::begin() {
  if (!now_.empty()) last_ = std::exchange(now_, {});
}

std::size_t GatherOrder::visit(std::size_t unit) {
  const std::size_t at = now_.size();
  now_.push_back(unit);
  return at + 1 < last_.size() && last_[at] == unit ? last_[at + 1] : kNone;
}

// Runs at the end of a backward pass. A pass that throws drops its callbacks instead, and the other ranks wait for it.
struct UnitSchedule::PassEnd {
  explicit PassEnd(std::weak_ptr<UnitSchedule> of) : schedule(std::move(of)) {}
  PassEnd(const PassEnd&) = delete;
  PassEnd& operator=(const PassEnd&) = delete;
  ~PassEnd() {
    if (const auto s = schedule.lock(); s && !ran)
      s->fail(std::make_exception_ptr(Error("FullyShardedDataParallel: a backward pass threw an exception, so training "
                                            "cannot continue in this group")),
              "");
  }
  void run() {
    ran = true;
    if (const auto s = schedule.lock()) s->end_pass();
  }
  const std::weak_ptr<UnitSchedule> schedule;
  bool ran = false;
};

UnitSchedule::UnitSchedule(std::vector<ShardedUnit> units, std::shared_ptr<ProcessGroup> group,
                           bool reshard_after_forward, bool overlap)
    : units_(std::move(units)),
      group_(std::move(group)),
      reshard_after_forward_(reshard_after_forward),
      overlap_(overlap) {
  for (ShardedUnit& unit : units_)
    for (const auto& part : unit.parts) {
      device_ = part->slice().device().type();
      for (const FlatPart::Place& place : part->places()) unit.trained_elements += part->trains() ? place.numel : 0;
    }
}

UnitSchedule::~UnitSchedule() {
  for (nn::HookHandle& hook : forward_hooks_) hook.remove();
}

void UnitSchedule::start() {
  const std::weak_ptr<UnitSchedule> weak = weak_from_this();
  std::vector<Tensor> parameters;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const ShardedUnit& unit = units_[u];
    for (std::size_t k = 0; k < unit.parts.size(); ++k) {
      const FlatPart& part = *unit.parts[k];
      part.for_buffers([&](const StorageImpl& buffer) {
        tandem::detail::set_restorer(buffer, [weak, u] {
          if (const auto s = weak.lock()) s->need(u);
        });
      });
      for (std::size_t i = 0; part.trains() && i < part.places().size(); ++i) {
        trained_.push_back({u, k, i});
        parameters.push_back(part.places()[i].parameter);
      }
    }
    if (unit.module == nullptr) continue;
    forward_hooks_.push_back(unit.module->register_forward_pre_hook([weak, u](nn::Module&, const Tensors&) {
      if (const auto s = weak.lock()) s->before_forward(u);
    }));
    forward_hooks_.push_back(
        unit.module->register_forward_hook([weak, u](nn::Module&, const Tensors&, const Tensor& t) {
          const auto s = weak.lock();
          return s ? s->after_forward(u, t) : Tensor();
        }));
  }
  gradient_hooks_ = parallel::GradientHooks(
      std::move(parameters),
      [weak](std::size_t i) {
        if (const auto s = weak.lock()) s->arrived(i);
      },
      [weak](std::size_t i) {
        if (const auto s = weak.lock()) s->arriving(i);
      });
}

void UnitSchedule::check_usable() const {
  if (failure_) std::rethrow_exception(failure_);
}

// ---- values

void UnitSchedule::start_gather(std::size_t unit) {
  for (const auto& part : units_[unit].parts) part->start_gather();
}

void UnitSchedule::gather(std::size_t unit, GatherOrder& order) {
  if (units_[unit].is_gathered()) return;
  start_gather(unit);
  for (const auto& part : units_[unit].parts) part->finish_gather();
  ahead_ = order.visit(unit);
  if (reducing_ == GatherOrder::kNone || !units_[unit].trains()) gather_ahead();
}

void UnitSchedule::gather_ahead() {
  const std::size_t next = std::exchange(ahead_, GatherOrder::kNone);
  if (overlap_ && next != GatherOrder::kNone) start_gather(next);
}

void UnitSchedule::release(std::size_t unit) {
  for (const auto& part : units_[unit].parts) part->release();
}

void UnitSchedule::release_all() {
  for (std::size_t u = 0; u < units_.size(); ++u) release(u);
}

void UnitSchedule::use_autocast(optional<ScalarType> dtype) {
  for (const ShardedUnit& unit : units_)
    for (const auto& part : unit.parts) part->use_autocast(dtype);
}

// ---- forward

bool UnitSchedule::begin_forward(bool reduces) {
  check_usable();
  if ((passing_ || awaited_) && autograd::pass_depth() > depth_) {  // checkpoint() runs the model again
    need(0);
    return false;
  }
  for (ShardedUnit& unit : units_) {
    unit.active = 0;
    for (const auto& part : unit.parts) part->check_unchanged();
  }
  release_all();  // the slices may have changed
  forward_dtype_ = autocast::is_autocast_enabled(device_) ? optional(autocast::get_autocast_dtype(device_)) : nullopt;
  use_autocast(forward_dtype_);
  forward_.begin();
  depth_ = autograd::pass_depth();
  reduces_ = reduces;
  return true;
}

void UnitSchedule::gather_root() { gather(0, forward_); }

void UnitSchedule::end_forward(const Tensors& outputs) {
  if (passing_) return;
  const bool recorded = GradMode::is_enabled() &&
                        std::any_of(outputs.begin(), outputs.end(), [](const Tensor& t) { return t.requires_grad(); });
  if (!recorded) {
    release_all();
    return use_autocast(recorded_);  // for the backward of an earlier forward
  }
  recorded_ = forward_dtype_;
  awaited_ = true;
  reductions_.clear();
  const auto add = [&](std::size_t u) {
    if (units_[u].trains() && std::find(reductions_.begin(), reductions_.end(), u) == reductions_.end())
      reductions_.push_back(u);
  };
  for (const std::size_t u : forward_.units()) add(u);
  for (std::size_t u = 0; u < units_.size(); ++u) add(u);
  std::reverse(reductions_.begin(), reductions_.end());
}

void UnitSchedule::forward_failed() noexcept { fail(std::current_exception(), "an exception in forward"); }

void UnitSchedule::before_forward(std::size_t unit) {
  check_usable();
  if (passing_)
    need(unit);
  else
    gather(unit, forward_);
  ++units_[unit].active;
}

Tensor UnitSchedule::after_forward(std::size_t u, const Tensor& output) {
  ShardedUnit& unit = units_[u];
  Tensor replaced;
  if (output.defined()) {
    for (const auto& part : unit.parts)
      if (output.storage() == part->whole()) replaced = output.clone();  // its memory is given back
    const Tensor& out = replaced.defined() ? replaced : output;
    // What is computed again in backward may need the values without keeping any of them.
    if (GradMode::is_enabled() && !out.is_leaf())
      out.register_hook([weak = weak_from_this(), u](const Tensor&) {
        if (const auto s = weak.lock()) s->reach(u);
      });
  }
  if (--unit.active == 0 && reshard_after_forward_ && !passing_) release(u);
  return replaced;
}

// ---- backward

template <class F>
void UnitSchedule::in_backward(const F& f) {
  check_usable();
  try {
    f();
  } catch (...) {
    fail(std::current_exception(), "an exception in backward");
    throw;
  }
}

void UnitSchedule::need(std::size_t unit) {
  in_backward([&] {
    begin_pass();
    if (!overlap_) finish_reduction();
    keeps_root_ = keeps_root_ || (unit == 0 && left_root_);
    gather(unit, backward_);
  });
}

// A model often begins with the root's parameters, whose gradients do not need the values, and ends with others of them.
void UnitSchedule::reach(std::size_t unit) {
  in_backward([&] {
    begin_pass();
    if (!keeps_root_) {
      left_root_ = true;
      release(0);
    }
  });
  need(unit);
}

void UnitSchedule::begin_pass() {
  if (passing_) return;
  check(autograd::pass_depth() > 0,
        "FullyShardedDataParallel: a parameter's values are needed outside of forward and backward");
  const auto end = std::make_shared<PassEnd>(weak_from_this());
  // For the pass through the outputs of forward, which may contain the one that is running.
  autograd::queue_callback([end] { end->run(); }, std::min(depth_ + 1, autograd::pass_depth()));
  passing_ = true;
  any_arrived_ = left_root_ = false;
  started_ = 0;
  backward_.begin();
  for (ShardedUnit& unit : units_) {
    unit.missing = 0;
    unit.expected = unit.trained_elements;
    for (const auto& part : unit.parts) unit.missing += part->trains() ? part->places().size() : 0;
  }
}

void UnitSchedule::arriving(std::size_t parameter) {
  in_backward([&] {
    check(!GradMode::is_enabled(),
          "FullyShardedDataParallel: backward(create_graph = true) is not supported, because averaged gradients have "
          "no history; compute gradients that you differentiate again with autograd::grad");
    begin_pass();
    const Trained& at = trained_[parameter];
    const FlatPart& part = *units_[at.unit].parts[at.part];
    check(units_[at.unit].missing > 0 && !part.has_gradient(at.place), "FullyShardedDataParallel: parameter ",
          part.places()[at.place].name,
          " received a second gradient in one backward pass, as from a pass nested in it; its first has been sent");
  });
}

void UnitSchedule::arrived(std::size_t parameter) {
  in_backward([&] {
    const Trained& at = trained_[parameter];
    ShardedUnit& unit = units_[at.unit];
    FlatPart& part = *unit.parts[at.part];
    any_arrived_ = true;
    unit.expected -= part.places()[at.place].numel;
    if (reduces_)
      part.take_gradient(at.place);
    else
      part.widen_gradient(at.place);
    if (!reduces_ && collector_) collector_(at.unit, at.part, at.place);
    if (overlap_ && 2 * unit.expected <= unit.trained_elements) {
      finish_reduction();
      gather_ahead();
    }
    if (--unit.missing > 0) return;
    release(at.unit);
    if (reduces_) start_complete();
  });
}

void UnitSchedule::start_complete() {
  while (started_ < reductions_.size() && units_[reductions_[started_]].missing == 0)
    start_reduction(reductions_[started_++]);
}

void UnitSchedule::start_reduction(std::size_t unit) {
  finish_reduction();
  reducing_ = unit;
  for (const auto& part : units_[unit].parts)
    if (part->trains()) part->start_reduction();
}

void UnitSchedule::finish_reduction() {
  if (reducing_ == GatherOrder::kNone) return;
  for (const auto& part : units_[reducing_].parts) part->finish_reduction();
  reducing_ = GatherOrder::kNone;
}

// Without any gradient it was a pass of autograd::grad, which averages nothing.
void UnitSchedule::end_pass() {
  in_backward([&] {
    if (reduces_ && any_arrived_) {
      while (started_ < reductions_.size()) start_reduction(reductions_[started_++]);
      finish_reduction();
    }
    release_all();
    passing_ = awaited_ = false;
  });
}

// Buffers on their way stay, because the group may still write them.
void UnitSchedule::fail(const std::exception_ptr& error, const char* unknown) noexcept {
  if (failure_) return;
  failure_ = error;
  passing_ = awaited_ = false;
  abort_with(*group_, error, unknown);
}

}  // namespace tandem::distributed
