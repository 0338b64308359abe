// Regions of images.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

using List = std::vector<int64_t>;

// ---- RoiAlign

struct Region {
  double y, x, bin_height, bin_width;  ///< in the image: the first corner, and the parts that are pooled
};
/// Regions of one image with as many samples in each part: they are computed together.
struct Group {
  int64_t image, down, across;
  auto operator<=>(const Group&) const = default;
};

/// The places [regions parts samples] along one dimension.
Tensor places(const std::vector<Region>& regions, bool vertical, int64_t parts, int64_t samples,
              const TensorOptions& options) {
  std::vector<double> out;
  for (const Region& r : regions)
    for (int64_t p = 0; p < parts; ++p)
      for (int64_t s = 0; s < samples; ++s) {
        const double bin = vertical ? r.bin_height : r.bin_width;
        out.push_back((vertical ? r.y : r.x) +
                      bin * (static_cast<double>(p) + (static_cast<double>(s) + 0.5) / static_cast<double>(samples)));
      }
  return tensor(out, options).view({static_cast<int64_t>(regions.size()), parts * samples});
}
// Places up to one element outside count as those on the border, all others as nothing.
Tensor is_inside(const Tensor& at, int64_t size) { return at.ge(-1).logical_and(at.le(size)); }

/// [C, regions, parts of height, parts of width]
Tensor aligned(const Tensor& image, const std::vector<Region>& regions, const Group& g, int64_t height, int64_t width,
               bool mean) {
  const auto count = static_cast<int64_t>(regions.size());
  const int64_t channels = image.size(0), h = image.size(1), w = image.size(2);
  const TensorOptions options = image.options().requires_grad(false);
  const Tensor ys = places(regions, true, height, g.down, options.dtype(kDouble)).unsqueeze(2);
  const Tensor xs = places(regions, false, width, g.across, options.dtype(kDouble)).unsqueeze(1);
  const Tensor inside = is_inside(ys, h).logical_and(is_inside(xs, w)).to(image.scalar_type());
  const Dims sampled{channels, count, height * g.down, width * g.across};
  const Dims split{channels, count, height, g.down, width, g.across};
  const Tensor y = ys.clamp(0, h - 1).expand(inside.sizes()), x = xs.clamp(0, w - 1).expand(inside.sizes());
  if (mean) {
    const ScalarType dtype = image.scalar_type() == kDouble ? kDouble : kFloat;  // a half type would move the positions
    const Tensor grid = stack({(x * 2 + 1) / w - 1, (y * 2 + 1) / h - 1}, -1).to(dtype);
    const Tensor read =
        grid_sampler(image.unsqueeze(0).to(dtype), grid.view({1, count * sampled[2], sampled[3], 2}), 0, 1, false)
            .to(image.scalar_type());
    return (read.view(sampled) * inside).view(split).mean({3, 5});
  }
  // The maximum of the weighted elements around every sample, before they are added up.
  const Tensor top = y.floor(), left = x.floor();
  Tensor most;
  for (const int64_t below : {0, 1})
    for (const int64_t right : {0, 1}) {
      const Tensor row = (top + below).clamp(0, h - 1), column = (left + right).clamp(0, w - 1);
      const Tensor weight = (below ? y - top : 1 - (y - top)) * (right ? x - left : 1 - (x - left));
      const Tensor read = image.flatten(1).index_select(1, (row * w + column).to(kLong).reshape({-1}));
      const Tensor part = read.view(sampled) * (weight.to(image.scalar_type()) * inside);
      most = most.defined() ? maximum(most, part) : part;
    }
  return most.view(split).amax({3, 5});
}

