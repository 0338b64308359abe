// The table of ONNX operators in Tandem. An operator that an operation of Tandem implements is one line.
//
//   {"Relu", [](Call& c) { return relu(c[0]); }},
//
// Definitions: https://onnx.ai/onnx/operators. Operators of older sets differ in where an argument is:
// Call::integers_at takes it from an input or an attribute.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/onnx/program.h"

namespace tandem {
class KeptWeight;
}

namespace tandem::onnx {

/// The outputs of an operator, in ONNX's order.
struct Results : std::vector<IValue> {
  Results() = default;
  Results(Tensor value) { push_back(std::move(value)); }
  Results(IValue value) { push_back(std::move(value)); }
  Results(std::vector<IValue> values) : vector(std::move(values)) {}
  Results(std::vector<Tensor> sequence) = delete;  // a sequence or several outputs? say which
  template <class... Ts>
  Results(const std::tuple<Ts...>& values) {
    std::apply([this](const auto&... each) { (this->push_back(each), ...); }, values);
  }
  static Results of(const std::vector<Tensor>& values) {
    Results out;
    for (const Tensor& value : values) out.push_back(value);
    return out;
  }
};

class Runner;
struct Frame;

/// One call of an operator.
class Call {
 public:
  Call(Runner& runner, Frame& frame, const Node& node);

  // ---- inputs
  std::size_t size() const { return inputs_.size(); }
  bool has(std::size_t input) const;
  /// Throws Error if it is left out or no tensor.
  const Tensor& operator[](std::size_t input) const;
  /// Whether it is a constant of the program.
  bool is_constant(std::size_t input) const;
  /// Undefined if it is left out.
  Tensor optional(std::size_t input) const { return has(input) ? (*this)[input] : Tensor(); }
  /// Of any kind, none if it is left out.
  const IValue& value(std::size_t input) const;
  std::vector<Tensor> sequence(std::size_t input) const;
  /// All inputs, which must be tensors.
  std::vector<Tensor> tensors() const;
  /// The numbers of an integer tensor of at most one dimension, on the host.
  std::vector<int64_t> integers(std::size_t input) const;
  int64_t integer(std::size_t input) const;
  double number(std::size_t input) const;

  // ---- attributes. Throws Error if one has another type, or if it is missing and there is no default.
  bool has(std::string_view attribute) const { return node_.attribute(attribute) != nullptr; }
  int64_t integer(std::string_view attribute) const;
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  bool flag(std::string_view attribute, bool otherwise = false) const { return integer(attribute, otherwise) != 0; }
  double number(std::string_view attribute) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, const char* otherwise) const;
  std::vector<int64_t> integers(std::string_view attribute) const;   ///< empty if missing
  std::vector<double> numbers(std::string_view attribute) const;     ///< empty if missing
  std::vector<std::string> texts(std::string_view attribute) const;  ///< empty if missing
  const Tensor& tensor(std::string_view attribute) const;
  const Graph& graph(std::string_view attribute) const;
  /// The dtype that ONNX's number in an attribute means. Throws Error if Tandem lacks it.
  ScalarType dtype(std::string_view attribute, ScalarType otherwise) const;

  /// An argument that older operator sets have as an attribute, and newer ones as an input.
  bool has_at(std::size_t input, std::string_view attribute) const { return has(input) || has(attribute); }
  std::vector<int64_t> integers_at(std::size_t input, std::string_view attribute) const {
    return has(input) ? integers(input) : integers(attribute);
  }

  // ---- the call itself
  int64_t version() const { return node_.version; }
  std::size_t outputs() const { return node_.outputs.size(); }
  /// Whether somebody reads this output.
  bool wants(std::size_t output) const { return output < node_.outputs.size() && node_.outputs[output] >= 0; }
  /// Whether the module is in training mode.
  bool training() const;
  /// The device of its tensors, or else the module's.
  Device device() const;
  /// Runs a body.
  std::vector<IValue> run(const Graph& body, std::vector<IValue> inputs) const;
  /// Where a convolution may keep its packed weight, or nullptr.
  KeptWeight* kept() const;
  const Node& node() const { return node_; }
  /// The elements of a tensor, on the host.
  static std::vector<double> values(const Tensor& t);

 private:
  /// Values of a tensor are about to be read on the host: an export cannot say what follows from them.
  static void note_read(const Tensor& t);
  /// Whether the operator reads the input's values on the host.
  bool on_host(std::size_t input) const;
  template <class T>
  const T* get(std::string_view attribute, const char* type) const;

  Runner& runner_;
  Frame& frame_;
  const Node& node_;
  std::vector<const IValue*> inputs_;
  std::vector<IValue> moved_;  // to the device of the others
  tandem::optional<Device> device_;
};

struct Operator {
  const char* name;
  std::function<Results(Call&)> run;
  /// Inputs whose values are read on the host, one bit each: they are not moved to the device of the others.
  uint32_t host = 0;
  /// The result may be much larger than the inputs.
  bool grows = false;
  /// Whether constants are computed ahead with it; find_operator sets it.
  bool folds_ahead = false;
};
inline constexpr bool kGrows = true;

/// The domain of operators that only merge.h writes.
inline constexpr const char* kFused = "tandem.fused";

/// The tables, one per family.
using Operators = std::vector<Operator>;
Operators attention_operators(), control_operators(), convolution_operators(), fused_operators(), index_operators(),
    linear_operators(), loss_operators(), math_operators(), microsoft_operators(), network_operators(),
    normalization_operators(), pooling_operators(), preview_operators(), quantized_operators(), random_operators(),
    recurrent_operators(), reduce_operators(), resize_operators(), sequence_operators(), shape_operators(),
    signal_operators(), tandem_operators(), vision_operators();

/// nullptr if there is none.
const Operator* find_operator(std::string_view domain, std::string_view name);
/// x sigmoid(alpha x)
Tensor swish(const Tensor& x, double alpha);
/// The dimension `axis` of a tensor, counted from its end if negative. Throws Error if there is none.
int64_t wrap_axis(int64_t axis, int64_t rank);
/// The dimensions of a tensor from `first` on.
std::vector<int64_t> dims_of(const Tensor& t, int64_t first = 0);
/// The sizes of `rank` dimensions: 1, but `size` along `dim`.
Dims line(std::size_t rank, std::size_t dim, int64_t size);
/// The tensors on the device of the first that is not on the CPU, if there is one.
std::vector<Tensor> on_one_device(std::vector<Tensor> tensors);

}  // namespace tandem::onnx
