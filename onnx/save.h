// save: writes a module as an ONNX file.
//
//   onnx::save(net, {x}, "net.onnx");
//
// The module runs on the example inputs while the kernels that it calls are recorded; the file has what they compute,
// in ONNX's operators (opset 20). What the program decides on the way, such as the number of steps of a loop, is as it
// was for the examples. Values that the program reads (item()), random numbers and shapes that depend on values are
// errors.
#pragma once
#include <functional>
#include <tuple>
#include <type_traits>

#include "tandem/nn/module_holder.h"

namespace tandem::onnx {

/// Further keys and values in a file, ModelProto.metadata_props.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct SaveOptions {
  /// By default "input" and "output", or "input0", "input1", … of several.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};
  Metadata metadata = {};
  /// Whether the file takes any number of examples: dimension 0 of the first input, and of all others that have the
  /// same size there. The module also runs with other numbers of examples, to learn which sizes depend on it.
  bool dynamic_batch = true;
};

/// The function that save() runs: it returns the outputs for these inputs.
using Forward = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Writes `forward` to the file. Its weights are those of `module`, with the names of its parameters and buffers; all
/// other tensors that it reads become constants. All are on the CPU. Runs `forward` two or three times, in eval mode
/// and without gradients, and puts the module's modes back. Models of more than kMaxEmbeddedBytes get a second file,
/// PATH.data, with the weights. Throws Error that names all kernels without an ONNX operator, or what the file cannot
/// say; then nothing is written.
void save(nn::Module& module, const Forward& forward, const std::vector<Tensor>& inputs, const std::string& path,
          const SaveOptions& options = {});

inline constexpr int64_t kMaxEmbeddedBytes = int64_t{1500} << 20;

namespace detail {
inline void append(std::vector<Tensor>& list, const Tensor& t) {
  if (t.defined()) list.push_back(t);
}
template <class T>
void append(std::vector<Tensor>& list, const std::vector<T>& values) {
  for (const T& value : values) append(list, value);
}
template <class... Ts>
void append(std::vector<Tensor>& list, const std::tuple<Ts...>& values) {
  std::apply([&](const auto&... each) { (append(list, each), ...); }, values);
}
template <class A, class B>
void append(std::vector<Tensor>& list, const std::pair<A, B>& values) {
  append(list, values.first);
  append(list, values.second);
}

template <class M, std::size_t... i>
std::vector<Tensor> call_with(M& module, const std::vector<Tensor>& inputs, std::index_sequence<i...>) {
  std::vector<Tensor> list;
  append(list, nn::call(module, inputs[i]...));
  return list;
}
template <class M, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires(M & module, const Tensor& t) { module.forward((static_cast<void>(i), t)...); };
}
inline constexpr std::size_t kMaxInputs = 8;
/// The call of `forward` with as many tensors as there are inputs.
template <class M, std::size_t count = 1>
std::vector<Tensor> call_with(M& module, const std::vector<Tensor>& inputs) {
  using Each = std::make_index_sequence<count>;
  if constexpr (takes<M>(Each())) {
    if (inputs.size() == count) return call_with(module, inputs, Each());
  }
  if constexpr (count < kMaxInputs)
    return call_with<M, count + 1>(module, inputs);
  else
    fail("onnx::save: the module's forward() does not take ", inputs.size(), " tensors");
}
}  // namespace detail

/// The same for a module, or its holder, whose forward() takes the inputs and returns a tensor, or tensors in tuples
/// and vectors.
template <class M>
requires std::is_base_of_v<nn::Module, M>
void save(const std::shared_ptr<M>& module, const std::vector<Tensor>& inputs, const std::string& path,
          const SaveOptions& options = {}) {
  const Forward forward = [&](const std::vector<Tensor>& each) { return detail::call_with(*module, each); };
  onnx::save(*module, forward, inputs, path, options);  // qualified: tandem::save takes anything
}
template <class M>
void save(const nn::ModuleHolder<M>& module, const std::vector<Tensor>& inputs, const std::string& path,
          const SaveOptions& options = {}) {
  onnx::save(module.ptr(), inputs, path, options);
}

}  // namespace tandem::onnx
