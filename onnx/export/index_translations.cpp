// Translations of the kernels that read and write at given positions, and that rearrange elements.
#include "tandem/autograd/ops.h"
#include "tandem/core/backend/index.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

void offsets(Recorder& r, const KernelCall& call) {
  const auto& at = argument<IndexedDims>(call, 2);
  Recorder::Offsets found;
  for (const Tensor& index : argument<TensorList>(call, 1)) {
    const auto k = static_cast<std::ptrdiff_t>(found.indices.size());
    found.indices.push_back(r.read(index));
    found.sizes.push_back(at.sizes[k]);
    found.strides.push_back(at.strides[k]);
  }
  found.shape = sizes_of(tensor(call, 0));
  r.note_offsets(tensor(call, 0), std::move(found));
}

const Recorder::Offsets& offsets_in(const Recorder& r, const KernelCall& call, std::size_t i) {
  const Recorder::Offsets* found = r.offsets_in(tensor(call, i));
  check(found != nullptr, "onnx::save: the kernel ", call.name, " uses offsets that do not come from indices");
  return *found;
}

// The tensor that is indexed: [indexed dimensions …, other dimensions …], or with the indexed ones from `first` on. `t`
// has the other dimensions, and `positions` further ones from `first` on.
Tensor indexed(const Tensor& t, const Recorder::Offsets& at, std::size_t first, std::size_t positions, bool in_front) {
  Dims sizes, strides;
  const auto append_indexed = [&] {
    for (std::size_t k = 0; k < at.sizes.size(); ++k) {
      sizes.push_back(at.sizes[k]);
      strides.push_back(at.strides[k]);
    }
  };
  if (in_front) append_indexed();
  for (std::size_t d = 0; d <= t.sizes().size(); ++d) {
    if (d == first && !in_front) append_indexed();
    if (d == t.sizes().size() || (d >= first && d < first + positions)) continue;
    sizes.push_back(t.sizes()[d]);
    strides.push_back(t.strides()[d]);
  }
  return alias(t, sizes, strides, t.storage_offset());
}

// The indices as rows of one tensor: [positions …, indices].
Id rows(Recorder& r, const Recorder::Offsets& at, Ints shape) {
  std::vector<Id> columns;
  Ints column = shape;
  column.push_back(1);
  for (const Id index : at.indices) columns.push_back(r.reshape(r.expand(index, at.shape), column));
  if (columns.size() == 1) return columns[0];
  shape.push_back(static_cast<int64_t>(columns.size()));
  const auto axis = static_cast<int64_t>(shape.size()) - 1;
  return r.add("Concat", columns, {{"axis", axis}}, kLong, shape);
}

void get(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &in = tensor(call, 1), &places = tensor(call, 2);
  const Recorder::Offsets at = offsets_in(r, call, 2);
  const std::size_t positions = at.shape.size();
  std::size_t first = 0;
  while (first < places.sizes().size() && places.strides()[first] == 0) ++first;
  if (positions == 0) first = 0;
  if (at.indices.size() == 1) {
    const Id x = r.read(indexed(in, at, first, positions, false));
    return r.write(out, r.add("Gather", {x, at.indices[0]}, {{"axis", static_cast<int64_t>(first)}}, out));
  }
  const Id x = r.read(indexed(in, at, first, positions, true));
  Ints sizes = at.shape;
  for (std::size_t d = at.sizes.size(); d < r[x].sizes.size(); ++d) sizes.push_back(r[x].sizes[d]);
  const Id found = r.add("GatherND", {x, rows(r, at, at.shape)}, {}, out.scalar_type(), sizes);
  std::vector<int> order;  // the positions go between the other dimensions
  for (std::size_t d = 0; d < sizes.size(); ++d)
    order.push_back(static_cast<int>(d < first ? d + positions : d < first + positions ? d - first : d));
  r.write(out, r.transpose(found, order));
}

template <bool sum>
void put(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &source = tensor(call, 3);
  const Recorder::Offsets at = offsets_in(r, call, 2);
  const auto dim = static_cast<std::size_t>(integer(call, 1));
  const Tensor to = indexed(out, at, dim, 1, true);
  std::vector<int> order{static_cast<int>(dim)};
  for (int d = 0; d < static_cast<int>(source.dim()); ++d)
    if (d != static_cast<int>(dim)) order.push_back(d);
  const Id x = r.read(to), updates = r.transpose(r.read(source), order);
  r.write(to, r.add("ScatterND", {x, rows(r, at, {source.size(integer(call, 1))}), updates},
                    {{"reduction", std::string(sum ? "add" : "none")}}));
}

void gather(Recorder& r, const KernelCall& call) {
  r.write(tensor(call, 0), r.add("GatherElements", {r.read(tensor(call, 1)), r.read(tensor(call, 3))},
                                 {{"axis", integer(call, 2)}}, tensor(call, 0)));
}
template <bool sum>
void scatter(Recorder& r, const KernelCall& call) {
  const Tensor& out = tensor(call, 0);
  r.write(out, r.add("ScatterElements", {r.read(out), r.read(tensor(call, 2)), r.read(tensor(call, 3))},
                     {{"axis", integer(call, 1)}, {"reduction", std::string(sum ? "add" : "none")}}));
}

void nonzero(Recorder&, const KernelCall&) {}  // count_nonzero comes first, and is an error

void cat(Recorder& r, const KernelCall& call) {
  std::vector<Id> parts;
  for (const Tensor& part : argument<TensorList>(call, 1))
    if (part.numel() != 0) parts.push_back(r.read(part));
  if (parts.empty()) return;
  const Tensor& out = tensor(call, 0);
  r.write(out, parts.size() == 1 ? parts[0] : r.add("Concat", parts, {{"axis", integer(call, 2)}}, out));
}

void triangle(Recorder& r, const KernelCall& call) {
  r.write(tensor(call, 0), r.add("Trilu", {r.read(tensor(call, 1)), r.number(integer(call, 2), kLong)},
                                 {{"upper", int64_t{flag(call, 3)}}}));
}

}  // namespace

Translations index_translations() {
  return {
      {"index_offsets", offsets},
      {"index", get},
      {"index_put", put<false>},
      {"index_put_add", put<true>},
      {"gather", gather},
      {"scatter", scatter<false>},
      {"scatter_add", scatter<true>},
      {"nonzero", nonzero},
      {"cat", cat},
      {"tril", triangle},
  };
}

}  // namespace tandem::onnx::exporter
