// When units are gathered, freed and reduced. Internal to FullyShardedDataParallel.
//
// A unit is gathered before its forward, and freed afterwards. In backward the first saved tensor that lies in its
// buffer, or a gradient of its output, gathers it again; it is freed, and its gradients are sent, once all of them have
// arrived. Gathers follow the program, reductions the reverse order of forward, so all ranks that run the same graph
// make the same calls.
//
// Memory of a rank, beyond its slices and in units that do not contain others, whose values and gradients take 1 each:
//   forward              1, and 1 for the next unit
//   backward             1 for the values, at most 1 for the gradients that have arrived, and 1 more: first for the
//                        gradients of the unit before, which are on their way, and after half of the gradients have
//                        arrived, for the values of the next unit
//   between two units    2 for the gradients, which are copied to a flat buffer, and 1 for the values of the next unit
// So there are 3 at most, or 2 if communication does not overlap with computation, and what reduce_scatter receives at
// a time. Values that are gathered in a half type, and their gradients until they are copied, take half as much. The
// root's values are kept in forward, and released in backward once a unit is reached, unless an earlier pass has needed
// them again.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/nn/hooks.h"
#include "tandem/parallel/fully_sharded/flat_part.h"
#include "tandem/parallel/fully_sharded/unit_plan.h"
#include "tandem/parallel/shared/gradient_hooks.h"

namespace tandem::distributed {

struct ShardedUnit {
  std::string name;
  std::shared_ptr<nn::Module> module;            // null for the root
  std::vector<std::unique_ptr<FlatPart>> parts;  // may be none for the root

  int64_t trained_elements = 0;
  std::size_t missing = 0;  // gradients of the running pass that have not arrived
  int64_t expected = 0;     // their elements
  int active = 0;           // calls of forward that have not returned
  bool is_gathered() const;
  bool trains() const;
};

/// The order in which units were gathered, to foretell the next one.
class GatherOrder {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// Begins again from the front.
  void begin();
  /// Returns the unit that came after this one last time, or kNone.
  std::size_t visit(std::size_t unit);
  const std::vector<std::size_t>& units() const { return now_; }

 private:
  std::vector<std::size_t> last_, now_;
};

class UnitSchedule : public std::enable_shared_from_this<UnitSchedule> {
 public:
  UnitSchedule(std::vector<ShardedUnit> units, std::shared_ptr<ProcessGroup> group, bool reshard_after_forward,
               bool overlap);
  ~UnitSchedule();
  UnitSchedule(const UnitSchedule&) = delete;
  UnitSchedule& operator=(const UnitSchedule&) = delete;
  /// Registers the hooks.
  void start();

  const std::vector<ShardedUnit>& units() const { return units_; }

  /// Called when a gradient has arrived in a pass that does not average; null: it stays.
  using Collector = std::function<void(std::size_t unit, std::size_t part, std::size_t place)>;
  void set_collector(Collector collector) { collector_ = std::move(collector); }

  // ---- around forward of the root. `reduces`: whether the next pass averages its gradients.
  /// Returns whether this is a step's first forward, not one that backward runs again. Throws if an earlier step failed.
  bool begin_forward(bool reduces);
  void gather_root();
  void end_forward(const Tensors& outputs);
  /// For handlers: aborts the group.
  void forward_failed() noexcept;

  /// For one unit at a time, outside of forward and backward: gathers its values.
  template <class F>
  void with_whole(std::size_t unit, const F& f) {
    check_usable();
    release_all();
    use_autocast(nullopt);
    for (const auto& part : units_[unit].parts) part->start_gather();
    for (const auto& part : units_[unit].parts) part->finish_gather();
    f(units_[unit]);
    release_all();
    use_autocast(recorded_);
  }

 private:
  struct PassEnd;
  struct Trained {
    std::size_t unit, part, place;
  };

  void check_usable() const;
  void start_gather(std::size_t unit);
  void gather(std::size_t unit, GatherOrder& order);
  void release(std::size_t unit);
  void release_all();
  void use_autocast(optional<ScalarType> dtype);

  void before_forward(std::size_t unit);
  Tensor after_forward(std::size_t unit, const Tensor& output);
  /// Backward needs the unit's values.
  void need(std::size_t unit);
  /// Backward has come to the unit's output. No operation is running.
  void reach(std::size_t unit);
  void begin_pass();
  void arriving(std::size_t parameter);
  void arrived(std::size_t parameter);
  void start_complete();
  void start_reduction(std::size_t unit);
  void finish_reduction();
  void gather_ahead();
  void end_pass();
  void fail(const std::exception_ptr& error, const char* unknown) noexcept;
  /// Calls it; what it throws fails the group.
  template <class F>
  void in_backward(const F& f);

  std::vector<ShardedUnit> units_;
  std::shared_ptr<ProcessGroup> group_;
  const bool reshard_after_forward_, overlap_;
  DeviceType device_ = kCPU;
  std::vector<Trained> trained_;
  parallel::GradientHooks gradient_hooks_;
  std::vector<nn::HookHandle> forward_hooks_;

  GatherOrder forward_, backward_;
  std::vector<std::size_t> reductions_;            // units in the order of their reductions
  std::size_t depth_ = 0;                          // how many passes forward ran in
  optional<ScalarType> forward_dtype_, recorded_;  // of autocast in this forward, and in the last one that was recorded
  bool reduces_ = true;
  Collector collector_;
  bool awaited_ = false;     // a forward was recorded, and no pass has ended since
  bool keeps_root_ = false;  // a pass has needed the root after the units

  // ---- of a backward pass
  bool passing_ = false, any_arrived_ = false;
  bool left_root_ = false;
  std::size_t started_ = 0;                    // of reductions_
  std::size_t reducing_ = GatherOrder::kNone;  // the unit whose reduction is on its way
  std::size_t ahead_ = GatherOrder::kNone;     // the unit to gather when that is done
  std::exception_ptr failure_;
};

}  // namespace tandem::distributed
