#include "tandem/parallel/shared/wrapped_module.h"

namespace tandem::parallel {
namespace {

const nn::Module& checked(const char* wrapper, const std::shared_ptr<nn::Module>& module) {
  check(module != nullptr, wrapper, ": the module is empty");
  return *module;
}

}  // namespace

// Copying the Module shares its parameters, buffers and children.
WrappedModule::WrappedModule(const char* wrapper, std::shared_ptr<nn::Module> module)
    : nn::Module(checked(wrapper, module)), wrapped_(std::move(module)) {
  if (const auto& hooks = forward_hooks()) {  // hooks of the wrapped module run around its own forward
    hooks->pre.clear();
    hooks->post.clear();
  }
}
WrappedModule::~WrappedModule() = default;

void WrappedModule::train(bool on) {
  wrapped_->train(on);
  nn::Module::train(on);
}
void WrappedModule::to(Device device, ScalarType dtype, bool non_blocking) {
  wrapped_->to(device, dtype, non_blocking);
}
void WrappedModule::to(ScalarType dtype, bool non_blocking) { wrapped_->to(dtype, non_blocking); }
void WrappedModule::to(Device device, bool non_blocking) { wrapped_->to(device, non_blocking); }
void WrappedModule::to(MemoryFormat format) { wrapped_->to(format); }
void WrappedModule::zero_grad(bool set_to_none) { wrapped_->zero_grad(set_to_none); }
void WrappedModule::save(serialize::OutputArchive& archive) const { wrapped_->save(archive); }
void WrappedModule::load(serialize::InputArchive& archive) { wrapped_->load(archive); }
bool WrappedModule::is_serializable() const { return wrapped_->is_serializable(); }

}  // namespace tandem::parallel
