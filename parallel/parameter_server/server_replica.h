// A replica of a ParameterServer: its module, its flat parameters and gradients, and their copies.
#pragma once
#include <memory>
#include <vector>

#include "tandem/nn/flat.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/parameter_server/server_core.h"
#include "tandem/parallel/shared/gradient_hooks.h"

namespace tandem::parallel {

/// Whether a host thread of `a` can read the memory of `b`, so that no copy is needed.
inline bool reads_directly(Device a, Device b) { return a == b || (a.is_cpu() && b.is_cpu()); }
/// `from` as a tensor on `device`; if `device` can read its memory, a view that keeps the storage alive.
Tensor seen_from(Device device, const Tensor& from);
/// Copies flat buffers of equal size and dtype between any two devices, in stream order.
void copy_flat(const Tensor& to, const Tensor& from);

struct ServerReplica {
  ServerReplica(Device device, std::shared_ptr<nn::Module> net);

  /// Copies parameters and, if `buffers`, buffers of `from`.
  void take_from(const ServerReplica& from, bool buffers);
  void copy_buffers(const ServerReplica& from);
  /// Throws Error when the module's parameters have changed since construction.
  void check_unchanged() const;
  /// Grows whenever a parameter is written.
  uint64_t stamp() const;
  /// From now on calls arriving(i) before parameter i receives a gradient and arrived(i) afterwards, while `reports`.
  void report_gradients(GradientHooks::Callback arrived, GradientHooks::Callback arriving);
  /// Whether .grad() of the parameters counts.
  bool has_gradient() const { return flat.parameters()[0].grad().defined(); }
  void forget_gradients();

  const Device device;
  const std::shared_ptr<nn::Module> net;
  const std::vector<Tensor> parameters;  // all
  nn::FlatParameters flat;               // the trainable ones
  uint64_t fetched = ~uint64_t{0};       // stamp of the root at the last fetch
  bool reports = false;                  // a backward pass runs whose gradients the server expects one by one
  DeviceTimings timings;

 private:
  GradientHooks hooks_;
};

}  // namespace tandem::parallel
