// Describes views and copies, and joining, repeating and rotating tensors.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

const std::vector<std::vector<InputSpec>> kBox = {{real({2, 3, 4})}}, kThin = {{real({1, 3, 1})}};

std::vector<Operation> shapes() {
  return {
      {OPERATION(view, T(CT, Ints), T(CT, ScalarType)), .torch = "torch.Tensor.view"},
      {OPERATION(reshape, T(CT, Ints)), .examples = {{"view", "x0, [6, 4]", kBox}, {"reshape -1", "x0, [-1]", kBox}}},
      {OPERATION(flatten, T(CT, I, I)), .examples = {{"flatten", "x0, 1, -1", kBox}}},
      {OPERATION(unflatten, T(CT, I, Ints)), .examples = {{"unflatten", "x0, 2, [2, 2]", kBox}}},
      {OPERATION(ravel, T(CT))},
      {OPERATION(squeeze, T(CT), T(CT, I), T(CT, Ints)), WRITE(squeeze, T(T), T(T, I)),
       .examples = {{"squeeze", "x0", kThin}, {"squeeze 0", "x0, 0", kThin}}},
      {OPERATION(unsqueeze, T(CT, I)), WRITE(unsqueeze, T(T, I)), .examples = {{"unsqueeze", "x0, -1", kBox}}},
      {OPERATION(expand, T(CT, Ints)), .torch = "torch.Tensor.expand",
       .examples = {{"expand", "x0, [3, 2, 3, 4]", kBox}},
       .tests = {op(
           "expand -1", "x0[:, :1].expand(-1, 5, -1)",
           [](const Tensors& x) {
             return x[0].slice(1, 0, 1).expand({-1, 5, -1});
           },
           kBox)}},
      {OPERATION(sum_to_size, T(CT, Ints)), .torch = "torch.Tensor.sum_to_size",
       .examples = {{"sum_to_size", "x0, [3, 1]", kBox}}},
      {OPERATION(transpose, T(CT, I, I)), WRITE(transpose, T(T, I, I)), .examples = {{"transpose", "x0, 0, 2", kBox}}},
      {OPERATION(t, T(CT)), WRITE(t, T(T)), .examples = {{"t", "x0", {{real({2, 3})}, {real({3})}}}}},
      {OPERATION(permute, T(CT, Ints)), .examples = {{"permute", "x0, [2, 0, 1]", kBox}}},
      {OPERATION(movedim, T(CT, Ints, Ints)), .examples = {{"movedim", "x0, [0], [2]", kBox}}},
  };
}

std::vector<Operation> windows() {
  return {
      {OPERATION(slice, T(CT, I, optional<I>, optional<I>, I)), .torch = "torch.ops.aten.slice",
       .tests = {op(
           "slice", "x0[:, 1:, ::2]", [](const Tensors& x) { return x[0].slice(1, 1).slice(2, 0, 4, 2); }, kBox)}},
      {OPERATION(select, T(CT, I, I)), .examples = {{"select", "x0, 1, -1", kBox}}},
      {OPERATION(narrow, T(CT, I, I, I)), .examples = {{"narrow", "x0, 2, 1, 2", kBox}}},
      {OPERATION(unfold, T(CT, I, I, I)), .torch = "torch.Tensor.unfold",
       .examples = {{"unfold", "x0, 2, 2, 1", kBox}}},
      {OPERATION(diagonal, T(CT, I, I, I)), .examples = {{"diagonal", "x0, 1, 1, 2", kBox}}},
      {OPERATION(as_strided, T(CT, Ints, Ints, optional<I>))},
      {OPERATION(as_strided_scatter, T(CT, CT, Ints, Ints, optional<I>))},
      {OPERATION(split, Tensors(CT, I, I), Tensors(CT, Ints, I)),
       .examples = {{"split", "x0, [1, 3, 2], 1", {{real({2, 6})}}}}},
      {OPERATION(chunk, Tensors(CT, I, I)),
       .examples = {{.name = "chunk", .arguments = "x0, 3, 2", .inputs = kBox, .output = 1}}},
      {OPERATION(tensor_split, Tensors(CT, I, I), Tensors(CT, Ints, I))},
      {OPERATION(unbind, Tensors(CT, I)),
       .examples = {{.name = "unbind", .arguments = "x0, 1", .inputs = kBox, .output = 2}}},
  };
}

std::vector<Operation> copies() {
  return {
      {OPERATION(cat, T(TensorList, I)),
       .examples = {{"cat", "[x0, x1], 1", {{real({2, 3}), real({2, 1})}, {real({2, 0}), real({2, 2})}}}}},
      {OPERATION(stack, T(TensorList, I)),
       .examples = {{"stack", "[x0, x1], 1", {{real({2, 3}), real({2, 3})}, {real({4}), real({4})}}}}},
      {OPERATION(hstack, T(TensorList))},
      {OPERATION(vstack, T(TensorList))},
      {OPERATION(meshgrid, Tensors(TensorList, const char*)), .torch = "lambda x, i: torch.meshgrid(*x, indexing=i)"},
      {OPERATION(repeat, T(CT, Ints)), .torch = "torch.Tensor.repeat", .examples = {{"repeat", "x0, [2, 1, 2]", kBox}}},
      {OPERATION(tile, T(CT, Ints))},
      {OPERATION(repeat_interleave, T(CT, I, optional<I>), T(CT, CT, optional<I>)),
       .examples = {{"repeat_interleave", "x0, 2, 1", kBox}}},
      {OPERATION(flip, T(CT, Ints)), .examples = {{"flip", "x0, [0, 2]", kBox}}},
      {OPERATION(roll, T(CT, Ints, Ints)),
       .examples = {{"roll", "x0, [1], [2]", kBox}, {"roll all", "x0, [5], []", kBox}}},
      {OPERATION(rot90, T(CT, I, Ints))},
      {OPERATION(tril, T(CT, I)), WRITE(tril, T(T, I)), .examples = {{"tril", "x0, 1", kBox}},
       .tests = {op("tril_", "(x0 * 1).tril_(1)", [](const Tensors& x) { return (x[0] * 1).tril_(1); },
                    {{real({3, 4})}})}},
      {OPERATION(triu, T(CT, I)), WRITE(triu, T(T, I)), .examples = {{"triu", "x0, -1", kBox}}},
      {.name = "to",
       .overloads = MEMBER(to, T(CT, ScalarType)),
       .torch = "torch.Tensor.to",
       .examples = {{"to", "x0, torch.float64", kBox}}},
      {.name = "clone", .overloads = MEMBER(clone, T(CT)), .examples = {{"clone", "x0", kBox}}},
      {.name = "contiguous",
       .overloads = MEMBER(contiguous, T(CT)),
       .torch = "torch.Tensor.contiguous",
       .tests = {op(
           "contiguous", "x0.transpose(0, 1).contiguous()",
           [](const Tensors& x) { return x[0].transpose(0, 1).contiguous(); }, kBox)}},
      {.name = "copy",
       WRITE(copy, T(T, CT)),
       .tests = {op("write through views", "writes(x0, x1)",
                    [](const Tensors& x) {
                      Tensor y = x[0] * 1;
                      y.select(0, 1).mul_(x[1]);
                      y.transpose(0, 1).slice(0, 1, 3).add_(x[1].sum());
                      y[0].copy_(x[1] * 2);
                      return y * y;
                    },
                    {{real({3, 4}), real({4})}})}},
  };
}

}  // namespace

std::vector<Operation> view_operations() { return joined({shapes, windows, copies}); }

}  // namespace tandem::testing