Tensor roi_align(Call& c) {
  const Tensor& x = c[0];
  const int64_t height = c.integer("output_height", 1), width = c.integer("output_width", 1);
  const int64_t ratio = c.integer("sampling_ratio", 0);
  const double scale = c.number("spatial_scale", 1.0);
  const std::string mode = c.text("mode", "avg");
  const std::string coordinates =
      c.version() < 16 ? "output_half_pixel" : c.text("coordinate_transformation_mode", "half_pixel");
  check(mode == "avg" || mode == "max", "unknown mode '", mode, "'");
  check(coordinates == "half_pixel" || coordinates == "output_half_pixel", "unknown coordinate_transformation_mode '",
        coordinates, "'");
  check(height >= 1 && width >= 1 && height <= INT32_MAX && width <= INT32_MAX && ratio >= 0 && ratio <= 1024,
        "output_height, output_width or sampling_ratio is out of range: ", height, ", ", width, ", ", ratio);
  const List images = c.integers(2);
  const auto count = static_cast<int64_t>(images.size());
  check(x.dim() == 4 && x.is_floating_point() && c[1].is_floating_point() && c[1].dim() == 2 && c[1].size(0) == count &&
            c[1].size(1) == 4,
        "expected images [N, C, H, W] and regions [", count, ", 4]\n  images  ", x, "\n  regions ", c[1]);
  const std::vector<double> rois = Call::values(c[1]);

  const bool half = coordinates == "half_pixel";
  std::map<Group, std::pair<std::vector<Region>, List>> groups;
  int64_t samples = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double* roi = rois.data() + 4 * i;
    const double shift = half ? 0.5 : 0;
    double tall = (roi[3] - roi[1]) * scale, wide = (roi[2] - roi[0]) * scale;
    if (!half) {
      tall = std::max(tall, 1.0);
      wide = std::max(wide, 1.0);
    }
    const Region region{roi[1] * scale - shift, roi[0] * scale - shift, tall / static_cast<double>(height),
                        wide / static_cast<double>(width)};
    check(std::abs(region.y) < 1e9 && std::abs(region.x) < 1e9 && std::abs(tall) < 1e9 && std::abs(wide) < 1e9,
          "a region is out of range");
    const auto number = [&](double bin) { return ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin)); };
    const auto at = static_cast<std::size_t>(i);
    check(images[at] >= 0 && images[at] < x.size(0), "there is no image ", images[at], " in ", x);
    const Group group{images[at], number(region.bin_height), number(region.bin_width)};
    if (group.down > 0 && group.across > 0)
      samples = add_sizes("RoiAlign", samples,
                          multiply_sizes("RoiAlign", multiply_sizes("RoiAlign", height, width),
                                         multiply_sizes("RoiAlign", group.down, group.across)));
    check(samples < int64_t{1} << 24, "there are too many samples");
    groups[group].first.push_back(region);
    groups[group].second.push_back(i);
  }
  std::vector<Tensor> parts;
  List order;
  for (const auto& [group, entry] : groups) {
    const auto& [regions, indices] = entry;
    order.insert(order.end(), indices.begin(), indices.end());
    const auto n = static_cast<int64_t>(regions.size());
    if (group.down <= 0 || group.across <= 0 || x.numel() == 0)  // empty regions
      parts.push_back(zeros({x.size(1), n, height, width}, x.options().requires_grad(false)));
    else
      parts.push_back(aligned(x.select(0, group.image), regions, group, height, width, mode == "avg"));
  }
  if (parts.empty()) return zeros({0, x.size(1), height, width}, x.options().requires_grad(false));
  List back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int64_t>(i);
  return cat(parts, 1).index_select(1, tensor(back).to(x.device())).transpose(0, 1).contiguous();
}

// ---- MaxRoiPool

