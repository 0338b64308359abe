// Operators that run bodies: If, Loop, Scan and SequenceMap.
#include <algorithm>
#include <limits>

#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

bool truth(const IValue& value) {
  check(value.isTensor() && value.toTensor().numel() == 1, "the condition must be one bool");
  return value.toTensor().is_nonzero();
}

// What each iteration appends to, which is stacked at the end.
class Stacks {
 public:
  Stacks(const Graph& body, std::size_t first, Device device)
      : body_(body), first_(first), device_(device), stacks_(body.outputs.size() - first) {}

  std::size_t size() const { return stacks_.size(); }
  void append(const std::vector<IValue>& outputs) {
    for (std::size_t i = 0; i < size(); ++i) {
      const IValue& value = outputs[first_ + i];
      check(value.isTensor(), "output ", first_ + i, " of the body must be a tensor");
      stacks_[i].push_back(value.toTensor());
    }
  }
  Tensor stacked(std::size_t i, int64_t axis = 0, bool reversed = false) {
    std::vector<Tensor>& list = stacks_[i];
    if (list.empty()) return nothing(body_.outputs[first_ + i], axis);
    for (const Tensor& each : list)
      check(each.scalar_type() == list[0].scalar_type(), "the iterations return different dtypes: ", list[0], " and ",
            each);
    if (reversed) std::reverse(list.begin(), list.end());
    const int64_t at = wrap_axis(axis, list[0].dim() + 1);
    return stack(on_one_device(std::move(list)), at);
  }

 private:
  // No iteration said how large the elements are. Unknown sizes are 0, as in ONNX Runtime.
  Tensor nothing(const Declared& declared, int64_t axis) const {
    Dims sizes;
    for (const int64_t size : declared.sizes) sizes.push_back(std::max<int64_t>(size, 0));
    sizes.insert(static_cast<std::size_t>(wrap_axis(axis, static_cast<int64_t>(sizes.size()) + 1)), 0);
    return zeros(sizes,
                 TensorOptions(declared.dtype == ScalarType::Undefined ? kFloat : declared.dtype).device(device_));
  }

  const Graph& body_;
  std::size_t first_;
  Device device_;
  std::vector<std::vector<Tensor>> stacks_;
};

Results choose(Call& c) { return c.run(c.graph(truth(c.value(0)) ? "then_branch" : "else_branch"), {}); }

// ---- Loop

// Bodies may declare the counter and the condition as [1].
template <class T>
Tensor number_for(const Declared& input, T value, ScalarType dtype) {
  return full(input.sizes.size() == 1 ? Dims{1} : Dims(), value, dtype);
}

Results loop(Call& c) {
  const Graph& body = c.graph("body");
  check(body.inputs.size() >= 2 && body.inputs.size() >= c.size(), "the body takes ", body.inputs.size(),
        " values, it is given ", c.size());
  const std::size_t count = body.inputs.size() - 2;
  check(body.outputs.size() >= count + 1, "the body must return the condition and ", count, " values, it returns ",
        body.outputs.size());
  check(c.has(0) || c.has(1), "a loop with neither a trip count nor a condition does not end");
  std::vector<IValue> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(c.value(i + 2));
  Stacks stacks(body, count + 1, c.device());
  bool more = !c.has(1) || truth(c.value(1));
  const int64_t trips = c.has(0) ? c.integer(0) : std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; more && i < trips; ++i) {
    std::vector<IValue> inputs = {number_for(body.inputs[0], i, kLong), number_for(body.inputs[1], true, kBool)};
    std::move(values.begin(), values.end(), std::back_inserter(inputs));
    std::vector<IValue> outputs = c.run(body, std::move(inputs));
    if (c.has(1)) more = truth(outputs[0]);  // otherwise it is a loop that only counts
    stacks.append(outputs);
    values.assign(std::make_move_iterator(outputs.begin() + 1),
                  std::make_move_iterator(outputs.begin() + 1 + static_cast<std::ptrdiff_t>(count)));
  }
  Results out(std::move(values));
  for (std::size_t i = 0; i < stacks.size(); ++i) out.push_back(stacks.stacked(i));
  return out;
}

// ---- Scan

// An attribute with one number for each of `count` inputs or outputs: all 0 if it is missing.
std::vector<int64_t> numbers_for(Call& c, std::string_view attribute, std::size_t count) {
  std::vector<int64_t> out = c.integers(attribute);
  if (out.empty()) out.assign(count, 0);
  check(out.size() == count, attribute, " must have ", count, " numbers, it has ", out.size());
  return out;
}

struct ScanShape {
  std::size_t states = 0, inputs = 0;
  ScanShape(Call& c, const Graph& body, std::size_t given) {
    const int64_t count = c.integer("num_scan_inputs");
    check(count >= 1 && count <= static_cast<int64_t>(given), "num_scan_inputs ", count, " is out of range for ", given,
          " inputs");
    inputs = static_cast<std::size_t>(count);
    states = given - inputs;
    check(body.inputs.size() == given && body.outputs.size() >= states, "the body takes ", body.inputs.size(),
          " values and returns ", body.outputs.size(), ", it is given ", given);
  }
};

// Runs the body for the elements of `inputs` [each input][time], and returns the states.
std::vector<IValue> iterate(Call& c, const Graph& body, std::vector<IValue> states,
                            const std::vector<std::vector<Tensor>>& inputs, const std::vector<int64_t>& directions,
                            std::size_t length, Stacks& stacks) {
  const std::size_t count = states.size();
  for (std::size_t t = 0; t < length; ++t) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      states.emplace_back(inputs[i][directions[i] == 0 ? t : length - 1 - t]);
    states = c.run(body, std::move(states));
    stacks.append(states);
    states.resize(count);
  }
  return states;
}

