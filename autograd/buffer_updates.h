// Updates of a module's buffers in forward that may be done later, on the same buffers of another module.
//
// Running statistics go by this way. So a ParameterServer whose shards are computed apart can do the updates
// of all shards one after the other: see parallel/parameter_server.h.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Notes what update_buffers() is asked for instead of doing it, on the thread where a BufferLogGuard stands.
class BufferLog {
 public:
  using Update = std::function<void(std::vector<Tensor>& buffers, const std::vector<Tensor>& values)>;

  /// Forgets what is noted, and notes updates of these buffers alone from now on.
  void watch(std::vector<Tensor> buffers);
  /// False when one of `buffers` is not watched: then nothing is noted.
  bool add(const std::vector<Tensor>& buffers, const std::vector<Tensor>& values, Update update);
  /// Does all of it in order, on `buffers`, which stand for those of watch() one by one and may lie on
  /// another device, and forgets it.
  void replay(const std::vector<Tensor>& buffers);

  /// That of the calling thread, or nullptr.
  static BufferLog* current();

 private:
  struct Entry {
    std::vector<std::size_t> places;
    std::vector<Tensor> values;
    Update update;
  };
  std::vector<Tensor> watched_;
  std::vector<Entry> entries_;
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

/// update(buffers, values), unrecorded: now, or later under a BufferLog. `buffers` are registered buffers of
/// the module, which `update` writes in place; `values` what this forward has computed. So `update` uses no
/// other tensor, nobody writes `values` afterwards, and the rest of forward does without the new contents.
template <class F>
void update_buffers(std::vector<Tensor> buffers, const std::vector<Tensor>& values, F update) {
  const NoGradGuard no_grad;
  BufferLog* log = BufferLog::current();
  if (log == nullptr || !log->add(buffers, values, update)) update(buffers, values);
}

}  // namespace tandem::autograd
