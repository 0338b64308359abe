// The plan of a view: from strides to axes of the memory.
#include "tandem/onnx/export/geometry.h"

#include <algorithm>
#include <numeric>

namespace tandem::onnx::exporter {

int64_t numel_of(const Ints& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

Geometry geometry_of(const Tensor& t) {
  return {t.scalar_type(), Ints(t.sizes().begin(), t.sizes().end()), Ints(t.strides().begin(), t.strides().end()),
          t.storage_offset()};
}

Geometry row_major(ScalarType dtype, Ints sizes, int64_t offset) {
  const Dims strides = contiguous_strides(sizes);
  return {dtype, std::move(sizes), Ints(strides.begin(), strides.end()), offset};
}

namespace {

// The dimensions of more than one element, those with large strides first.
std::vector<int> by_stride(const Geometry& g) {
  std::vector<int> dims;
  for (std::size_t d = 0; d < g.sizes.size(); ++d)
    if (g.sizes[d] != 1) dims.push_back(static_cast<int>(d));
  std::stable_sort(dims.begin(), dims.end(), [&](int a, int b) {
    return g.strides[static_cast<std::size_t>(a)] > g.strides[static_cast<std::size_t>(b)];
  });
  return dims;
}
int64_t size_at(const Geometry& g, int dim) { return g.sizes[static_cast<std::size_t>(dim)]; }
int64_t stride_at(const Geometry& g, int dim) { return g.strides[static_cast<std::size_t>(dim)]; }

// A set of dimensions of the view that are found along one axis.
struct Group {
  std::vector<int> dims;
  int64_t unit, room;  // the axis has room / unit positions
};

// The largest stride of the dense tensor that divides both.
int64_t unit_for(const Geometry& from, int64_t stride, int64_t room) {
  int64_t best = 1;
  for (std::size_t d = 0; d < from.sizes.size(); ++d) {
    const int64_t s = from.strides[d];
    if (from.sizes[d] != 1 && s > best && s < room && stride % s == 0 && room % s == 0) best = s;
  }
  return best;
}

int64_t reach(const Geometry& view, const Group& group) {
  int64_t last = 0;
  for (const int d : group.dims) last += (size_at(view, d) - 1) * stride_at(view, d);
  return last / group.unit;
}

void merge_into_next(std::vector<Group>& groups, std::size_t i) {
  Group& next = groups[i + 1];
  next.dims.insert(next.dims.begin(), groups[i].dims.begin(), groups[i].dims.end());
  next.room = groups[i].room;
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
}

std::vector<Group> groups_of(const Geometry& from, const Geometry& view) {
  std::vector<Group> groups;
  int64_t room = numel_of(from.sizes);
  for (const int d : by_stride(view)) {
    const int64_t stride = stride_at(view, d);
    if (stride == 0) continue;
    const int64_t unit = stride < room && room % stride == 0 ? stride : unit_for(from, stride, room);
    groups.push_back({{d}, unit, room});
    room = unit;
  }
  if (room > 1) groups.push_back({{}, 1, room});
  return groups;
}

Axis axis_of(const Geometry& view, const Group& group, int64_t start) {
  Axis axis{.unit = group.unit, .size = group.room / group.unit, .start = start, .dims = group.dims};
  for (const int d : group.dims) axis.counts.push_back(size_at(view, d));
  if (group.dims.size() == 1) axis.step = stride_at(view, group.dims[0]) / group.unit;
  if (group.dims.size() < 2) return axis;
  axis.index = {start};
  for (const int d : group.dims) {
    Ints next;
    for (const int64_t place : axis.index)
      for (int64_t i = 0; i < size_at(view, d); ++i) next.push_back(place + i * (stride_at(view, d) / group.unit));
    axis.index = std::move(next);
  }
  return axis;
}

// Cuts an axis at the strides of the dense tensor where that leaves single positions, so that a selection needs no
// reshape: [N, T C] becomes [N, T, C].
void cut(const Geometry& from, std::vector<Axis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = axes[i];
    if (!axis.index.empty() || axis.is_whole()) continue;
    int64_t at = 0;
    for (std::size_t d = 0; d < from.sizes.size(); ++d) {
      const int64_t s = from.strides[d];
      if (from.sizes[d] == 1 || s <= axis.unit || s >= axis.unit * axis.size || s % axis.unit != 0 ||
          axis.unit * axis.size % s != 0)
        continue;
      const int64_t block = s / axis.unit, last = axis.start + (axis.count() - 1) * axis.step;
      if (axis.start / block == last / block && s > at) at = s;
    }
    if (at == 0) continue;
    const int64_t block = at / axis.unit;
    Axis outer{.unit = at, .size = axis.size / block, .start = axis.start / block};
    axis.size = block;
    axis.start %= block;
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(i), std::move(outer));
  }
}

}  // namespace

bool is_dense(const Geometry& g) {
  const std::vector<int> dims = by_stride(g);
  int64_t expected = 1;
  for (std::size_t k = dims.size(); k-- > 0;) {
    if (stride_at(g, dims[k]) != expected) return false;
    expected *= size_at(g, dims[k]);
  }
  return true;
}

bool same_elements(const Geometry& a, const Geometry& b) {
  if (a.dtype != b.dtype || a.offset != b.offset) return false;
  std::vector<std::pair<int64_t, int64_t>> dims[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const Geometry& g = k == 0 ? a : b;
    for (std::size_t d = 0; d < g.sizes.size(); ++d)
      if (g.sizes[d] != 1) dims[k].push_back({g.sizes[d], g.strides[d]});
  }
  return dims[0] == dims[1];
}

std::optional<ViewPlan> plan_view(const Geometry& from, const Geometry& view) {
  int64_t last = view.offset;
  for (std::size_t d = 0; d < view.sizes.size(); ++d) last += (view.sizes[d] - 1) * view.strides[d];
  if (view.offset < from.offset || last >= from.offset + numel_of(from.sizes)) return std::nullopt;
  std::vector<Group> groups = groups_of(from, view);
  ViewPlan plan;
  for (bool fits = false; !fits;) {
    plan.axes.clear();
    fits = true;
    int64_t left = view.offset - from.offset;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Group& group = groups[i];
      const int64_t start = left / group.unit;
      left %= group.unit;
      if (start + reach(view, group) >= group.room / group.unit) {  // it runs into the next position of the axis before
        if (i == 0) return std::nullopt;
        merge_into_next(groups, i - 1);
        fits = false;
        break;
      }
      plan.axes.push_back(axis_of(view, group, start));
    }
  }
  cut(from, plan.axes);
  plan.to_memory = by_stride(from);
  if (std::is_sorted(plan.to_memory.begin(), plan.to_memory.end())) {  // in order: dimensions of size 1 stay
    plan.to_memory.resize(from.sizes.size());
    std::iota(plan.to_memory.begin(), plan.to_memory.end(), 0);
  } else {
    for (std::size_t d = 0; d < from.sizes.size(); ++d)
      if (from.sizes[d] == 1) plan.to_memory.push_back(static_cast<int>(d));
  }
  return plan;
}

}  // namespace tandem::onnx::exporter
