// What step() of the optimizers shares: parameters gathered in lists for one kernel call.
#pragma once
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/optim.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

/// Parameters with their gradients and up to three state tensors each, cleared and filled again every step
/// without allocating. A kernel call takes those of one backend and one step count.
struct Batch {
  std::vector<Tensor> params, grads, first, second, third;
  const FlatGradients* flat = nullptr;  ///< of step_with
  int64_t step = 0;
  DeviceType device = kCPU;

  bool empty() const { return params.empty(); }
  Gradients gradients() const {
    return flat == nullptr ? Gradients(grads) : Gradients(grads, flat->own, flat->others);
  }
  /// Whether a parameter at this step count must go to another call.
  bool takes(const Tensor& p, int64_t at_step) const {
    return empty() || (at_step == step && p.device().type() == device);
  }
  void clear();
};

/// The batch of this thread, empty.
Batch& thread_batch();

/// Whether `p` has a gradient to be used. Throws Error when it is of another shape, dtype or device.
bool has_gradient(const char* optimizer, const Tensor& p);
/// `state` of p: zeros of its shape when undefined, else on p's device in p's dtype.
void ensure_state(Tensor& state, const Tensor& p);
/// Adds p and its gradient: themselves, or contiguous copies that put_back writes back.
void add(Batch& batch, const Tensor& p);
/// After the kernel: values of parameters that were copied, and the version of all.
void put_back(const Batch& batch, const Tensor* originals, std::size_t count, const char* optimizer);

/// Runs the closure with recording on.
Tensor run_closure(const LossClosure& closure);
void check_not_negative(const char* what, double value);
void check_unit(const char* what, double value);

/// Steps each parameter of a group: `prepare(p)` makes p's state ready, adds it to the lists and gives p's
/// step count before it; `kernel(batch)` runs once a set of parameters of one step count.
template <class Count, class Prepare, class Run>
void for_batches(const StepCall& call, const std::vector<Tensor>& params, const Count& count,
                 const Prepare& prepare, const Run& run) {
  Batch& batch = thread_batch();
  batch.flat = call.flat;
  std::size_t begin = 0;  // params[begin …) may be in the batch
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
