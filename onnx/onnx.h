// ONNX models as modules: models exported from Python run and train here (https://onnx.ai).
//
//   auto model = onnx::load("model.onnx");
//   Tensor y = model->forward(x);               // or model(x)
//   model->to(kCUDA);
//   model->train();                             // and then any optimizer of model->parameters()
//
// Initialisers are the module's parameters and buffers under their ONNX names: floating point ones of one dimension or
// more are parameters, except the running statistics of a BatchNormalization and the scales of quantised tensors. Lists
// of integers, such as the sizes of a Reshape, belong to the program, not to the state. A loaded model is in evaluation
// mode. In training mode BatchNormalization uses and tracks the statistics of the batch, and Dropout drops; the mode that
// a node has in the file (`training_mode`) only chooses ONNX's running variance over PyTorch's.
//
// Operators: ai.onnx, sets 1 to 28, and the operators of com.microsoft that language models have. onnx/left_out.txt lists
// the missing ones with the reasons. Control flow (If, Loop, Scan), sequences, optional values, functions of the model
// and external data are supported. Nothing in a file is executed but these operators.
#pragma once
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/base/ordered_dict.h"
#include "tandem/core/memory/kept_weight.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/fuse.h"
#include "tandem/nn/module_holder.h"

namespace tandem::onnx {

struct Program;

/// An input or output of a model.
struct Slot {
  std::string name;
  /// Undefined for sequences and optional values, and where the file does not say it.
  ScalarType dtype = ScalarType::Undefined;
  /// Unknown sizes are -1. nullopt: the number of dimensions is unknown, too.
  optional<std::vector<int64_t>> sizes;
  std::string type;  ///< "float32 [N, 3, 224, 224]"
};

class ModelImpl : public nn::Cloneable<ModelImpl>, public nn::Fusable {
 public:
  /// `states`: a tensor for each of the program's.
  ModelImpl(std::shared_ptr<const Program> program, const std::vector<Tensor>& states);
  /// For clone(), which copies the values afterwards: new tensors, uninitialised.
  void reset() override;

  /// The first output for these inputs, which are in the model's order. Throws Error, naming the input or the node,
  /// if their number, dtype, rank or a fixed size differs from what the model declares, or if a node fails. Where it
  /// declares a floating point dtype, an input may have another one: that to which to() has converted the state.
  /// Constants of the program are not converted, so export a model in half precision if its constants have
  /// dimensions.
  template <std::same_as<Tensor>... Others>
  Tensor forward(const Tensor& input, const Others&... others) {
    return first_output({input, others...});
  }
  /// All outputs. An input or output is a tensor, a list of tensors (a sequence), or None (an empty optional).
  std::vector<IValue> forward(std::vector<IValue> inputs);
  /// All outputs by name, for inputs by name. Throws Error, too, on a name that the model does not have.
  OrderedDict<std::string, IValue> forward(const OrderedDict<std::string, IValue>& inputs);

  /// For nn::fuse(model): folds BatchNormalization into the Conv before it, and computes a product with its bias,
  /// attention, Gelu, Swish and HardSwish in one pass each where their parts are separate nodes. Results change by
  /// rounding only. (The addition of a residual and Relu after a Conv need no call: they keep their bits.)
  void fuse(nn::Fuser& fuser) override;

  const std::vector<Slot>& inputs() const { return inputs_; }
  const std::vector<Slot>& outputs() const { return outputs_; }
  void pretty_print(std::ostream& stream) const override;
  const Program& program() const { return *program_; }

 private:
  Tensor first_output(std::vector<IValue> inputs);
  void register_states();

  std::shared_ptr<const Program> program_;
  std::vector<Slot> inputs_, outputs_;
  std::vector<IValue> states_;  // the same tensors as the parameters and buffers
  std::vector<KeptWeight> kept_;
};
/// Not TANDEM_MODULE: a model without a file makes no sense.
class Model : public nn::ModuleHolder<ModelImpl> {
 public:
  using nn::ModuleHolder<ModelImpl>::ModuleHolder;
};

/// Reads a model, and the files with its data next to it. Throws Error, naming the file and what is wrong with it: not
/// an ONNX model, damaged, an operator that Tandem lacks (all of them at once), a dtype that it lacks, names that
/// nothing computes, sizes that do not fit the data. Memory is allocated only after sizes have been compared with those
/// of the data.
Model load(const std::string& path);
/// A model in memory. `name` replaces the path in messages; data in other files are read from `folder`, if given.
Model parse(const void* data, std::size_t bytes, const std::string& name, const std::string& folder = {});

}  // namespace tandem::onnx
