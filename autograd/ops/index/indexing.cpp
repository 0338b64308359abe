// index and index_put_: processes the list between the braces. Basic indices become views, one at a time;
// masks and index tensors are passed on to index.cpp.
#include "tandem/autograd/ops/index/indexing.h"

#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace indexing {

void Slice::refuse_step() { throw ValueError("step cannot be zero"); }
std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  return out << slice.start() << ':' << slice.stop() << ':' << slice.step();
}

TensorIndex::TensorIndex(const char* text) : kind_(Kind::kEllipsis) {
  if (text == nullptr || std::string_view(text) != "...")
    throw ValueError(
        concat("Expected \"...\" to represent an ellipsis index, but got \"", text != nullptr ? text : "", "\""));
}
std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  switch (index.kind()) {
    case TensorIndex::Kind::kNone:
      return out << "None";
    case TensorIndex::Kind::kEllipsis:
      return out << "...";
    case TensorIndex::Kind::kInteger:
      return out << index.integer();
    case TensorIndex::Kind::kBoolean:
      return out << (index.boolean() ? "true" : "false");
    case TensorIndex::Kind::kSlice:
      return out << index.slice();
    case TensorIndex::Kind::kTensor:
      break;
  }
  return out << index.tensor();
}
std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
  for (std::size_t i = 0; i < indices.size(); ++i) out << (i == 0 ? "(" : ", ") << indices[i];
  return out << (indices.empty() ? "()" : ")");
}

}  // namespace indexing
namespace {
using namespace autograd;
using indexing::TensorIndex;
using Kind = TensorIndex::Kind;

bool is_mask(const Tensor& t) { return t.dtype() == kBool || t.dtype() == kByte; }

// Number of dimensions of the tensor that one index covers.
int64_t dims_named(const TensorIndex& index) {
  if (index.kind() == Kind::kInteger || index.kind() == Kind::kSlice) return 1;
  if (index.kind() != Kind::kTensor || !index.tensor().defined()) return index.kind() == Kind::kTensor ? 1 : 0;
  return is_mask(index.tensor()) ? index.tensor().dim() : 1;
}

// State while the list is processed: `part` is the tensor after the basic indices so far, `dim` the next
// dimension.
struct Reader {
  Tensor part;
  AdvancedIndex at;
  std::size_t dim = 0;
  bool advanced = false;

  explicit Reader(const Tensor& self) : part(self) {
    for (int64_t d = 0; d < self.dim(); ++d) at.origin.push_back(d);
  }

