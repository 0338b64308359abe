// split, chunk, tensor_split and unbind: several views that partition one dimension. Gradient: the
// concatenation of the pieces' gradients; an unused piece counts as zeros.
#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

// One node for all pieces: with one slice node per piece, each would fill zeros of the whole size.
struct SplitBackward final : Node {
  const char* label() const override { return unbind ? "UnbindBackward" : "SplitBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const auto given = std::find_if(g.begin(), g.end(), [](const Tensor& t) { return t.defined(); });
    const TensorOptions options = given->options();
    std::vector<Tensor> pieces(g.begin(), g.end());
    for (std::size_t i = 0; i < pieces.size(); ++i)
      if (!pieces[i].defined()) pieces[i] = zeros(outputs[i].sizes, options);
    out[0] = unbind ? stack(pieces, dim) : cat(pieces, dim);
  }
  int64_t dim = 0;
  bool unbind = false;
};

void record_split(const std::vector<Tensor>& pieces, const Tensor& self, int64_t dim, bool unbind) {
  if (pieces.empty()) return;
  if (auto* node = record_list<SplitBackward>(pieces, TensorList(self))) {
    node->dim = dim;
    node->unbind = unbind;
  }
}

// Limits the number of pieces, because each is a tensor that itself takes memory.
void check_pieces(const char* operation, int64_t count) {
  constexpr int64_t most = int64_t{1} << 24;
  check(count <= most, operation, ": ", count, " pieces are too many, expected at most ", most);
}

// Cuts the tensor into pieces that end before ends[0], ends[1], …
std::vector<Tensor> cut(const Tensor& self, int64_t dim, std::span<const int64_t> ends) {
  const auto d = static_cast<std::size_t>(dim);
  Dims sizes(self.sizes());
  const int64_t stride = self.strides()[d];
  std::vector<Tensor> out;
  out.reserve(ends.size());
  int64_t start = 0;
  for (int64_t end : ends) {
    sizes[d] = end - start;
    out.push_back(make_view(self, sizes, self.strides(), self.storage_offset() + start * stride));
    start = end;
  }
  record_split(out, self, dim, false);
  return out;
}

int64_t check_dim(const Tensor& self, int64_t dim, const char* operation) {
  check(self.dim() > 0, operation, ": expected at least 1 dimension, got ", self);
  return wrap_dim(dim, self.dim());
}

}  // namespace

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  dim = check_dim(self, dim, "split");
  const int64_t size = self.size(dim);
  check(split_size >= 0, "split: split_size must not be negative, got ", split_size);
  check(split_size > 0 || size == 0, "split: split_size must be positive for dimension ", dim, " of size ", size);
  if (size > 0) check_pieces("split", (size - 1) / split_size + 1);
  std::vector<int64_t> ends;
  for (int64_t end = 0; end < size;) ends.push_back(end = size - end <= split_size ? size : end + split_size);
  if (ends.empty()) ends.push_back(0);
  return cut(self, dim, ends);
}

std::vector<Tensor> split(const Tensor& self, IntArrayRef sizes, int64_t dim) {
  dim = check_dim(self, dim, "split");
  std::vector<int64_t> ends;
  int64_t sum = 0;
  for (int64_t size : sizes) {
    check(size >= 0 && !__builtin_add_overflow(sum, size, &sum), "split: bad sizes ", sizes);
    ends.push_back(sum);
  }
  check(sum == self.size(dim), "split: sizes ", sizes, " add up to ", sum, ", but dimension ", dim, " has size ",
        self.size(dim), "\n  self ", self);
  return cut(self, dim, ends);
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  dim = check_dim(self, dim, "chunk");
  check(chunks > 0, "chunk: expected at least 1 chunk, got ", chunks);
  const int64_t size = self.size(dim);
  if (size > 0) return split(self, (size - 1) / chunks + 1, dim);
  check_pieces("chunk", chunks);
  return cut(self, dim, std::vector<int64_t>(static_cast<std::size_t>(chunks), 0));
}

