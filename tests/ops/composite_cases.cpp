// Composites: diagonals, statistics, products, distances, padding, resampling, losses.
#include "tandem/tests/ops/cases.h"

// An operation on x, and its Python equivalent.
#define CASE(name, torch, expression, ...) \
  list.push_back(op(name, torch, [](const Tensors& x) { return expression; }, {{__VA_ARGS__}}))

namespace tandem::testing {
namespace {

void shapes(std::vector<OpTest>& list) {
  CASE("diag", "torch.diag(x0, 1)", diag(x[0], 1), real({4}));
  CASE("diag_embed", "torch.diag_embed(x0, -1)", diag_embed(x[0], -1), real({2, 3}));
  CASE("trace", "torch.trace(x0)", trace(x[0]), real({3, 4}));
  CASE("diagonal_scatter", "torch.diagonal_scatter(x0, x1, 1)", diagonal_scatter(x[0], x[1], 1), real({3, 4}),
       real({3}));
  CASE("select_scatter", "torch.select_scatter(x0, x1, 1, 2)", select_scatter(x[0], x[1], 1, 2), real({3, 4}),
       real({3}));
  CASE("slice_scatter", "torch.slice_scatter(x0, x1, 1, 0, 4, 2)", slice_scatter(x[0], x[1], 1, 0, 4, 2),
       real({3, 4}), real({3, 2}));
  CASE("masked_scatter", "torch.masked_scatter(x0, x1 > 0, x2)", masked_scatter(x[0], x[1] > 0, x[2]),
       real({3, 4}), constant({3, 4}, -1, 1), real({12}));
  CASE("block_diag", "torch.block_diag(x0, x1)", block_diag({x[0], x[1]}), real({2, 3}), real({2}));
  CASE("cartesian_prod", "torch.cartesian_prod(x0, x1)", cartesian_prod({x[0], x[1]}), real({2}), real({3}));
  CASE("combinations", "torch.combinations(x0, 2)", combinations(x[0], 2), real({4}));
  CASE("column_stack", "torch.column_stack((x0, x1))", column_stack({x[0], x[1]}), real({3}), real({3, 2}));
  CASE("dstack", "torch.dstack((x0, x1))", dstack({x[0], x[1]}), real({3}), real({3}));
}

void statistics(std::vector<OpTest>& list) {
  CASE("diff", "torch.diff(x0, 2, 1)", diff(x[0], 2, 1), real({2, 5}));
  CASE("nanmean", "torch.nanmean(x0, 1)", nanmean(x[0], {1}), real({2, 5}));
  CASE("dist", "torch.dist(x0, x1)", dist(x[0], x[1]), real({2, 3}), real({3}, 2, 3));
  CASE("quantile", "torch.quantile(x0, 0.3, 1)", quantile(x[0], 0.3, 1), distinct({2, 5}));
  CASE("cov", "torch.cov(x0)", cov(x[0]), real({3, 5}));
  CASE("mode", "torch.mode(x0, 1)[0]", std::get<0>(mode(x[0], 1)), distinct({2, 5}));
  CASE("tensordot", "torch.tensordot(x0, x1, ([2, 0], [0, 1]))", tensordot(x[0], x[1], {2, 0}, {0, 1}),
       real({2, 3, 4}), real({4, 2, 2}));
  CASE("inner", "torch.inner(x0, x1)", inner(x[0], x[1]), real({2, 3}), real({4, 3}));
  CASE("kron", "torch.kron(x0, x1)", kron(x[0], x[1]), real({2, 3}), real({2}));
  CASE("cross", "torch.cross(x0, x1, 1)", cross(x[0], x[1], 1), real({2, 3}), real({2, 3}));
  CASE("addmv", "torch.addmv(x0, x1, x2, beta=2, alpha=0.5)", addmv(x[0], x[1], x[2], 2, 0.5), real({2}),
       real({2, 3}), real({3}));
  CASE("addr", "torch.addr(x0, x1, x2, beta=2, alpha=0.5)", addr(x[0], x[1], x[2], 2, 0.5), real({2, 3}),
       real({2}), real({3}));
  CASE("matrix_power", "torch.matrix_power(x0, 3)", matrix_power(x[0], 3), real({3, 3}));
  CASE("bilinear", "F.bilinear(x0, x1, x2, x3)", bilinear(x[0], x[1], x[2], x[3]), real({2, 3}), real({2, 2}),
       real({4, 3, 2}), real({4}));
  CASE("cdist", "torch.cdist(x0, x1)", cdist(x[0], x[1]), real({3, 2}, 1, 2), real({2, 2}));
  CASE("pairwise_distance", "F.pairwise_distance(x0, x1)", pairwise_distance(x[0], x[1]), real({3, 2}, 1, 2),
       real({3, 2}));
  CASE("cosine_similarity", "F.cosine_similarity(x0, x1)", cosine_similarity(x[0], x[1]),
       real({3, 4}, 0.2, 1), real({3, 4}));
  CASE("normalize", "F.normalize(x0, dim=1)", nn::functional::normalize(x[0]), real({3, 4}, 0.2, 1));
}

void images(std::vector<OpTest>& list) {
  using autograd::resample;
  using autograd::Resampling;
  CASE("pad constant", "F.pad(x0, (1, -1, 2, 0), value=2)", constant_pad_nd(x[0], {1, -1, 2, 0}, 2),
       real({2, 3, 4}));
  CASE("pad reflect", "F.pad(x0, (2, 1, 0, 2), 'reflect')", pad(x[0], {2, 1, 0, 2}, "reflect"),
       real({1, 2, 3, 4}));
  CASE("pad replicate", "F.pad(x0, (2, 1, 0, 2), 'replicate')", pad(x[0], {2, 1, 0, 2}, "replicate"),
       real({1, 2, 3, 4}));
  CASE("pad circular", "F.pad(x0, (2, 1, 0, 2), 'circular')", pad(x[0], {2, 1, 0, 2}, "circular"),
       real({1, 2, 3, 4}));
  CASE("nearest", "F.interpolate(x0, (5, 3))", upsample_nearest2d(x[0], {5, 3}), real({1, 2, 3, 4}));
  CASE("bilinear2d", "F.interpolate(x0, (5, 3), mode='bilinear')", upsample_bilinear2d(x[0], {5, 3}, false),
       real({1, 2, 3, 4}));
  CASE("bilinear2d corners", "F.interpolate(x0, (5, 3), mode='bilinear', align_corners=True)",
       upsample_bilinear2d(x[0], {5, 3}, true), real({1, 2, 3, 4}));
  CASE("bicubic2d", "F.interpolate(x0, (5, 3), mode='bicubic')", upsample_bicubic2d(x[0], {5, 3}, false),
       real({1, 2, 3, 4}));
  CASE("pixel_shuffle", "F.pixel_shuffle(x0, 2)", pixel_shuffle(x[0], 2), real({1, 8, 2, 3}));
  CASE("pixel_unshuffle", "F.pixel_unshuffle(x0, 2)", pixel_unshuffle(x[0], 2), real({1, 2, 4, 6}));
  CASE("im2col", "F.unfold(x0, (2, 3), 1, (1, 0), 2)", im2col(x[0], {2, 3}, 1, {1, 0}, 2),
       real({1, 2, 4, 5}));
  CASE("col2im", "F.fold(x0, (4, 5), (2, 3), 1, (1, 0), 2)", col2im(x[0], {4, 5}, {2, 3}, 1, {1, 0}, 2),
       real({1, 12, 6}));
  CASE("avg_pool1d", "F.avg_pool1d(x0, 3, 2, 1)", avg_pool1d(x[0], 3, 2, 1), real({1, 2, 7}));
  CASE("adaptive_max_pool2d", "F.adaptive_max_pool2d(x0, (3, 2))",
       std::get<0>(adaptive_max_pool2d(x[0], {3, 2})), distinct({1, 2, 5, 3}));
  CASE("instance_norm", "F.instance_norm(x0, weight=x1, bias=x2)", instance_norm(x[0], x[1], x[2]),
       real({2, 3, 4}), real({3}), real({3}));
  CASE("local_response_norm", "F.local_response_norm(x0, 3, 0.1)", local_response_norm(x[0], 3, 0.1),
       real({2, 4, 3}));
}

void losses(std::vector<OpTest>& list) {
  CASE("margin_ranking_loss", "F.margin_ranking_loss(x0, x1, x2.sign(), 0.1)",
       margin_ranking_loss(x[0], x[1], x[2].sign(), 0.1), real({6}), real({6}), constant({6}, -1, 1));
  CASE("hinge_embedding_loss", "F.hinge_embedding_loss(x0, x1.sign())",
       hinge_embedding_loss(x[0], x[1].sign()), real({6}), constant({6}, -1, 1));
  CASE("cosine_embedding_loss", "F.cosine_embedding_loss(x0, x1, x2.sign())",
       cosine_embedding_loss(x[0], x[1], x[2].sign()), real({6, 3}, 0.1, 1), real({6, 3}),
       constant({6}, -1, 1));
  CASE("triplet_margin_loss", "F.triplet_margin_loss(x0, x1, x2)", triplet_margin_loss(x[0], x[1], x[2]),
       real({4, 3}), real({4, 3}, 1, 2), real({4, 3}, -2, -1));
  CASE("soft_margin_loss", "F.soft_margin_loss(x0, x1.sign())", soft_margin_loss(x[0], x[1].sign()),
       real({6}), constant({6}, -1, 1));
  CASE("multi_margin_loss", "F.multi_margin_loss(x0, x1)", multi_margin_loss(x[0], x[1]), distinct({5, 4}),
       integers({5}, 0, 4));
  CASE("multilabel_soft_margin_loss", "F.multilabel_soft_margin_loss(x0, x1)",
       multilabel_soft_margin_loss(x[0], x[1]), real({5, 4}), constant({5, 4}, 0, 1));
  CASE("poisson_nll_loss", "F.poisson_nll_loss(x0, x1)", poisson_nll_loss(x[0], x[1]), real({5}),
       constant({5}, 0, 3));
}

}  // namespace

std::vector<OpTest> composite_cases() {
  std::vector<OpTest> list;
  CASE("glu", "F.glu(x0, 1)", glu(x[0], 1), real({2, 4, 3}));
  shapes(list);
  statistics(list);
  images(list);
  losses(list);
  return list;
}

}  // namespace tandem::testing