  int64_t wrapped(int64_t index) const {
    const int64_t size = part.sizes()[dim];
    check_index(index >= -size && index < size, at.operation, ": index ", index, " is out of bounds for dimension ",
                at.origin[dim], " with size ", size, "\n  part ", part);
    return index < 0 ? index + size : index;
  }
  void integer(int64_t index) {
    part = part.select(static_cast<int64_t>(dim), wrapped(index));
    at.origin.erase(dim);
  }
  void new_dim() {
    part = part.unsqueeze(static_cast<int64_t>(dim));
    at.origin.insert(dim, -1);
  }
  void positions(Tensor index) {
    check(index.device() == part.device(), at.operation, ": devices differ\n  self  ", part, "\n  index ", index);
    at.indices.resize(dim + 1);
    at.indices[dim++] = std::move(index);
    advanced = true;
  }
  // A bool index: a new dimension of size 1 or 0.
  void boolean(bool value) {
    new_dim();
    positions(zeros({value ? 1 : 0}, TensorOptions(kLong).device(part.device())));
  }
  void mask(const Tensor& mask) {
    for (std::size_t d = 0; d < mask.sizes().size(); ++d)
      check_index(mask.sizes()[d] == part.sizes()[dim + d], at.operation, ": the mask ", mask.sizes(),
                  " does not fit the tensor ", part.sizes(), " at dimension ", at.origin[dim + d]);
    const Tensor where = nonzero(mask.device() == part.device() ? mask : mask.to(part.device()));
    for (int64_t k = 0; k < mask.dim(); ++k) positions(where.select(1, k));
  }
  // With `positional`, an integer in a 0-dim tensor counts as a position and may separate other positions;
  // otherwise it is treated like any other integer.
  void tensor(const Tensor& index, bool positional) {
    if (!index.defined()) {
      ++dim;
    } else if (is_mask(index)) {
      index.dim() == 0 ? boolean(index.item().toBool()) : mask(index);
    } else {
      const bool number = index.dim() == 0 && !positional && isIntegralType(index.scalar_type(), false);
      check_index(number || index.dtype() == kLong || index.dtype() == kInt, at.operation,
                  ": tensors used as indices must be int64, int32, bool or uint8, got ", index);
      number ? integer(index.item().toLong()) : positions(index.detach().to(part.device(), kLong));
    }
  }
  void slice(const indexing::Slice& s) {
    if (!s.whole()) part = part.slice(static_cast<int64_t>(dim), s.start(), s.stop(), s.step());
    ++dim;
  }
};

void check_named(const Tensor& self, int64_t named, const char* operation) {
  check_index(named == 0 || self.dim() > 0, operation, ": invalid index of a 0-dim tensor; use item()");
  check_index(named <= self.dim(), operation, ": too many indices for tensor of dimension ", self.dim(), ": ", named,
              ", the tensor is ", self);
}

Reader read_list(const Tensor& self, ArrayRef<TensorIndex> list, const char* operation) {
  check_index(!list.empty(), "Passing an empty index list to Tensor::", operation, "() is not valid syntax");
  int64_t named = 0, ellipses = 0;
  for (const TensorIndex& index : list) {
    named += dims_named(index);
    ellipses += index.kind() == Kind::kEllipsis ? 1 : 0;
  }
  check_named(self, named, operation);
  check_index(ellipses <= 1, operation, ": expected at most one ellipsis");
  Reader reader(self);
  reader.at.operation = operation;
  for (const TensorIndex& index : list) {
    switch (index.kind()) {
      case Kind::kNone:
        reader.new_dim();
        ++reader.dim;
        break;
      case Kind::kEllipsis:
        reader.dim += static_cast<std::size_t>(self.dim() - named);
        break;
      case Kind::kInteger:
        reader.integer(index.integer());
        break;
      case Kind::kBoolean:
        reader.boolean(index.boolean());
        break;
      case Kind::kSlice:
        reader.slice(index.slice());
        break;
      case Kind::kTensor:
        reader.tensor(index.tensor(), /*positional=*/false);
        break;
    }
  }
  return reader;
}

// The same for a list with one index tensor per dimension.
Reader read_tensors(const Tensor& self, TensorList indices, const char* operation) {
  Reader reader(self);
  reader.at.operation = operation;
  int64_t named = 0;
  for (const Tensor& t : indices) named += t.defined() && is_mask(t) ? t.dim() : 1;
  check_named(self, named, operation);
  for (const Tensor& t : indices) reader.tensor(t, /*positional=*/true);
  return reader;
}

// Returns a view for a list without masks and index tensors, otherwise a new tensor.
Tensor finish_read(const Tensor& self, Reader& reader) {
  if (reader.advanced) return index_read(reader.part, reader.at);
  return reader.part.is_same(self) ? self.view_as(self) : reader.part;
}

// Number of dimensions of the indexed part.
int64_t rank_of(const Reader& reader) {
  int64_t rank = reader.part.dim(), positions = 0;
  for (const Tensor& t : reader.at.indices) {
    if (!t.defined()) continue;
    --rank;
    positions = std::max(positions, t.dim());
  }
  return rank + positions;
}

// Drops leading dimensions of size 1 in excess of the target's rank.
Tensor drop_leading(const Tensor& values, int64_t rank) {
  Tensor out = values;
  while (out.dim() > rank && out.size(0) == 1) out = out.select(0, 0);
  return out;
}

void finish_write(const Tensor& self, Reader& reader, const Tensor& given, bool accumulate) {
  const Tensor& target = reader.part.is_same(self) ? self : reader.part;
  const Tensor value = drop_leading(given, rank_of(reader));
  if (reader.advanced)
    index_write_(target, reader.at, value, accumulate);
  else if (accumulate)
    target.add_(value);
  else
    target.copy_(value);
}

}  // namespace

Tensor index(const Tensor& self, TensorList indices) {
  Reader reader = read_tensors(self, indices, "index");
  return finish_read(self, reader);
}

Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  Tensor out = self.clone();
  return out.index_put_(indices, values, accumulate);
}

Tensor Tensor::index(ArrayRef<TensorIndex> indices) const {
  Reader reader = read_list(*this, indices, "index");
  return finish_read(*this, reader);
}
Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  return index(ArrayRef<TensorIndex>(indices.begin(), indices.size()));
}

Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Tensor& value) const {
  Reader reader = read_list(*this, indices, "index_put_");
  finish_write(*this, reader, value, /*accumulate=*/false);
  return tandem::detail::mutable_handle(*this);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& value) const {
  return index_put_(ArrayRef<TensorIndex>(indices.begin(), indices.size()), value);
}
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Scalar& value) const {
  return index_put_(indices, full({}, value, TensorOptions(dtype()).device(device())));
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) const {
  return index_put_(ArrayRef<TensorIndex>(indices.begin(), indices.size()), value);
}
Tensor& Tensor::index_put_(ArrayRef<Tensor> indices, const Tensor& value, bool accumulate) const {
  Reader reader = read_tensors(*this, indices, "index_put_");
  finish_write(*this, reader, value, accumulate);
  return tandem::detail::mutable_handle(*this);
}

Tensor Tensor::operator[](const Tensor& at) const { return index({at}); }

Tensor Tensor::index_put(ArrayRef<Tensor> indices, const Tensor& value, bool accumulate) const {
  return tandem::index_put(*this, indices, value, accumulate);
}

}  // namespace tandem
