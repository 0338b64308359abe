// Buckets: flat buffers that hold the gradients of consecutive parameters, and the order in which they are reduced.
// Used by all that sum gradients: over the replicas of a process, and over processes.
#pragma once
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {
class FlatParameters;
}

namespace tandem::parallel {

struct Bucket {
  Tensor buffer;                        // [n], of one dtype, on one device
  std::vector<std::size_t> parameters;  // from first to last in the order in which backward should reach them
  std::vector<Tensor> views;            // of the buffer, like the parameters; empty if it is a part of a flat buffer
  int64_t begin = 0;                    // of the buffer in the flat buffer that it is a part of
};

/// Where the gradient of a parameter is.
struct BucketPlace {
  std::size_t bucket = 0, index = 0;
};

/// count - 1 … 0: backward starts with the last parameters.
std::vector<std::size_t> backward_order(std::size_t count);
/// Groups the parameters, in the given order, by about `bytes` (the first group: `first_bytes`). Consecutive
/// parameters of one dtype and device share a group.
std::vector<std::vector<std::size_t>> group_parameters(const std::vector<Tensor>& parameters,
                                                       const std::vector<std::size_t>& order, int64_t first_bytes,
                                                       int64_t bytes);
/// Allocates a buffer of zeros for every group. Each parameter begins at a multiple of 64 bytes.
std::vector<Bucket> make_buckets(const std::vector<Tensor>& parameters, const std::vector<std::size_t>& order,
                                 int64_t first_bytes, int64_t bytes);
/// Cuts flat.grad() in this way, from its end, where backward starts, to its front.
std::vector<Bucket> cut_buckets(const nn::FlatParameters& flat, int64_t first_bytes, int64_t bytes);
std::vector<BucketPlace> places_of(const std::vector<Bucket>& buckets, std::size_t parameters);

/// Starts buckets in their order, each once all its gradients have arrived, whichever is complete first.
/// Not thread-safe.
class BucketQueue {
 public:
  void begin(const std::vector<Bucket>& buckets);
  void arrived(std::size_t bucket) { --missing_[bucket]; }
  /// Calls start(bucket) for complete buckets until one is incomplete.
  template <class Start>
  void start_complete(Start&& start) {
    while (next_ < missing_.size() && missing_[next_] == 0) start(next_++);
  }
  /// Calls it for all buckets that have not been started.
  template <class Start>
  void start_all(Start&& start) {
    while (next_ < missing_.size()) start(next_++);
  }
  /// Buckets 0 … started() - 1 have been started.
  std::size_t started() const { return next_; }
  bool all_started() const { return next_ == missing_.size(); }

 private:
  std::vector<std::size_t> missing_;
  std::size_t next_ = 0;
};

/// Which gradients one replica of a ParameterServer has. A parameter may receive several until its bucket is complete.
/// Not thread-safe.
class ReplicaArrivals {
 public:
  void begin(const std::vector<Bucket>& buckets);
  /// Before a gradient is accumulated. Throws Error if the parameter's bucket is complete:
  /// another thread may be sending it.
  void arriving(std::size_t parameter) const;
  /// Afterwards. Calls start(bucket) for buckets that are complete, in their order.
  template <class Start>
  void arrived(std::size_t parameter, Start&& start) {
    if (std::exchange(seen_[parameter], 1)) return;
    queue_.arrived(places_[parameter].bucket);
    queue_.start_complete(start);
  }
  /// Calls it for all other buckets.
  template <class Start>
  void start_all(Start&& start) {
    queue_.start_all(start);
  }

 private:
  BucketQueue queue_;
  std::vector<BucketPlace> places_;  // by parameter
  std::vector<char> seen_;           // by parameter
};

}  // namespace tandem::parallel
