// A replica of a ParameterServer: its module, its flat parameters and gradients, and how these travel.
#pragma once
#include <memory>
#include <vector>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/core/stream.h"
#include "tandem/nn/flat.h"
#include "tandem/parallel/server_core.h"
#include "tandem/parallel/tree_sum.h"

namespace tandem::parallel {

/// Whether a host thread of `a` can read the memory of `b`: then no copy stands between them.
inline bool reads_directly(Device a, Device b) { return a == b || (a.is_cpu() && b.is_cpu()); }
/// Copies flat buffers of one size and dtype between any two devices, in the order of their streams.
void copy_flat(const Tensor& to, const Tensor& from);

/// Copies from one device to another on streams of their own: beside what the devices compute, which nothing
/// stops until it needs the result. Each device's buffer must outlive the channel.
class Channel {
 public:
  Channel(Device from, Device to);
  ~Channel();
  /// Behind what `from` has been given so far.
  void send(const Tensor& to, const Tensor& from);
  /// What the receiver is given from now on finds all that was sent.
  void receive();
  /// What is sent from now on comes behind what the receiver has been given so far.
  void free_receiver();
  /// What the sender is given from now on comes behind all that was sent.
  void free_sender();

 private:
  Stream source_, target_;
  Event source_event_, target_event_;
};

/// Time since the last call; where asked, after the device has ended its work.
class PhaseClock {
 public:
  PhaseClock(Device device, bool synchronize);
  double lap();

 private:
  Device device_;
  bool synchronize_;
  double last_;
};
double seconds_now();

/// Parts of a flat buffer that are sent on their own, from its end, where backward begins, to its front.
struct Buckets {
  struct Part {
    int64_t begin, end;
    int parameters;
  };
  std::vector<Part> parts;
  std::vector<std::size_t> part_of;  // by parameter
  /// Throws nothing; fewer than `count` where parameters are fewer.
  static Buckets cut(const nn::FlatParameters& flat, int count);
};

/// The buffers of a replica while it computes shards: each shard begins with what they held before the step.
class ShardBuffers {
 public:
  /// Before the first shard; the buffers of `net` have their values.
  void begin(const nn::Module& net);
  /// For the forward of a shard.
  autograd::BufferLog* log() { return buffers_.empty() ? nullptr : &log_; }
  /// After each shard: keeps what it wrote, and puts back what was there.
  void end_shard();
  /// What was there, after a shard that failed.
  void restore();
  /// The values that the last shard to write buffer k left there, of the shards of this replica.
  void copy_written(const std::vector<Tensor>& buffers) const;
  void replay(const std::vector<Tensor>& buffers) { log_.replay(buffers); }

 private:
  struct Stamp {
    const void* data = nullptr;
    uint32_t version = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp(const Tensor& t) { return {t.data_ptr(), t._version()}; }
  std::vector<Tensor> buffers_, initial_, written_;
  std::vector<Stamp> stamps_;  // of the buffers when they were those of initial_
  autograd::BufferLog log_;
};

struct Replica {
  Replica(Device device, std::shared_ptr<nn::Module> net);
  ~Replica();

  /// Parameters, modes and (if `buffers`) buffers of `from`.
  void take_from(const Replica& from, bool buffers);
  void copy_modes(const Replica& from);
  void copy_buffers(const Replica& from);
  /// Throws Error when the module's parameters are no longer those of the beginning.
  void check_unchanged() const;
  /// Grows whenever a parameter is written.
  uint64_t stamp() const;
  /// A gradient hook on each parameter, which sends full buckets to `inbox`.
  void send_by(const Buckets& buckets, const Tensor& inbox);
  void begin_sending() noexcept;
  /// Around the server's reading of the inbox.
  void before_reading();
  void after_reading();
  /// Before gradients are written: what was sent of the last ones has left.
  void await_sent();
  /// Sends what no hook has.
  void end_sending();
  void forget_gradients();
  /// Each .grad() a view of flat.grad(), which stays as it is.
  void look_at_gradients();

  const Device device;
  const std::shared_ptr<nn::Module> net;
  const std::vector<Tensor> parameters;  // all
  nn::FlatParameters flat;               // those that need gradients
  std::vector<int64_t> offsets;
  TreeSum tree;
  ShardBuffers shard_buffers;
  uint64_t fetched = ~uint64_t{0};  // the root's stamp
  bool has_gradient = false;
  DeviceTimings timings;

 private:
  void send_ready(bool all);
  const Buckets* buckets_ = nullptr;
  Tensor inbox_;
  std::unique_ptr<Channel> channel_;
  std::vector<unsigned> hooks_;  // by parameter
  std::vector<int> missing_;     // parameters without a gradient yet, by bucket
  std::size_t sent_ = 0;
  bool sending_ = false;
};

}  // namespace tandem::parallel
