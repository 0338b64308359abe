// repeat, tile and repeat_interleave: copies of expanded views, so their gradients are sums.
#include "tandem/autograd/ops/view/repeat.h"

namespace tandem {
namespace {

Tensor repeat_dim(const Tensor& self, int64_t dim, int64_t count) {
  const auto d = static_cast<std::size_t>(dim);
  Dims sizes(self.sizes());
  const int64_t size = sizes[d];
  int64_t longer = 0;
  check(!__builtin_mul_overflow(size, count, &longer), "repeat: too many elements");
  sizes.insert(d, count);
  Dims joined(self.sizes());
  joined[d] = longer;
  return self.unsqueeze(dim).expand(sizes).reshape(joined);
}

void check_size(optional<int64_t> expected, int64_t size) {
  check(expected.value_or(size) == size, "repeat_interleave: Invalid output_size, expected ", size, " but got ",
        expected.value_or(size));
}

// Input position of each output element: i occurs repeats[i] times.
Tensor positions(const Tensor& repeats) {
  const Tensor counts = repeats.to(kCPU).to(kLong).contiguous();
  const int64_t* count = counts.ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    check(count[i] >= 0, "repeat_interleave: repeats must not be negative, got ", count[i]);
    check(!__builtin_add_overflow(total, count[i], &total), "repeat_interleave: too many elements");
  }
  Tensor out = empty_raw({total}, kLong, counts.device());
  int64_t* to = out.ptr<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i)
    for (int64_t k = 0; k < count[i]; ++k) *to++ = i;
  return out.to(repeats.device());
}

}  // namespace

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  check(static_cast<int64_t>(repeats.size()) >= self.dim(), "repeat: ", repeats,
        " has fewer numbers than the tensor dimensions: ", self);
  Dims sizes(repeats.size(), 1);
  const std::size_t extra = repeats.size() - self.sizes().size();
  for (std::size_t d = extra; d < repeats.size(); ++d) sizes[d] = self.sizes()[d - extra];
  Tensor out = self.reshape(sizes);
  for (std::size_t d = repeats.size(); d-- > 0;) {
    check(repeats[d] >= 0, "repeat: repeats must not be negative, got ", repeats);
    if (repeats[d] != 1) out = repeat_dim(out, static_cast<int64_t>(d), repeats[d]);
  }
  return out.is_contiguous() && out.storage() != self.storage() ? out : out.clone();
}

Tensor tile(const Tensor& self, IntArrayRef repeats) {
  Dims counts(repeats);
  while (static_cast<int64_t>(counts.size()) < self.dim()) counts.insert(0, 1);
  return repeat(self, counts);
}

Tensor repeat_interleave(const Tensor& self, int64_t repeats, optional<int64_t> dim, optional<int64_t> output_size) {
  check(repeats >= 0, "repeat_interleave: repeats must not be negative, got ", repeats);
  const Tensor x = dim ? self : self.reshape({-1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim());
  Dims sizes(x.sizes());
  if (sizes.empty()) sizes.push_back(1);
  int64_t length = 0;
  check(!__builtin_mul_overflow(sizes[static_cast<std::size_t>(d)], repeats, &length),
        "repeat_interleave: too many elements");
  check_size(output_size, length);
  sizes.insert(static_cast<std::size_t>(d) + 1, repeats);
  return (x.dim() == 0 ? x.reshape({1, 1}) : x.unsqueeze(d + 1)).expand(sizes).clone().flatten(d, d + 1);
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, optional<int64_t> dim,
                         optional<int64_t> output_size) {
  check(repeats.dim() <= 1 && is_integral(repeats.dtype(), false),
        "repeat_interleave: repeats must be a vector of integers, got ", repeats);
  const Tensor x = dim ? self : self.reshape({-1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim());
  if (repeats.numel() == 1) return repeat_interleave(x, repeats.item<int64_t>(), d, output_size);
  check(x.dim() > 0 && repeats.numel() == x.size(d), "repeat_interleave: ", repeats.numel(), " repeats for dimension ",
        d, " of ", x);
  const Tensor from = positions(repeats);
  check_size(output_size, from.numel());
  return x.index_select(d, from);
}

Tensor repeat_interleave(const Tensor& repeats, optional<int64_t> output_size) {
  check(repeats.dim() == 1 && (repeats.dtype() == kInt || repeats.dtype() == kLong),
        "repeat_interleave: repeats must be a vector of int32 or int64, got ", repeats);
  const Tensor out = positions(repeats);
  check_size(output_size, out.numel());
  return out.to(repeats.dtype());
}

Tensor Tensor::repeat(IntArrayRef repeats) const { return tandem::repeat(*this, repeats); }
Tensor Tensor::repeat_interleave(int64_t repeats, optional<int64_t> dim, optional<int64_t> output_size) const {
  return tandem::repeat_interleave(*this, repeats, dim, output_size);
}
Tensor Tensor::repeat_interleave(const Tensor& repeats, optional<int64_t> dim, optional<int64_t> output_size) const {
  return tandem::repeat_interleave(*this, repeats, dim, output_size);
}
Tensor Tensor::tile(IntArrayRef repeats) const { return tandem::tile(*this, repeats); }

}  // namespace tandem
