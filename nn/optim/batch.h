// Shared parts of the optimizers' step(): parameters are gathered in lists for one kernel call.
#pragma once
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/optim.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

/// Parameters with their gradients and up to three state tensors each. Every step clears and refills the
/// lists without allocating. One kernel call handles parameters of one backend and one step count.
struct Batch {
  std::vector<Tensor> params, grads, first, second, third;
  const FlatGradients* flat = nullptr;  ///< set within step_with
  int64_t step = 0;
  DeviceType device = kCPU;

  bool empty() const { return params.empty(); }
  Gradients gradients() const {
    return flat == nullptr ? Gradients(grads) : Gradients(grads, flat->own, flat->others);
  }
  /// Whether this parameter fits into the current kernel call: same step count and device type.
  bool takes(const Tensor& p, int64_t at_step) const {
    return empty() || (at_step == step && p.device().type() == device);
  }
  void clear();
};

/// This thread's batch, emptied.
Batch& thread_batch();

/// Whether `p` has a gradient to use. Throws Error when its shape, dtype or device differs from p's.
bool has_gradient(const char* optimizer, const Tensor& p);
/// Creates the state of p as zeros if undefined, otherwise converts it to p's device and dtype.
void ensure_state(Tensor& state, const Tensor& p);
/// Adds p and its gradient: the tensors themselves, or contiguous copies, which put_back writes back.
void add(Batch& batch, const Tensor& p);
/// After the kernel: copies back the parameters that were copied, and bumps the version of all.
void put_back(const Batch& batch, const Tensor* originals, std::size_t count, const char* optimizer);

/// Runs the closure with gradient recording enabled.
Tensor run_closure(const LossClosure& closure);
void check_not_negative(const char* what, double value);
void check_unit(const char* what, double value);

/// Steps each parameter of a group. `count(p)` returns p's step count, `prepare(p, batch)` creates p's state
/// and adds it to the lists, and `run(batch)` is called once per set of parameters with equal step counts.
template <class Count, class Prepare, class Run>
void for_batches(const StepCall& call, const std::vector<Tensor>& params, const Count& count,
                 const Prepare& prepare, const Run& run) {
  Batch& batch = thread_batch();
  batch.flat = call.flat;
  std::size_t begin = 0;  // parameters from here on may be in the batch
  const auto flush = [&](std::size_t end) {
    if (!batch.empty()) {
      run(batch);
      put_back(batch, params.data() + begin, end - begin, call.optimizer);
      batch.clear();
    }
    begin = end;
  };
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    if (!has_gradient(call.optimizer, p)) continue;
    const int64_t step = count(p);
    if (!batch.takes(p, step)) flush(i);
    batch.step = step;
    batch.device = p.device().type();
    add(batch, p);
    prepare(p, batch);
  }
  flush(params.size());
}

}  // namespace tandem::optim
