// A network that random_networks.py has drawn, as a module.
//
// A description has one instruction per line, "OUTPUTS = KIND WORD…"; OUTPUTS are numbers of variables, and words are
// those of torch_table.h. '@' stands for the number of examples in the batch. Kinds:
//   data SHAPE SEED LOW HIGH     uniform numbers, others in every step
//   labels SHAPE SEED HIGH       integers below HIGH, others in every step
//   const SHAPE SEED LOW HIGH    uniform numbers
//   list SHAPE NUMBERS           integers
//   mask SHAPE SEED P            bools, true with probability P
//   param SHAPE SEED LOW HIGH    a parameter
//   layer TYPE SEED KEY=VALUE… tN…   a module (layers.cpp)
//   op NAME WORD…                an operation
// Other lines: "loss N" names the loss; "segment A B" lists variables [A, B), which can be computed again in backward;
// "group FIRST OPTIMIZER KEY=VALUE…" gives the parameters of lines from variable FIRST on to the optimizer, whose type
// all groups share; "clip norm|value X", "scheduler TYPE KEY=VALUE…" (training.cpp).
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

/// "a=1" → {a, 1}.
using Keywords = std::map<std::string, std::string>;

/// Element i is low + (high - low) u, where u is a hash of i and the seed. torch_network.py computes the same bits.
Tensor drawn(const std::vector<int64_t>& shape, int64_t seed, double low, double high);

struct Instruction {
  std::vector<std::size_t> outputs;
  std::string kind;
  Words words;
  std::vector<std::size_t> reads;  ///< the variables that an operation or a layer reads
};

struct Description {
  explicit Description(const Words& lines);
  std::vector<Instruction> instructions;
  std::vector<Words> groups, segments;
  Words clip, scheduler;
  std::size_t loss = 0;
  std::size_t variables = 0;  ///< more than the largest number of an output
};
using DescriptionPtr = std::shared_ptr<const Description>;

/// A layer with the form of an operation: tensors in, tensors out.
struct Layer {
  std::shared_ptr<nn::Module> module;
  std::function<Tensors(const Tensors&)> forward;
};
/// Throws Error for an unknown type.
Layer make_layer(const std::string& type, const Keywords& options);
/// The words with '=' of `words`.
Keywords options_of(const Words& words);

class NetImpl : public nn::Module {
 public:
  /// Parameters have the values that the description says, in `dtype`.
  NetImpl(DescriptionPtr description, ScalarType dtype);

  /// The batch of a step, in the order of the instructions: data and labels.
  Tensors batch(int64_t step) const;
  /// The loss. With `checkpointed`, the segments are computed again in backward.
  Tensor forward(const Tensors& batch, bool checkpointed = false);
  /// Parameters in the order of the instructions and their names, with the variable of the instruction.
  const std::vector<std::pair<std::size_t, Tensor>>& ordered() const { return ordered_; }

 private:
  void build(const Instruction& at);
  void build_layer(const Instruction& at);
  void run(const Instruction& at, Tensors& variables);
  void run_all(std::size_t first, std::size_t last, Tensors& variables, int64_t examples);
  void run_segment(std::size_t first, std::size_t last, Tensors& variables, int64_t examples);
  std::pair<std::size_t, std::size_t> instructions_of(const Words& segment) const;

  DescriptionPtr description_;
  ScalarType dtype_;
  std::map<std::size_t, Layer> layers_;
  std::map<std::size_t, std::string> constants_;  // names of buffers
  std::map<std::size_t, Tensor> parameters_;
  std::vector<std::pair<std::size_t, Tensor>> ordered_;
};

}  // namespace tandem::testing