// R. Girshick: Fast R-CNN, 2015. A region is cut out, or padded where it leaves the image, and pooled to a fixed size.
Tensor max_roi_pool(Call& c) {
  const Tensor& x = c[0];
  const List shape = c.integers("pooled_shape");
  const double scale = c.number("spatial_scale", 1.0);
  check(shape.size() == 2 && shape[0] >= 1 && shape[1] >= 1 && shape[0] <= INT32_MAX && shape[1] <= INT32_MAX,
        "pooled_shape must hold two positive numbers, got ", shape);
  check(x.dim() == 4 && x.is_floating_point() && c[1].is_floating_point() && c[1].dim() == 2 && c[1].size(1) == 5,
        "expected images [N, C, H, W] and regions [count, 5]\n  images  ", x, "\n  regions ", c[1]);
  const std::vector<double> rois = Call::values(c[1]);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < rois.size(); i += 5) {
    List corner;  // x and y of the first and of the last element
    for (std::size_t k = 1; k < 5; ++k) {
      const double at = std::round(rois[i + k] * scale);
      check(std::abs(at) < 1e6, "a region is out of range");
      corner.push_back(static_cast<int64_t>(at));
    }
    check(rois[i] >= 0 && rois[i] < static_cast<double>(x.size(0)), "there is no image ", rois[i], " in ", x);
    const int64_t wide = std::max<int64_t>(corner[2] - corner[0] + 1, 1);
    const int64_t tall = std::max<int64_t>(corner[3] - corner[1] + 1, 1);
    const Tensor cut = constant_pad_nd(
        x.select(0, static_cast<int64_t>(rois[i])),
        {-corner[0], corner[0] + wide - x.size(3), -corner[1], corner[1] + tall - x.size(2)}, -INFINITY);
    const Tensor most = std::get<0>(adaptive_max_pool2d(cut, shape));
    parts.push_back(most.masked_fill(most == -INFINITY, 0));  // nothing but padding
  }
  if (parts.empty()) return zeros({0, x.size(1), shape[0], shape[1]}, x.options().requires_grad(false));
  return stack(parts, 0);
}

// ---- NonMaxSuppression

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};
/// The corners in order, from opposite corners or from centre, width and height.
Box box_of(const double* b, bool centre) {
  if (centre) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}
bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const double common = height * width;
  // The thresholds are floats, and so are the quotients that are compared to them.
  return static_cast<float>(common / (a.area() + b.area() - common)) > static_cast<float>(threshold);
}

Tensor non_max_suppression(Call& c) {
  const Tensor &boxes = c[0], &scores = c[1];
  check(boxes.is_floating_point() && scores.is_floating_point() && boxes.dim() == 3 && boxes.size(2) == 4 &&
            scores.dim() == 3 && scores.size(0) == boxes.size(0) && scores.size(2) == boxes.size(1),
        "expected boxes [N, boxes, 4] and scores [N, classes, boxes]\n  boxes  ", boxes, "\n  scores ", scores);
  const int64_t most = c.has(2) ? c.integer(std::size_t{2}) : 0;
  const double overlap = c.has(3) ? c.number(std::size_t{3}) : 0;
  const double least = c.has(4) ? c.number(std::size_t{4}) : -INFINITY;
  const bool centre = c.flag("center_point_box");
  const std::vector<double> corners = Call::values(boxes), score = Call::values(scores);
  const int64_t count = boxes.size(1), classes = scores.size(1);
  List out;
  for (int64_t n = 0; n < boxes.size(0) && most > 0 && count > 0; ++n)
    for (int64_t k = 0; k < classes; ++k) {
      const double* of_class = score.data() + (n * classes + k) * count;
      List order;
      for (int64_t i = 0; i < count; ++i)
        if (c.has(4) ? of_class[i] > least : !std::isnan(of_class[i])) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return of_class[a] > of_class[b]; });
      std::vector<Box> kept;
      for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const Box box = box_of(corners.data() + (n * count + i) * 4, centre);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return overlaps(box, other, overlap); }))
          continue;
        kept.push_back(box);
        out.insert(out.end(), {n, k, i});
      }
    }
  return tensor(out, kLong).view({-1, 3}).to(boxes.device());
}

}  // namespace

Operators vision_operators() {
  return {
      {"RoiAlign", roi_align, 0b110},
      {"MaxRoiPool", max_roi_pool, 0b10},
      {"NonMaxSuppression", non_max_suppression, 0b11100},
  };
}

}  // namespace tandem::onnx