std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim) {
  dim = check_dim(self, dim, "tensor_split");
  check(sections > 0, "tensor_split: expected at least 1 section, got ", sections);
  check_pieces("tensor_split", sections);
  std::vector<int64_t> ends;
  for (int64_t i = 0, end = 0; i < sections; ++i)
    ends.push_back(end += self.size(dim) / sections + (i < self.size(dim) % sections ? 1 : 0));
  return cut(self, dim, ends);
}

std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, int64_t dim) {
  dim = check_dim(self, dim, "tensor_split");
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t end : indices) {
    out.push_back(slice(self, dim, start, end));
    start = end;
  }
  out.push_back(slice(self, dim, start));
  return out;
}

std::vector<Tensor> tensor_split(const Tensor& self, const Tensor& indices_or_sections, int64_t dim) {
  const Tensor& given = indices_or_sections;
  check(given.is_cpu() && given.dtype() == kLong && given.dim() <= 1,
        "tensor_split: expected a number or a vector, int64 on the CPU, got ", given);
  if (given.dim() == 0) return tensor_split(self, given.item<int64_t>(), dim);
  const Tensor indices = given.contiguous();
  return tensor_split(self, IntArrayRef(indices.ptr<int64_t>(), static_cast<std::size_t>(indices.numel())), dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  dim = check_dim(self, dim, "unbind");
  check_pieces("unbind", self.size(dim));
  const auto d = static_cast<std::size_t>(dim);
  Dims sizes(self.sizes()), strides(self.strides());
  sizes.erase(d);
  strides.erase(d);
  std::vector<Tensor> out;
  out.reserve(static_cast<std::size_t>(self.size(dim)));
  for (int64_t i = 0; i < self.size(dim); ++i)
    out.push_back(make_view(self, sizes, strides, self.storage_offset() + i * self.strides()[d]));
  record_split(out, self, dim, true);
  return out;
}

std::vector<Tensor> Tensor::split(int64_t split_size, int64_t dim) const {
  return tandem::split(*this, split_size, dim);
}
std::vector<Tensor> Tensor::split(IntArrayRef sizes, int64_t dim) const { return tandem::split(*this, sizes, dim); }
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const { return tandem::chunk(*this, chunks, dim); }
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return tandem::unbind(*this, dim); }

std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t dim) const {
  return tandem::tensor_split(*this, sections, dim);
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t dim) const {
  return tandem::tensor_split(*this, indices, dim);
}
std::vector<Tensor> Tensor::tensor_split(const Tensor& indices_or_sections, int64_t dim) const {
  return tandem::tensor_split(*this, indices_or_sections, dim);
}

namespace {
int64_t named_dim(const char* operation, const Tensor& self, int64_t least, int64_t dim) {
  check(self.dim() >= least, operation, ": expected at least ", least, " dimensions, got ", self);
  return self.dim() == 1 ? 0 : dim;
}
// Like NumPy's, which only cuts into equal pieces.
std::vector<Tensor> even(const char* operation, const Tensor& self, int64_t sections, int64_t dim) {
  check(sections > 0 && self.size(dim) % sections == 0, operation, ": the size of dimension ", dim,
        " is not divisible by ", sections, ": ", self);
  return tandem::tensor_split(self, sections, dim);
}
}  // namespace

#define TANDEM_NAMED_SPLIT(f, least, dim)                                                      \
  std::vector<Tensor> f(const Tensor& self, int64_t sections) {                                \
    return even(#f, self, sections, named_dim(#f, self, least, dim));                          \
  }                                                                                            \
  std::vector<Tensor> f(const Tensor& self, IntArrayRef indices) {                             \
    return tandem::tensor_split(self, indices, named_dim(#f, self, least, dim));               \
  }                                                                                            \
  std::vector<Tensor> Tensor::f(int64_t sections) const { return tandem::f(*this, sections); } \
  std::vector<Tensor> Tensor::f(IntArrayRef indices) const { return tandem::f(*this, indices); }
TANDEM_NAMED_SPLIT(hsplit, 1, 1)
TANDEM_NAMED_SPLIT(vsplit, 2, 0)
TANDEM_NAMED_SPLIT(dsplit, 3, 2)
#undef TANDEM_NAMED_SPLIT

}  // namespace tandem
