// A replica of a ParameterServer: its module, its flat parameters and gradients, and their transfers.
#pragma once
#include <memory>
#include <vector>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/core/stream.h"
#include "tandem/nn/flat.h"
#include "tandem/parallel/buckets.h"
#include "tandem/parallel/gradient_hooks.h"
#include "tandem/parallel/group_sum.h"
#include "tandem/parallel/server_core.h"
#include "tandem/parallel/tree_sum.h"

namespace tandem::parallel {

/// Whether a host thread of `a` can read the memory of `b`, so that no copy is needed.
inline bool reads_directly(Device a, Device b) { return a == b || (a.is_cpu() && b.is_cpu()); }
/// Copies flat buffers of equal size and dtype between any two devices, in stream order.
void copy_flat(const Tensor& to, const Tensor& from);

/// Copies from one device to another on dedicated streams, concurrently with the devices' computation, which
/// waits only where it needs the result. Each device's buffer must outlive the channel.
class Channel {
 public:
  Channel(Device from, Device to);
  ~Channel();
  /// Queues a copy behind the work submitted to `from` so far.
  void send(const Tensor& to, const Tensor& from);
  /// Makes work submitted to the receiver from now on wait for everything sent.
  void receive();
  /// Makes later sends wait for the work submitted to the receiver so far.
  void free_receiver();
  /// Makes work submitted to the sender from now on wait for everything sent.
  void free_sender();

 private:
  Stream source_, target_;
  Event source_event_, target_event_;
};

/// Time since the last call, optionally measured after the device has finished its work.
class PhaseClock {
 public:
  PhaseClock(Device device, bool synchronize);
  double lap();

 private:
  Device device_;
  bool synchronize_;
  double last_;
};

/// The buffers of a replica while it computes shards; each shard starts with their values before the step.
class ShardBuffers {
 public:
  /// Call before the first shard, once the buffers of `net` have their values.
  void begin(const nn::Module& net);
  /// The log to use in the forward of a shard.
  autograd::BufferLog* log() { return buffers_.empty() ? nullptr : &log_; }
  /// Call after each shard: keeps what it wrote and restores the initial values.
  void end_shard();
  /// Restores the initial values after a shard that failed.
  void restore();
  /// Copies into each buffer the value from the last shard of this replica that wrote it.
  void copy_written(const std::vector<Tensor>& buffers) const;
  /// Whether a shard of this replica wrote buffer k directly.
  bool wrote(std::size_t k) const { return k < written_.size() && written_[k].defined(); }
  void replay(const std::vector<Tensor>& buffers) { log_.replay(buffers); }

 private:
  struct Stamp {
    const void* data = nullptr;
    uint32_t version = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp(const Tensor& t) { return {t.data_ptr(), t._version()}; }
  std::vector<Tensor> buffers_, initial_, written_;
  std::vector<Stamp> stamps_;  // stamps of the buffers while they equal initial_
  autograd::BufferLog log_;
};

struct ServerReplica {
  ServerReplica(Device device, std::shared_ptr<nn::Module> net);

  /// Copies parameters and, if `buffers`, buffers of `from`.
  void take_from(const ServerReplica& from, bool buffers);
  void copy_buffers(const ServerReplica& from);
  /// Throws Error when the module's parameters are no longer those of construction.
  void check_unchanged() const;
  /// Grows whenever a parameter is written.
  uint64_t stamp() const;
  /// From now on sends the parts of flat.grad() that `buckets` are to the same places in `inbox`,
  /// each when it is complete.
  void send_by(const std::vector<Bucket>& buckets, const Tensor& inbox);
  void begin_sending();
  /// Call before and after the server reads the inbox.
  void before_reading();
  void after_reading();
  /// Call before writing gradients: orders the writes after the previous transfers.
  void await_sent();
  /// Sends the buckets that no hook has sent.
  void end_sending();
  void forget_gradients();
  /// Makes each .grad() a view of flat.grad(), which keeps its values.
  void look_at_gradients();
  /// Registers a hook on each parameter that moves the gradient of a shard into `tree` as soon as it arrives.
  void collect_into_tree();
  /// Registers a hook on each parameter that reports to `sum`, while `summing`, that this replica has its gradient.
  void tell(GroupSum& sum, std::size_t number);
  /// flat.grad() and each parameter's view of it.
  FlatSum gradients() const;

  const Device device;
  const std::shared_ptr<nn::Module> net;
  const std::vector<Tensor> parameters;  // all
  nn::FlatParameters flat;               // the trainable ones
  std::vector<int64_t> offsets;
  TreeSum tree;
  ShardBuffers shard_buffers;
  uint64_t fetched = ~uint64_t{0};  // stamp of the root at the last fetch
  bool has_gradient = false;
  bool adding_shard = false;  // its backward runs, and `tree` expects the gradients
  bool summing = false;       // its backward runs, and the sum over processes expects the gradients
  DeviceTimings timings;

 private:
  void send(const Bucket& bucket);
  std::vector<Bucket> buckets_;
  ReplicaArrivals arrivals_;
  Tensor inbox_;
  std::unique_ptr<Channel> channel_;
  bool sending_ = false;
  GradientHooks hooks_;
};

}  // namespace tandem::parallel
