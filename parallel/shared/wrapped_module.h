// The `Module` interface of a wrapper: parameters, buffers, children and state are the wrapped module's.
#pragma once
#include <memory>
#include <string>

#include "tandem/nn/module.h"

namespace tandem::parallel {

/// Base of DataParallel and DistributedDataParallel. Its state dict has no prefix.
class WrappedModule : public nn::Module {
 public:
  using IsWrapper = void;  // places of errors begin with the wrapped module
  /// `wrapper`: the name of the wrapper, for messages. Throws Error if `module` is empty.
  WrappedModule(const char* wrapper, std::shared_ptr<nn::Module> module);
  ~WrappedModule() override;

  void train(bool on = true) override;
  void to(Device device, ScalarType dtype, bool non_blocking = false) override;
  void to(ScalarType dtype, bool non_blocking = false) override;
  void to(Device device, bool non_blocking = false) override;
  void to(MemoryFormat format) override;
  void zero_grad(bool set_to_none = true) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  bool is_serializable() const override;

 protected:
  const std::shared_ptr<nn::Module>& wrapped() const { return wrapped_; }

 private:
  std::shared_ptr<nn::Module> wrapped_;
};

}  // namespace tandem::parallel
