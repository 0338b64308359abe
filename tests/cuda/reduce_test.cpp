// Every CUDA reduction kernel against the CPU's.
#include <bit>

#include "tandem/core/backend/reduce.h"
#include "tandem/tests/cuda/compare_devices.h"

using namespace tandem;

namespace {

using Shapes = std::vector<std::vector<int64_t>>;
// Shapes on both sides of every threshold of the layouts.
const Shapes kAll = {{},         {1},          {7},       {5000},     {70001},      {3, 4},
                     {1000, 10}, {10, 1000},   {33, 129}, {2, 3, 37}, {64, 1, 256}, {3, 5000},
                     {5000, 3},  {6000, 2, 3}, {0, 4},    {4, 0},     {2, 8, 4, 6}};
// One shape per layout.
const Shapes kFew = {{}, {5000}, {3, 4}, {33, 129}, {2, 3, 37}, {300, 3}, {0, 4}};

Tensor sample(IntArrayRef sizes, ScalarType type) {
  Generator generator(7);
  if (is_floating_point(type)) return rand(sizes, generator, TensorOptions(type)) * 2 - 1;
  return randint(0, 5, sizes, generator, TensorOptions(kLong)).to(type);
}

// Every mask of every shape, in three layouts: contiguous, transposed, and every second element.
template <class F>
void for_layouts(const Shapes& shapes, ScalarType type, F f) {
  for (const auto& sizes : shapes) {
    const Tensor x = sample(sizes, type);
    std::vector<Tensor> layouts{x};
    if (x.dim() >= 2) layouts.push_back(x.transpose(0, -1));
    if (x.dim() >= 1 && x.size(-1) > 1) layouts.push_back(x.slice(-1, 1, x.size(-1), 2));
    for (const Tensor& t : layouts)
      for (uint32_t mask = 0; mask < 1u << t.dim(); ++mask) f(t, mask);
  }
}

Tensor outputs(const Tensor& in, uint32_t mask, ScalarType type, Device device) {
  Dims sizes(in.sizes());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (mask >> d & 1u) sizes[d] = 1;
  return empty_raw(sizes, type, device);
}

template <class Fold>
void agrees(const Shapes& shapes, const char* name, Fold ReduceKernels::*kernel, ScalarType in_type,
            ScalarType out_type) {
  for_layouts(shapes, in_type, [&](const Tensor& x, uint32_t mask) {
    const Tensor here = outputs(x, mask, out_type, kCPU), there = outputs(x, mask, out_type, cuda0());
    (backend(here).reduce.*kernel)(here, x, mask);
    (backend(there).reduce.*kernel)(there, to_cuda(x), mask);
    INFO(std::string(name), " ", std::string(tandem::name(in_type)), " mask ", mask, " dims ", x.dim(), " elements ",
         x.numel());
    CHECK(near(there.cpu(), here, tolerance_of(out_type)));
  });
}

}  // namespace

TEST_CASE("reductions agree with the CPU") {
  if (!has_devices(1)) return;
  const auto wide = [](ScalarType t) { return is_floating_point(t) ? t : kLong; };
  agrees(kAll, "sum", &ReduceKernels::sum, kFloat, kFloat);
  agrees(kAll, "amax", &ReduceKernels::amax, kByte, kByte);
  for (const ScalarType t : {kDouble, kInt, kByte, kBool}) {
    agrees(kFew, "sum", &ReduceKernels::sum, t, wide(t));
    agrees(kFew, "amax", &ReduceKernels::amax, t, t);
    agrees(kFew, "any", &ReduceKernels::any, t, kBool);
  }
  for (const ScalarType t : {kFloat, kLong}) {
    agrees(kFew, "prod", &ReduceKernels::prod, t, wide(t));
    agrees(kFew, "amin", &ReduceKernels::amin, t, t);
    agrees(kFew, "all", &ReduceKernels::all, t, kBool);
    agrees(kFew, "count_nonzero", &ReduceKernels::count_nonzero, t, kLong);
  }
  agrees(kFew, "mean", &ReduceKernels::mean, kFloat, kFloat);
}

TEST_CASE("reductions with parameters agree with the CPU") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kDouble})
    for_layouts(kFew, type, [&](const Tensor& x, uint32_t mask) {
      if (x.numel() == 0) return;
      const Tensor here = outputs(x, mask, type, kCPU), there = outputs(x, mask, type, cuda0());
      const Tensor shift = outputs(x, mask, type, kCPU), z = to_cuda(x);
      const auto check = [&](const char* name) {
        INFO(std::string(name), " mask ", mask, " dims ", x.dim(), " elements ", x.numel());
        CHECK(near(there.cpu(), here, tolerance_of(type)));
      };
      backend(x).reduce.mean(shift, x, mask);
      backend(x).reduce.squared_deviation(here, x, shift, mask, 3, true);
      backend(z).reduce.squared_deviation(there, z, to_cuda(shift), mask, 3, true);
      check("squared_deviation");
      backend(x).reduce.amax(shift, x, mask);
      backend(x).reduce.logsumexp(here, x, shift, mask);
      backend(z).reduce.logsumexp(there, z, to_cuda(shift), mask);
      check("logsumexp");
      for (const double p : {0.0, 1.0, 2.0, 3.5, HUGE_VAL, -HUGE_VAL}) {
        backend(x).reduce.norm(here, x, mask, p);
        backend(z).reduce.norm(there, z, mask, p);
        check("norm");
      }
    });
}

TEST_CASE("extremes and their indices, with NaN and ties") {
  if (!has_devices(1)) return;
  for (const ScalarType type : {kFloat, kLong, kByte, kBool})
    for_layouts(kFew, type, [&](const Tensor& source, uint32_t mask) {
      if (source.numel() == 0 || (mask & (mask - 1)) != 0 || (mask == 0) != (source.dim() == 0)) return;
      Tensor x = source;
      if (type == kFloat) {
        x = source.clone();
        for (int64_t i = 0; i < x.numel(); i += 1777) x.view({-1})[i] = std::nan("");
      }
      const int64_t dim = mask == 0 ? 0 : std::countr_zero(mask);
      const Tensor z = to_cuda(x);
      const auto agrees = [&](auto kernel) {
        const Tensor v = outputs(x, mask, type, kCPU), i = outputs(x, mask, kLong, kCPU);
        const Tensor w = outputs(x, mask, type, cuda0()), j = outputs(x, mask, kLong, cuda0());
        (backend(x).reduce.*kernel)(v, i, x, dim);
        (backend(z).reduce.*kernel)(w, j, z, dim);
        INFO(std::string(tandem::name(type)), " dim ", dim, " elements ", x.numel());
        CHECK(near(w.cpu(), v, 0));
        CHECK(near(j.cpu(), i, 0));
      };
      agrees(&ReduceKernels::max_index);
      agrees(&ReduceKernels::min_index);
    });
}
