// The parameters of a unit that share a dtype, as one flat buffer of which each rank keeps a slice. Internal to
// FullyShardedDataParallel.
//
// A part that rounds may be gathered in a half type: ranks round their slices and send those. Its parameters then have
// this dtype, and so do their gradients, which are widened before they are added.
#pragma once
#include <memory>
#include <string>
#include <unordered_set>
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
  /// the flat buffer while it is gathered, and otherwise are empty, with as many dimensions, or one. Only float32
  /// parameters may be rounded.
  FlatPart(std::vector<std::pair<std::string, Tensor>> parameters, std::shared_ptr<ProcessGroup> group,
           bool rounds = false);
  ~FlatPart();
  FlatPart(const FlatPart&) = delete;
  FlatPart& operator=(const FlatPart&) = delete;

  const std::vector<Place>& places() const { return places_; }
  bool trains() const { return slice_.requires_grad(); }
  /// [n], a leaf. Gaps are zero.
  const Tensor& slice() const { return slice_; }
  bool rounds() const { return half_ != nullptr; }
  /// Of the buffer, [n·P], in the dtype of gathers.
  const Storage& whole() const { return is_rounded() ? half_ : whole_; }
  /// Calls f for the buffers of all dtypes.
  template <class F>
  void for_buffers(const F& f) const {
    f(*whole_);
    if (rounds()) f(*half_);
  }
  int64_t size() const { return slice_.numel() * group_->size(); }
  /// Throws Error if a parameter has been replaced, converted, moved, frozen or unfrozen.
  void check_unchanged() const;

  // ---- values
  /// The dtype of gathers from now on: that of autocast if the part rounds to it, otherwise the slice's. The buffer must
  /// be released.
  void use_autocast(optional<ScalarType> dtype);
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
  /// .grad() of parameter i, which stays for later passes, gets the dtype of the slice.
  void widen_gradient(std::size_t i);
  /// Starts the sum of the gradients that were taken, and of .grad() of the other parameters, zeros if it is undefined;
  /// gives them up. They are copied to a flat buffer, so call it when the values have been released.
  void start_reduction();
  /// Adds the mean to the gradient of the slice.
  void finish_reduction();

 private:
  void attach(bool on);
  bool is_rounded() const { return dtype_ != slice_.dtype(); }

  std::shared_ptr<ProcessGroup> group_;
  std::vector<Place> places_;
  Tensor slice_;
  Storage whole_, half_;
  ScalarType dtype_;  // of gathers
  WorkPtr gather_, reduction_;
  bool gathered_ = false;
  int64_t seen_ = 0;   // the slice's version at the last gather
  Tensors gradients_;  // by parameter
  Tensor mean_;
};

/// A part for each dtype among the trained parameters and among the frozen ones, and others for those that may be
/// rounded.
std::vector<std::unique_ptr<FlatPart>> cut_parameters(std::vector<std::pair<std::string, Tensor>> parameters,
                                                      const std::shared_ptr<ProcessGroup>& group,
                                                      const std::unordered_set<const TensorImpl*>& rounded = {});

}  // namespace tandem::distributed
