// Reads and writes by index.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

void add_indexing(Table& table) {
  table.add("gather", std::type_identity<T(CT, I, CT)>(),
            [](CT x, I dim, CT index) { return gather(x, dim, index); });
  table.give<T(CT, I, CT, CT)>("scatter", scatter);
  table.give<T(CT, I, CT, CS)>("scatter", scatter);
  table.write<I, CT, CT>("scatter_", &T::scatter_);
  table.write<I, CT, CS>("scatter_", &T::scatter_);
  table.give<T(CT, I, CT, CT)>("scatter_add", scatter_add);
  table.write<I, CT, CT>("scatter_add_", &T::scatter_add_);
  table.give<T(CT, CT, optional<I>)>("take_along_dim", take_along_dim);
  table.give<T(CT, I)>("one_hot", one_hot);
  table.add("index", std::type_identity<T(CT, Indices)>(),
            [](CT x, const Indices& at) { return x.index(ArrayRef<indexing::TensorIndex>(at)); });
  table.give<T(CT, TensorList)>("index", index);
  table.add("index_put_", std::type_identity<T(T, Indices, CT)>(), [](T x, const Indices& at, CT value) {
    return x.index_put_(ArrayRef<indexing::TensorIndex>(at), value);
  });
  table.give<T(CT, TensorList, CT, bool)>("index_put", index_put);
  table.write<ArrayRef<T>, CT, bool>("index_put_", &T::index_put_);
  table.give<T(CT, I, CT)>("index_select", index_select);
  table.give<T(CT, I, CT, CT, CS)>("index_add", index_add);
  table.write<I, CT, CT, CS>("index_add_", &T::index_add_);
  table.give<T(CT, I, CT, CT)>("index_copy", index_copy);
  table.write<I, CT, CT>("index_copy_", &T::index_copy_);
  table.give<T(CT, I, CT, CS)>("index_fill", index_fill);
  table.write<I, CT, CS>("index_fill_", &T::index_fill_);
  table.give<T(CT, CT)>("masked_select", masked_select);
  table.give<T(CT, CT)>("take", take);
  table.give<T(CT)>("nonzero", nonzero);
  table.give<T(CT, CT, I, bool, bool)>("embedding", embedding);
}

}  // namespace tandem::testing
