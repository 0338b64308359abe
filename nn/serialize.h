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

/// archive << value and archive >> value; programs may define their own for further types.
template <class T>
requires requires(OutputArchive& archive, const T& value) { tandem::serialize::write(archive, value); }
OutputArchive& operator<<(OutputArchive& archive, const T& value) {
  tandem::serialize::write(archive, value);
  return archive;
}
template <class T>
requires requires(InputArchive& archive, T& value) { tandem::serialize::read(archive, value); }
InputArchive& operator>>(InputArchive& archive, T& value) {
  tandem::serialize::read(archive, value);
  return archive;
}

}  // namespace serialize

/// Saves a tensor, a vector of tensors, a module, its holder or a shared_ptr to it, or an optimizer. The
/// target is a path (the file appears complete or not at all), a std::ostream, or a function that takes memory and
/// its size and returns how much of it it has written. Throws Error on failure.
template <class Value, class... Target>
void save(const Value& value, Target&&... target) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<Target>(target)...);
}
/// The same for `save({a, b}, "tensors.safetensors")`.
template <class... Target>
void save(const std::vector<Tensor>& tensors, Target&&... target) {
  serialize::OutputArchive archive;
  archive << tensors;
  archive.save_to(std::forward<Target>(target)...);
}
/// Loads from a path, a std::istream, memory and its size, or functions that read and return the size
/// (InputArchive::load_from), optionally followed by a device. A module or an optimizer must have the same structure as
/// when it was saved. Throws Error on failure.
template <class Value, class... Source>
void load(Value& value, Source&&... source) {
  serialize::InputArchive archive(/*late=*/true);
  archive.load_from(std::forward<Source>(source)...);
  archive >> value;
}

}  // namespace tandem
