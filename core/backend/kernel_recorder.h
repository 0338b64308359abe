// KernelRecorder: an object that is told of every kernel that a thread calls, such as an export of the computation. All
// operations, composed ones included, are sequences of such calls; views are in the geometry of their arguments.
//
// Only the thread's own calls are reported, each before it runs: kernels that another kernel calls are a part of it.
// While no thread records and no profile is running, this costs nothing (profiler::is_on()).
#pragma once
#include <cstddef>
#include <cstdint>
#include <typeinfo>

namespace tandem {

class Tensor;

/// A kernel's arguments without their types: values[i] points to an object of the type *types[i], without reference and
/// const.
struct KernelCall {
  const char* name;
  const std::type_info* const* types;
  const void* const* values;
  std::size_t count;
  const void* kernel;  ///< the KernelFunction, which is in a backend's table; names are shared
  /// Calls the kernel with other values of the same types; null if it returns something.
  void (*run)(const void* kernel, const void* const* values);

  /// nullptr unless argument `i` exists and is a T.
  template <class T>
  const T* argument(std::size_t i) const {
    return i < count && *types[i] == typeid(T) ? static_cast<const T*>(values[i]) : nullptr;
  }
};

class KernelRecorder {
 public:
  /// An exception leaves the operation that calls the kernel.
  virtual void called(const KernelCall& call) = 0;
  /// `reader` ("item") is about to give an element of `t` to the program, which may depend on it from here on.
  virtual void read_on_host(const Tensor& t, const char* reader) = 0;

 protected:
  ~KernelRecorder() = default;
};

/// Takes kernel calls of a thread, to run them later.
class KernelQueue {
 public:
  /// Whether the call was taken. An exception leaves the operation that calls the kernel.
  virtual bool take(const KernelCall& call) = 0;
  /// The call that was not taken has ended.
  virtual void resume() noexcept = 0;
  /// The reader ("item") is about to give an element of the tensor to the program.
  virtual void read_on_host(const Tensor&, const char*) {}

 protected:
  ~KernelQueue() = default;
};

/// In its scope, a recorder is told of this thread's calls; a queue is offered them unless a recorder is told. The
/// innermost scope counts.
template <class Watcher>
class WatchKernels {
 public:
  explicit WatchKernels(Watcher& watcher);
  ~WatchKernels();
  WatchKernels(const WatchKernels&) = delete;
  WatchKernels& operator=(const WatchKernels&) = delete;

 private:
  Watcher* const outer_;
  const uint32_t process_;
};
using RecordKernels = WatchKernels<KernelRecorder>;
using QueueKernels = WatchKernels<KernelQueue>;

namespace detail {

/// Whether this thread's queue has taken the call.
bool queued(const KernelCall& call);

/// In its scope, this thread's calls are neither reported nor queued.
class PauseRecorder {
 public:
  PauseRecorder() noexcept;
  ~PauseRecorder();
  PauseRecorder(const PauseRecorder&) = delete;
  PauseRecorder& operator=(const PauseRecorder&) = delete;
  /// The recorder that is paused, or nullptr.
  KernelRecorder* recorder() const { return recorder_; }
  KernelQueue* queue() const { return queue_; }

 private:
  KernelRecorder* const recorder_;
  KernelQueue* const queue_;
};

/// Tells the thread's recorder, or its queue, if there is one.
void note_host_read(const Tensor& t, const char* reader);

}  // namespace detail
}  // namespace tandem
