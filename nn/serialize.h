// save and load: tensors, modules and optimizers in a file (safetensors) or a stream.
//
//   save(net, "net.safetensors"); load(net, "net.safetensors");
#pragma once
#include "tandem/nn/files/archive.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem {
namespace serialize {

/// A type with save(OutputArchive&) and load(InputArchive&): modules, optimizers, schedulers.
template <class T>
concept Saved = requires(T& value, OutputArchive& out, InputArchive& in) {
  value.save(out);
  value.load(in);
};

void write(OutputArchive& archive, const Tensor& tensor);
void write(OutputArchive& archive, const std::vector<Tensor>& tensors);
void read(InputArchive& archive, Tensor& tensor);
void read(InputArchive& archive, std::vector<Tensor>& tensors);
template <Saved T>
void write(OutputArchive& archive, const T& value) {
  value.save(archive);
}
template <Saved T>
void read(InputArchive& archive, T& value) {
  value.load(archive);
}
template <Saved T>
void write(OutputArchive& archive, const std::shared_ptr<T>& value) {
  check(value != nullptr, "save: the module is empty");
  value->save(archive);
}
template <Saved T>
void read(InputArchive& archive, const std::shared_ptr<T>& value) {
  check(value != nullptr, "load: the module is empty");
  value->load(archive);
}
template <class M>
void write(OutputArchive& archive, const nn::ModuleHolder<M>& value) {
  value->save(archive);
}
template <class M>
void read(InputArchive& archive, nn::ModuleHolder<M>& value) {
  value->load(archive);
}

}  // namespace serialize

/// Saves a tensor, a vector of tensors, a module, its holder or a shared_ptr to it, or an optimizer. The
/// target is a path (the file appears complete or not at all) or a std::ostream. Throws Error on failure.
template <class Value, class Target>
void save(const Value& value, Target&& target) {
  serialize::OutputArchive archive;
  serialize::write(archive, value);
  archive.save_to(std::forward<Target>(target));
}
/// Loads from a path or a std::istream. A module or an optimizer must have the same structure as when it was
/// saved. Throws Error on failure.
template <class Value, class Source>
void load(Value& value, Source&& source, const optional<Device>& device = nullopt) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<Source>(source), device);
  serialize::read(archive, value);
}

}  // namespace tandem
