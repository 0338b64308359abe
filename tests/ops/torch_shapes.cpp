// Views; joining, repeating and rotating tensors.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

void add_views(Table& table) {
  table.give<T(CT, Ints)>("view", view);
  table.give<T(CT, ScalarType)>("view", view);
  table.give<T(CT, Ints)>("reshape", reshape);
  table.give<T(CT, I, I)>("flatten", flatten);
  table.give<T(CT, I, Ints)>("unflatten", unflatten);
  table.give<T(CT)>("ravel", ravel);
  table.give<T(CT, I, optional<I>, optional<I>, I)>("slice", slice);
  table.give<T(CT, I, I)>("select", select);
  table.give<T(CT, I, I, I)>("narrow", narrow);
  table.give<T(CT, Ints)>("expand", expand);
  table.give<T(CT, I, I)>("transpose", transpose);
  table.write<I, I>("transpose_", &T::transpose_);
  table.give<T(CT)>("t", t);
  table.give<T(CT, Ints)>("permute", permute);
  table.give<T(CT, Ints, Ints)>("movedim", movedim);
  table.give<T(CT)>("squeeze", squeeze);
  table.give<T(CT, I)>("squeeze", squeeze);
  table.give<T(CT, Ints)>("squeeze", squeeze);
  table.give<T(CT, I)>("unsqueeze", unsqueeze);
  table.write<>("squeeze_", &T::squeeze_);
  table.write<I>("squeeze_", &T::squeeze_);
  table.write<I>("unsqueeze_", &T::unsqueeze_);
  table.give<T(CT, I, I, I)>("unfold", unfold);
  table.give<T(CT, I, I, I)>("diagonal", diagonal);
  table.give<T(CT, Ints, Ints, optional<I>)>("as_strided", as_strided);
  table.give<T(CT, CT, Ints, Ints, optional<I>)>("as_strided_scatter", as_strided_scatter);
}

void add_pieces(Table& table) {
  table.give<Tensors(CT, I, I)>("split", split);
  table.give<Tensors(CT, Ints, I)>("split", split);
  table.give<Tensors(CT, I, I)>("chunk", chunk);
  table.give<Tensors(CT, I, I)>("tensor_split", tensor_split);
  table.give<Tensors(CT, Ints, I)>("tensor_split", tensor_split);
  table.give<Tensors(CT, I)>("unbind", unbind);
}

}  // namespace

void add_shapes(Table& table) {
  add_views(table);
  add_pieces(table);
  table.give<T(TensorList, I)>("cat", cat);
  table.give<T(TensorList, I)>("stack", stack);
  table.give<T(TensorList)>("hstack", hstack);
  table.give<T(TensorList)>("vstack", vstack);
  table.give<Tensors(TensorList, const char*)>("meshgrid", meshgrid);
  table.give<T(CT, Ints)>("repeat", repeat);
  table.give<T(CT, Ints)>("tile", tile);
  table.give<T(CT, I, optional<I>)>("repeat_interleave", repeat_interleave);
  table.give<T(CT, CT, optional<I>)>("repeat_interleave", repeat_interleave);
  table.give<T(CT, Ints)>("flip", flip);
  table.give<T(CT, Ints, Ints)>("roll", roll);
  table.give<T(CT, I, Ints)>("rot90", rot90);
  table.give<T(CT, I)>("tril", tril);
  table.give<T(CT, I)>("triu", triu);
}

}  // namespace tandem::testing
