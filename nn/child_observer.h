// Told of modules that become children and of initial values, while a model is built. Internal to
// FullyShardedDataParallel.
#pragma once
#include <functional>
#include <memory>

namespace tandem {
class Tensor;
}
namespace tandem::nn {
class Module;
}

namespace tandem::nn::detail {

class ChildObserver {
 public:
  /// From now on `this` is told of the modules of this thread; observers nest.
  ChildObserver();
  virtual ~ChildObserver();
  ChildObserver(const ChildObserver&) = delete;
  ChildObserver& operator=(const ChildObserver&) = delete;
  /// The innermost one of this thread, or null.
  static ChildObserver* current();
  /// `child`, whose constructor has returned, has been registered in `parent`.
  virtual void added(const Module& parent, Module& child) = 0;
  /// Calls `set`, with which nn::init gives a tensor its values, while the tensor is whole.
  virtual void initialise(const Tensor& tensor, const std::function<void()>& set) = 0;

 private:
  ChildObserver* const outer_;
};

}  // namespace tandem::nn::detail
