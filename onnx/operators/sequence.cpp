// Sequences, which are lists of tensors, and optional values, which are a value or None.
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// A position from -size to `last`, counted from the end if it is negative.
std::ptrdiff_t position(Call& c, std::size_t input, std::size_t size, int64_t last) {
  const int64_t at = c.integer(input), length = static_cast<int64_t>(size);
  check(at >= -length && at <= last, "position ", at, " is out of range for a sequence of ", length);
  return static_cast<std::ptrdiff_t>(at < 0 ? at + length : at);
}
std::ptrdiff_t element(Call& c, std::size_t input, std::size_t size) {
  return position(c, input, size, static_cast<int64_t>(size) - 1);
}

Results insert(Call& c) {
  std::vector<Tensor> list = c.sequence(0);
  const int64_t size = static_cast<int64_t>(list.size());
  list.insert(list.begin() + (c.has(2) ? position(c, 2, list.size(), size) : static_cast<std::ptrdiff_t>(size)), c[1]);
  return IValue(std::move(list));
}

Results erase(Call& c) {
  std::vector<Tensor> list = c.sequence(0);
  check(!list.empty(), "the sequence is empty");
  list.erase(c.has(1) ? list.begin() + element(c, 1, list.size()) : list.end() - 1);
  return IValue(std::move(list));
}

Tensor at(Call& c) {
  const std::vector<Tensor> list = c.sequence(0);
  return list[static_cast<std::size_t>(element(c, 1, list.size()))];
}

Results split_to_sequence(Call& c) {
  const Tensor& x = c[0];
  const int64_t axis = wrap_axis(c.integer("axis", 0), x.dim());
  const bool list = c.has(1) && c[1].dim() > 0;
  if (list) return IValue(split(x, c.integers(1), axis));
  const int64_t size = c.has(1) ? c.integer(1) : 1;
  // ONNX ignores keepdims where the size is given. PyTorch's exporter gives both for an unbind, as ONNX Runtime reads
  // it.
  return IValue(size == 1 && !c.flag("keepdims", true) ? unbind(x, axis) : split(x, size, axis));
}

Tensor concat(Call& c) {
  const std::vector<Tensor> list = on_one_device(c.sequence(0));
  check(!list.empty(), "the sequence is empty");
  for (const Tensor& each : list)
    check(each.scalar_type() == list[0].scalar_type(), "the dtypes differ: ", list[0], " and ", each);
  const bool add = c.flag("new_axis");
  const int64_t axis = wrap_axis(c.integer("axis"), list[0].dim() + (add ? 1 : 0));
  return add ? stack(list, axis) : cat(list, axis);
}

Results value_of(Call& c) {
  check(c.has(0), "the optional value is empty");
  return c.value(0);
}

}  // namespace

Operators sequence_operators() {
  return {
      {"ConcatFromSequence", concat},
      {"Optional", [](Call& c) { return c.value(0); }},
      {"OptionalGetElement", value_of},
      {"OptionalHasElement", [](Call& c) { return full({}, c.has(0), kBool); }},
      {"SequenceAt", at, 0b10},
      {"SequenceConstruct", [](Call& c) { return IValue(c.tensors()); }},
      {"SequenceEmpty", [](Call&) { return IValue(std::vector<Tensor>()); }},
      {"SequenceErase", erase, 0b10},
      {"SequenceInsert", insert, 0b100},
      {"SequenceLength", [](Call& c) { return full({}, static_cast<int64_t>(c.sequence(0).size()), kLong); }},
      {"SplitToSequence", split_to_sequence, 0b10},
  };
}

}  // namespace tandem::onnx
