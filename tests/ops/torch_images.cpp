// Padding, resampling, patches, further pooling and normalisation, distances, margin losses.
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

autograd::Resampling resampling(const std::string& name) {
  using autograd::Resampling;
  if (name == "nearest") return Resampling::kNearest;
  if (name == "nearest-exact") return Resampling::kNearestExact;
  return name == "bicubic" ? Resampling::kCubic : Resampling::kLinear;
}

void add_margins(Table& table) {
  table.give<T(CT, CT, CT, double, Reduction)>("margin_ranking_loss", margin_ranking_loss);
  table.give<T(CT, CT, double, Reduction)>("hinge_embedding_loss", hinge_embedding_loss);
  table.give<T(CT, CT, CT, double, Reduction)>("cosine_embedding_loss", cosine_embedding_loss);
  table.give<T(CT, CT, CT, double, double, double, bool, Reduction)>("triplet_margin_loss",
                                                                     triplet_margin_loss);
  table.give<T(CT, CT, Reduction)>("soft_margin_loss", soft_margin_loss);
  table.give<T(CT, CT, double, double, CT, Reduction)>("multi_margin_loss", multi_margin_loss);
  table.give<T(CT, CT, CT, Reduction)>("multilabel_soft_margin_loss", multilabel_soft_margin_loss);
  table.give<T(CT, CT, bool, bool, double, Reduction)>("poisson_nll_loss", poisson_nll_loss);
}

}  // namespace

void add_images(Table& table) {
  add_margins(table);
  table.give<T(CT, CT, double, optional<I>)>("cdist", cdist);
  table.give<T(CT, double)>("pdist", pdist);
  table.give<T(CT, CT, double, double, bool)>("pairwise_distance", pairwise_distance);
  table.give<T(CT, CT, I, double)>("cosine_similarity", cosine_similarity);
  table.give<T(CT, Ints, std::string_view, optional<double>)>("pad", pad);
  table.add("interpolate", std::type_identity<T(T, Ints, std::string_view, bool)>(),
            [](CT x, Ints size, std::string_view mode, bool corners) {
              return autograd::resample("interpolate", x, resampling(std::string(mode)), size, corners);
            });
  table.give<T(CT, I)>("pixel_shuffle", pixel_shuffle);
  table.give<T(CT, I)>("pixel_unshuffle", pixel_unshuffle);
  table.give<T(CT, I)>("channel_shuffle", channel_shuffle);
  table.give<T(CT, Ints, Ints, Ints, Ints)>("im2col", im2col);
  table.give<T(CT, Ints, Ints, Ints, Ints, Ints)>("col2im", col2im);
  table.give<T(CT, Ints, Ints, Ints, bool, bool)>("avg_pool1d", avg_pool1d);
  table.give<T(CT, Ints)>("adaptive_avg_pool1d", adaptive_avg_pool1d);
  table.give<std::tuple<T, T>(CT, Ints)>("adaptive_max_pool1d", adaptive_max_pool1d);
  table.give<std::tuple<T, T>(CT, Ints)>("adaptive_max_pool2d", adaptive_max_pool2d);
  table.give<T(CT, CT, CT, CT, CT, bool, double, double)>("instance_norm", instance_norm);
  table.give<T(CT, I, double, double, double)>("local_response_norm", local_response_norm);
}

}  // namespace tandem::testing
