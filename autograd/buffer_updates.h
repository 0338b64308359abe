// Updates of a module's buffers in forward that can be deferred and applied to the same buffers of another
// module.
//
// Running statistics are updated this way. A ParameterServer that computes its shards separately can
// therefore apply the updates of all shards in order: see parallel/parameter_server/.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Records update_buffers() calls instead of running them, on the thread where a BufferLogGuard is active.
class BufferLog {
 public:
  using Update = std::function<void(std::vector<Tensor>& buffers, const std::vector<Tensor>& values)>;

  /// Clears the log; from now on only updates of these buffers are recorded.
  void watch(std::vector<Tensor> buffers);
  /// From now on all updates are dropped.
  void discard() { discards_ = true; }
  /// Returns false, and records nothing, when one of `buffers` is not watched.
  bool add(const std::vector<Tensor>& buffers, const std::vector<Tensor>& values, Update update);
  /// Runs all recorded updates in order and clears the log. They are applied to `buffers`, which correspond
  /// one to one to the buffers of watch() and may be on another device.
  void replay(const std::vector<Tensor>& buffers);

  /// The log active on the calling thread, or nullptr.
  static BufferLog* current();

 private:
  struct Entry {
    std::vector<std::size_t> places;
    std::vector<Tensor> values;
    Update update;
  };
  std::vector<Tensor> watched_;
  std::vector<Entry> entries_;
  bool discards_ = false;
};

class BufferLogGuard {
 public:
  explicit BufferLogGuard(BufferLog* log);
  ~BufferLogGuard();
  BufferLogGuard(const BufferLogGuard&) = delete;
  BufferLogGuard& operator=(const BufferLogGuard&) = delete;

 private:
  BufferLog* previous_;
};

/// Runs update(buffers, values) without recording gradients: now, or later under a BufferLog. `buffers` are
/// registered buffers of the module, which `update` writes in place; `values` are results of this forward.
/// Because the update may be deferred, `update` must use no other tensor, `values` must not be written
/// afterwards, and the rest of forward must not depend on the updated buffers.
template <class F>
void update_buffers(std::vector<Tensor> buffers, const std::vector<Tensor>& values, F update) {
  const NoGradGuard no_grad;
  BufferLog* log = BufferLog::current();
  if (log == nullptr || !log->add(buffers, values, update)) update(buffers, values);
}

}  // namespace tandem::autograd