Results scan(Call& c) {
  const Graph& body = c.graph("body");
  const ScanShape shape(c, body, c.size());
  const auto axes = numbers_for(c, "scan_input_axes", shape.inputs);
  const auto directions = numbers_for(c, "scan_input_directions", shape.inputs);
  std::vector<IValue> states;
  for (std::size_t i = 0; i < shape.states; ++i) states.push_back(c.value(i));
  std::vector<std::vector<Tensor>> inputs;
  for (std::size_t i = 0; i < shape.inputs; ++i) {
    const Tensor& x = c[shape.states + i];
    inputs.push_back(unbind(x, wrap_axis(axes[i], x.dim())));
    check(inputs[i].size() == inputs[0].size(), "the inputs have different lengths: ", inputs[0].size(), " and ",
          inputs[i].size());
  }
  Stacks stacks(body, shape.states, c.device());
  Results out = iterate(c, body, std::move(states), inputs, directions, inputs[0].size(), stacks);
  const auto out_axes = numbers_for(c, "scan_output_axes", stacks.size());
  const auto out_directions = numbers_for(c, "scan_output_directions", stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) out.push_back(stacks.stacked(i, out_axes[i], out_directions[i] != 0));
  return out;
}

// Operator set 8 has a batch, with sequences of different lengths, and one body for each row.
Results scan_batch(Call& c) {
  const Graph& body = c.graph("body");
  check(c.size() >= 2, "expected scan inputs");
  const ScanShape shape(c, body, c.size() - 1);
  const auto directions = numbers_for(c, "directions", shape.inputs);
  const Tensor& first = c[1 + shape.states];
  for (std::size_t i = 1; i < c.size(); ++i) {
    const int64_t rank = i > shape.states ? 2 : 1;
    check(c[i].dim() >= rank, "input ", i, " must have ", rank, " dimensions or more, got ", c[i]);
    for (int64_t d = 0; d < rank; ++d)
      check(first.dim() >= 2 && c[i].size(d) == first.size(d), "the inputs differ in dimension ", d, ": ", first,
            " and ", c[i]);
  }
  const int64_t batch = first.size(0), longest = first.size(1);
  check(batch > 0, "the batch must not be empty");
  const std::vector<int64_t> lengths =
      c.has(0) ? c.integers(0) : std::vector<int64_t>(static_cast<std::size_t>(batch), longest);
  check(static_cast<int64_t>(lengths.size()) == batch, "sequence_lens must have ", batch, " numbers, it has ",
        lengths.size());
  std::vector<std::vector<Tensor>> rows(body.outputs.size());
  for (int64_t row = 0; row < batch; ++row) {
    const int64_t length = lengths[static_cast<std::size_t>(row)];
    check(length >= 0 && length <= longest, "sequence_lens must be from 0 to ", longest, ", got ", length);
    std::vector<IValue> states;
    for (std::size_t i = 0; i < shape.states; ++i) states.emplace_back(c[1 + i].select(0, row));
    std::vector<std::vector<Tensor>> inputs;
    for (std::size_t i = 0; i < shape.inputs; ++i) inputs.push_back(unbind(c[1 + shape.states + i].select(0, row)));
    Stacks stacks(body, shape.states, c.device());
    states = iterate(c, body, std::move(states), inputs, directions, static_cast<std::size_t>(length), stacks);
    for (std::size_t i = 0; i < shape.states; ++i) rows[i].push_back(states[i].toTensor());
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const Tensor values = stacks.stacked(i);
      std::vector<int64_t> padding(static_cast<std::size_t>(2 * values.dim()), 0);
      padding.back() = longest - length;
      rows[shape.states + i].push_back(length < longest ? constant_pad_nd(values, padding) : values);
    }
  }
  Results out;
  for (std::vector<Tensor>& list : rows) out.push_back(stack(on_one_device(std::move(list))));
  return out;
}

Results scan_any(Call& c) { return c.version() < 9 ? scan_batch(c) : scan(c); }

Results map_sequence(Call& c) {
  const Graph& body = c.graph("body");
  const std::size_t length = c.sequence(0).size();
  std::vector<std::vector<Tensor>> lists(c.size()), outputs(body.outputs.size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (!c.value(i).isTensorList()) continue;
    lists[i] = c.sequence(i);
    check(lists[i].size() == length, "the sequences have different lengths: ", length, " and ", lists[i].size());
  }
  for (std::size_t at = 0; at < length; ++at) {
    std::vector<IValue> inputs;
    for (std::size_t i = 0; i < c.size(); ++i) inputs.push_back(lists[i].empty() ? c.value(i) : IValue(lists[i][at]));
    const std::vector<IValue> values = c.run(body, std::move(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      check(values[i].isTensor(), "output ", i, " of the body must be a tensor");
      outputs[i].push_back(values[i].toTensor());
    }
  }
  Results out;
  for (std::vector<Tensor>& list : outputs) out.emplace_back(std::move(list));
  return out;
}

}  // namespace

Operators control_operators() {
  return {
      {"If", choose, 0b1},
      {"Loop", loop, 0b11},
      {"Scan", scan_any},
      {"SequenceMap", map_sequence},
  };
}

}  // namespace tandem::onnx
