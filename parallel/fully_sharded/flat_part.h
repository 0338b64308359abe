// The parameters of a unit that share a dtype, as one flat buffer of which each rank keeps a slice. Internal to
// FullyShardedDataParallel.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

class FlatPart {
 public:
  static constexpr int64_t kAlignment = 16;  // elements; parameters and slices begin at multiples

  struct Place {
    std::string name;
    Tensor parameter;
    Dims sizes, strides;  // while it is gathered; otherwise it is empty
    int64_t offset = 0;   // in the buffer
    int64_t numel = 0;
  };

  /// Takes the values of the parameters, which share a dtype, a device and requires_grad. From now on they are views of
  /// the flat buffer while it is gathered, and otherwise are empty, with as many dimensions, or one.
  FlatPart(std::vector<std::pair<std::string, Tensor>> parameters, std::shared_ptr<ProcessGroup> group);
  ~FlatPart();
  FlatPart(const FlatPart&) = delete;
  FlatPart& operator=(const FlatPart&) = delete;

  const std::vector<Place>& places() const { return places_; }
  bool trains() const { return slice_.requires_grad(); }
  /// [n], a leaf. Gaps are zero.
  const Tensor& slice() const { return slice_; }
  /// Of the buffer, [n·P].
  const Storage& whole() const { return whole_; }
  int64_t size() const { return slice_.numel() * group_->size(); }
  /// Throws Error if a parameter has been replaced, converted, moved, frozen or unfrozen.
  void check_unchanged() const;

  // ---- values
  bool is_gathered() const { return gathered_; }
  /// Does nothing if the buffer is gathered or on its way.
  void start_gather();
  /// Waits for it. If it throws, the group has failed.
  void finish_gather();
  /// Keeps the values of the gathered buffer, which have been changed on all ranks alike.
  void take_values();
  /// Frees the buffer, waiting for it first if it is on its way.
  void release();

  // ---- gradients
  bool has_gradient(std::size_t i) const { return gradients_[i].defined(); }
  /// Keeps .grad() of parameter i for the next reduction, and resets it.
  void take_gradient(std::size_t i);
  /// Starts the sum of the gradients that were taken, and of .grad() of the other parameters, zeros if it is undefined;
  /// gives them up. They are copied to a flat buffer, so call it when the values have been released.
  void start_reduction();
  /// Adds the mean to the gradient of the slice.
  void finish_reduction();

 private:
  void attach(bool on);

  std::shared_ptr<ProcessGroup> group_;
  std::vector<Place> places_;
  Tensor slice_;
  Storage whole_;
  WorkPtr gather_, reduction_;
  bool gathered_ = false;
  int64_t seen_ = 0;   // the slice's version at the last gather
  Tensors gradients_;  // by parameter
  Tensor mean_;
};

/// A part for each dtype among the trained parameters and among the frozen ones.
std::vector<std::unique_ptr<FlatPart>> cut_parameters(std::vector<std::pair<std::string, Tensor>> parameters,
                                                      const std::shared_ptr<ProcessGroup>& group);

}  // namespace tandem::distributed
