// Fractional max pooling: the positions of all windows' elements, a gather, and a maximum.
#include "tandem/autograd/ops/nn/fractional_max_pool.h"

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/triple.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

// The elements of the windows along one dimension: int64 [N, C, out, kernel],
// computed in the type of the samples [N, C].
Tensor elements(const Tensor& samples, int64_t in, int64_t out, int64_t kernel) {
  const Tensor u = samples.unsqueeze(-1);
  const Tensor last = full({samples.size(0), samples.size(1), 1}, in - kernel, samples.options().dtype(kLong));
  Tensor begin = last;
  if (out > 1) {
    // The quotient is rounded to the samples' type first.
    const Tensor alpha = full({1}, static_cast<double>(in - kernel), samples.options()) / static_cast<double>(out - 1);
    const Tensor i = arange(out - 1, samples.options());
    begin = cat({(((i + u) * alpha).trunc() - (u * alpha).trunc()).to(kLong), last}, -1);
  }
  return begin.unsqueeze(-1) + arange(kernel, begin.options());
}

// x: [N, C, ...] with `rank` more dimensions, whose samples are samples[..., order[d]].
std::tuple<Tensor, Tensor> pool(const char* operation, const Tensor& x, ArrayRef<int64_t> kernel, ArrayRef<int64_t> out,
                                const Tensor& samples, ArrayRef<int64_t> order) {
  const auto rank = static_cast<int64_t>(kernel.size());
  Tensor places;  // of every window's elements in a volume: [N, C, out…, kernel…] with sizes of 1 still to come
  Dims sizes{x.size(0), x.size(1)};
  for (int64_t d = 0; d < rank; ++d) {
    const auto k = static_cast<std::size_t>(d);
    // As in PyTorch, the windows of volumes need an element more.
    const int64_t least = add_sizes(operation, out[k], kernel[k]) - (rank == 3 ? 0 : 1);
    check(x.size(d + 2) >= least, operation, ": ", out[k], " windows of ", kernel[k], " need ", least,
          " elements in dimension ", d + 2, " of ", x);
    Dims shape(static_cast<std::size_t>(2 + 2 * rank), 1);
    shape[0] = x.size(0);
    shape[1] = x.size(1);
    shape[2 + k] = out[k];
    shape[static_cast<std::size_t>(2 + rank) + k] = kernel[k];
    sizes.push_back(out[k]);
    const Tensor along = elements(samples.select(-1, order[k]), x.size(d + 2), out[k], kernel[k]).view(shape);
    places = places.defined() ? places * x.size(d + 2) + along : along;
  }
  const Tensor flat = places.flatten(2 + rank, -1);  // [N, C, out…, window]
  const Tensor windows = x.flatten(2, -1).gather(-1, flat.flatten(2, -1)).view(flat.sizes());
  const auto [maxima, at] = tandem::max(windows, -1);
  return {maxima, flat.gather(-1, at.unsqueeze(-1)).squeeze(-1)};
}

std::tuple<Tensor, Tensor> checked(const char* operation, const Tensor& self, ArrayRef<int64_t> kernel,
                                   ArrayRef<int64_t> out, const Tensor& samples, ArrayRef<int64_t> order) {
  if (const auto to = autocast::full_precision_on_cpu(self))
    return checked(operation, to(self), kernel, out, to(samples), order);
  const auto rank = static_cast<int64_t>(kernel.size());
  check(self.dim() == rank + 1 || self.dim() == rank + 2, operation, ": expected [N, C] or [C] and ", rank,
        " more dimensions, got ", self);
  const Tensor x = self.dim() == rank + 2 ? self : self.unsqueeze(0);
  check(samples.dim() == 3 && samples.size(0) == x.size(0) && samples.size(1) == x.size(1) && samples.size(2) == rank,
        operation, ": random_samples must be [N, C, ", rank, "]\n  input   ", self, "\n  samples ", samples);
  autograd::check_alike(operation, "input  ", self, "samples", samples);
  for (int64_t d = 1; d < x.dim(); ++d) check(x.size(d) > 0, operation, ": the input is empty: ", self);
  auto [maxima, at] = pool(operation, x, kernel, out, samples.detach(), order);
  if (self.dim() == rank + 2) return {maxima, at};
  return {maxima.squeeze(0), at.squeeze(0)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Tensor& random_samples) {
  std::array<int64_t, 2> kernel, out;
  autograd::set_pair("fractional_max_pool2d", "kernel_size", kernel_size, 1, kernel);
  autograd::set_pair("fractional_max_pool2d", "output_size", output_size, 1, out);
  const int64_t order[2] = {1, 0};
  return checked("fractional_max_pool2d", self, kernel, out, random_samples, ArrayRef<int64_t>(order, 2));
}

std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Tensor& random_samples) {
  const autograd::Triple kernel = autograd::triple("fractional_max_pool3d", "kernel_size", kernel_size, 1),
                         out = autograd::triple("fractional_max_pool3d", "output_size", output_size, 1);
  const int64_t order[3] = {0, 1, 2};
  return checked("fractional_max_pool3d", self, kernel, out, random_samples, ArrayRef<int64_t>(order, 3));
}

}  // namespace tandem
