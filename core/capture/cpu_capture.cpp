// A step on the CPU as a list of kernel calls.
//
// While a step is recorded, its calls are kept and not run, so a recording has no effect until it is replayed. What it
// allocates has addresses and no memory (recorded_memory.h).
#include "tandem/core/capture/cpu_capture.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "tandem/core/backend/optim.h"
#include "tandem/core/capture/kept_call.h"
#include "tandem/core/error.h"

namespace tandem::cpu {
namespace {

using detail::KeptArguments;
using detail::KeptCall;
using detail::RecordedMemory;

template <class... Steps>
bool set_step(const KeptCall& kept, const KernelCall& call, TypeList<Steps...>) {
  const std::size_t last = call.count - 1;
  return ((call.argument<Steps>(last) != nullptr &&
           (*static_cast<Steps*>(const_cast<void*>(kept.values[last])) = *call.argument<Steps>(last), true)) ||
          ...);
}
using OptimizerSteps = TypeList<SgdStep, AdamStep, RmsPropStep, AdagradStep>;

bool same_memory(TensorList a, TensorList b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.defined() == y.defined() && (!x.defined() || (x.data_ptr() == y.data_ptr() && x.numel() == y.numel()));
  });
}

// Whether two calls are of one kernel with the same lists of tensors.
bool same_update(const KeptCall& kept, const KernelCall& call) {
  if (kept.kernel != call.kernel) return false;
  for (std::size_t i = 0; i < call.count; ++i) {
    if (const auto* list = call.argument<TensorList>(i))
      if (!same_memory(*static_cast<const TensorList*>(kept.values[i]), *list)) return false;
    if (const auto* grads = call.argument<Gradients>(i))
      if (!same_memory(static_cast<const Gradients*>(kept.values[i])->of, grads->of)) return false;
  }
  return true;
}

class Recording final : public KernelQueue {
 public:
  void begin() {
    refuse_in_recording("begins another one");
    refusal_.clear();
    result_ = {};
    updates_.clear();
    kept_.clear();
    arguments_.reset();
    memory_ = std::make_shared<RecordedMemory>();
    arguments_.emplace(*memory_);
    first_ = default_generator().take(0);
    phase_ = Phase::kRecording;
    detail::recorded_memory = memory_.get();
    current_ = this;
    queueing_.emplace(*this);
  }

  CaptureResult end() {
    queueing_.reset();
    detail::recorded_memory = nullptr;
    current_ = nullptr;
    phase_ = Phase::kIdle;
    const Generator& generator = default_generator();
    const Generator::Draw now = generator.take(0);
    if (now.seed != first_.seed || now.offset < first_.offset) refuse("sets the seed of the default generator");
    draws_ = now.offset - first_.offset;
    generator.set_current_seed(first_.seed);
    generator.set_offset(first_.offset);
    for (const KeptArguments::KeptDraw& draw : arguments_->draws) {
      const auto [seed, offset] = draw.recorded;
      if (seed != first_.seed || offset < first_.offset || offset >= now.offset)
        refuse("draws from a generator other than the default one");
    }
    try {
      if (refusal_.empty() && memory_->touched()) refuse("reads or writes elements on the host");
      if (refusal_.empty()) arguments_->end();
    } catch (const std::exception& error) {
      refuse(error.what());
    }
    result_.nodes = kept_.size();
    result_.refusal = refusal_;
    return std::move(result_);
  }

  void place(TensorList results) {
    memory_->place(results);
    arguments_->place();
  }

  void begin_numbers() {
    refuse_in_recording("replays another one");
    refusal_.clear();
    for (Update& update : updates_) update.set = false;
    phase_ = Phase::kNumbers;
    queueing_.emplace(*this);
  }
  std::string end_numbers() {
    queueing_.reset();
    phase_ = Phase::kIdle;
    if (!std::ranges::all_of(updates_, &Update::set))
      refuse("an optimizer that stepped in the recording does not step now");
    return refusal_;
  }

  void replay() {
    refuse_in_recording("replays another one");
    if (draws_ != 0) {
      const Generator::Draw first = default_generator().take(draws_);
      for (const auto& [recorded, now] : arguments_->draws)
        *now = {first.seed, first.offset + (recorded.offset - first_.offset)};
    }
    for (const KeptCall& call : kept_) call.run();
    arguments_->bump_versions();
  }

 private:
  enum class Phase { kIdle, kRecording, kNumbers };
  struct Update {
    std::size_t call;
    bool set;
  };

  bool take(const KernelCall& call) override {
    if (phase_ == Phase::kNumbers) return take_numbers(call);
    try {
      kept_.emplace_back(call, *arguments_, static_cast<int>(kept_.size()));
    } catch (const std::exception& error) {
      refuse(error.what());
      throw;
    }
    for (std::size_t i = 0; i < call.count; ++i)
      if (const auto* grads = call.argument<Gradients>(i)) {
        if (std::ranges::any_of(updates_, [&](const Update& u) { return same_update(kept_[u.call], call); }))
          refuse("steps an optimizer twice");
        if (!grads->others.empty()) refuse("adds up the gradients of several devices");
        updates_.push_back({kept_.size() - 1, true});
        result_.calls.push_back({call.argument<TensorList>(0)->vec(), grads->of.vec()});
      }
    return true;
  }
  void resume() noexcept override {}
  void read_on_host(const Tensor&, const char* reader) override {
    if (phase_ != Phase::kRecording) return;
    refuse(std::string_view(reader) == "item" ? "reads a value on the host" : concat("calls ", reader));
    fail("a captured step ", refusal_);
  }

  bool take_numbers(const KernelCall& call) {
    const auto update =
        std::ranges::find_if(updates_, [&](const Update& u) { return !u.set && same_update(kept_[u.call], call); });
    if (update == updates_.end() || !set_step(kept_[update->call], call, OptimizerSteps())) {
      refuse("an optimizer's parameters, gradients or kind of step changed");
      return true;
    }
    return update->set = true;
  }

  // Another recording of this thread would keep this one's numbers as they are now.
  static void refuse_in_recording(const char* reason) {
    if (current_ == nullptr) return;
    current_->refuse(reason);
    fail("a captured step ", reason);
  }
  void refuse(std::string reason) {
    if (refusal_.empty()) refusal_ = std::move(reason);
  }

  static constinit thread_local Recording* current_;

  Phase phase_ = Phase::kIdle;
  std::shared_ptr<RecordedMemory> memory_;
  std::optional<KeptArguments> arguments_;
  std::vector<KeptCall> kept_;
  std::vector<Update> updates_;
  Generator::Draw first_{};  // of the recording
  uint64_t draws_ = 0;
  std::string refusal_;
  CaptureResult result_;
  std::optional<QueueKernels> queueing_;
};

constinit thread_local Recording* Recording::current_ = nullptr;

Recording& recording_of(void* capture) { return *static_cast<Recording*>(capture); }

}  // namespace

void* create_capture(Device) { return new Recording; }
void destroy_capture(void* capture) { delete &recording_of(capture); }
void enter_capture(void*) {}
void begin_capture(void* capture, bool) { recording_of(capture).begin(); }
CaptureResult end_capture(void* capture) { return recording_of(capture).end(); }
void place_capture(void* capture, TensorList results) { recording_of(capture).place(results); }
void begin_numbers(void* capture) { recording_of(capture).begin_numbers(); }
std::string end_numbers(void* capture) { return recording_of(capture).end_numbers(); }
void replay_capture(void* capture) { recording_of(capture).replay(); }

}  // namespace tandem::cpu
