// Describes losses and distances.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

const Cases kClasses = {{real({5, 4}), integers({5}, 0, 4)}},
            kNear = {{distinct({3, 4}), constant({3, 4}, -0.05, 0.05)}};

// They broadcast before promoting dtypes, like PyTorch's functional forms.
T mse(CT x, CT y, Reduction r) { return nn::functional::mse_loss(x, y, r); }
T l1(CT x, CT y, Reduction r) { return nn::functional::l1_loss(x, y, r); }
T smooth_l1(CT x, CT y, Reduction r, double beta) {
  return nn::functional::smooth_l1_loss(x, y, nn::SmoothL1LossOptions(r).beta(beta));
}

// Its gradient has no gradient.
OpTest ctc_test() {
  OpTest test = op("ctc_loss", "F.ctc_loss(x0.log_softmax(2), x1.long(), (5, 4), (2, 1))",
                   [](const Tensors& x) {
                     return ctc_loss(x[0].log_softmax(2), x[1].to(kLong), {5, 4}, {2, 1});
                   },
                   {{real({5, 2, 4}), integers({2, 2}, 1, 4)}});
  test.second_order = false;
  return test;
}

std::vector<Operation> classes() {
  return {
      {.name = "cross_entropy",
       .overloads = GIVE(cross_entropy_loss, T(CT, CT, CT, Reduction, I, double)),
       .torch = "lambda x, t, w, r, i, e: F.cross_entropy(x, t, w, ignore_index=i, reduction=r, "
                "label_smoothing=e)",
       .examples = {{"cross_entropy", "x0, x1, None, 'mean', -100, 0.0", kClasses},
                    {"cross_entropy sum", "x0, x1, None, 'sum', -100, 0.0", kClasses},
                    {"cross_entropy none", "x0, x1, None, 'none', -100, 0.0", kClasses},
                    {"cross_entropy smooth", "x0, x1, None, 'mean', -100, 0.1", kClasses},
                    {"cross_entropy ignore", "x0, x1, None, 'mean', 1, 0.0", kClasses},
                    {"cross_entropy weights",
                     "x0, x1, x2, 'mean', -100, 0.0",
                     {{real({5, 4}), integers({5}, 0, 4), constant({4}, 0.5, 2)}}},
                    {"cross_entropy images",
                     "x0, x1, None, 'mean', -100, 0.0",
                     {{real({2, 3, 2, 2}), integers({2, 2, 2}, 0, 3)}}},
                    {"cross_entropy probabilities",
                     "x0, x1, None, 'mean', -100, 0.0",
                     {{real({5, 4}), constant({5, 4}, 0, 1)}}}}},
      {OPERATION(nll_loss, T(CT, CT, CT, Reduction, I)),
       .torch = "lambda x, t, w, r, i: F.nll_loss(x, t, w, ignore_index=i, reduction=r)",
       .examples = {{"nll_loss", "x0, x1, None, 'mean', -100", kClasses}}},
      {OPERATION(multi_margin_loss, T(CT, CT, double, double, CT, Reduction)),
       .torch = "lambda x, y, p, m, w, r: F.multi_margin_loss(x, y, p, m, w, reduction=r)",
       .examples = {{"multi_margin_loss", "x0, x1, 1, 1.0, None, 'mean'", {{distinct({5, 4}), integers({5}, 0, 4)}}}}},
      {OPERATION(multilabel_margin_loss, T(CT, CT, Reduction)),
       .torch = "lambda x, t, r: F.multilabel_margin_loss(x, t, reduction=r)",
       .tests = {op("multilabel_margin_loss", "F.multilabel_margin_loss(x0, x1.long())",
                    [](const Tensors& x) { return multilabel_margin_loss(x[0], x[1].to(kLong)); },
                    {{real({5, 4}), integers({5, 4}, -1, 4)}})}},
      {OPERATION(ctc_loss, T(CT, CT, Ints, Ints, I, Reduction, bool)),
       .torch = "lambda x, t, i, n, b, r, z: F.ctc_loss(x, t, i, n, b, r, z)", .tests = {ctc_test()}},
      {OPERATION(multilabel_soft_margin_loss, T(CT, CT, CT, Reduction)),
       .torch = "lambda x, t, w, r: F.multilabel_soft_margin_loss(x, t, w, reduction=r)",
       .examples = {{"multilabel_soft_margin_loss", "x0, x1, None, 'mean'", {{real({5, 4}), constant({5, 4}, 0, 1)}}}}},
  };
}

std::vector<Operation> elementwise() {
  return {
      {.name = "mse_loss",
       .overloads = GIVE(mse, T(CT, CT, Reduction)),
       .torch = "lambda x, t, r: F.mse_loss(x, t, reduction=r)",
       .examples = {{"mse_loss", "x0, x1, 'mean'", {{real({3, 4}), real({3, 4})}}}}},
      {.name = "l1_loss",
       .overloads = GIVE(l1, T(CT, CT, Reduction)),
       .torch = "lambda x, t, r: F.l1_loss(x, t, reduction=r)",
       .examples = {{"l1_loss", "x0, x1, 'mean'", kNear}}},
      {.name = "smooth_l1_loss",
       .overloads = GIVE(smooth_l1, T(CT, CT, Reduction, double)),
       .torch = "lambda x, t, r, b: F.smooth_l1_loss(x, t, reduction=r, beta=b)",
       .examples = {{"smooth_l1_loss", "x0, x1, 'mean', 1.0", kNear}}},
      {OPERATION(huber_loss, T(CT, CT, Reduction, double)),
       .torch = "lambda x, t, r, b: F.huber_loss(x, t, reduction=r, delta=b)"},
      {OPERATION(binary_cross_entropy, T(CT, CT, CT, Reduction)),
       .torch = "lambda x, t, w, r: F.binary_cross_entropy(x, t, w, reduction=r)",
       .examples = {{"bce", "x0, x1, None, 'mean'", {{real({3, 4}, 0.1, 0.9), constant({3, 4}, 0, 1)}}}}},
      {OPERATION(binary_cross_entropy_with_logits, T(CT, CT, CT, CT, Reduction)),
       .torch = "lambda x, t, w, p, r: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p, reduction=r)",
       .examples = {{"bce logits", "x0, x1, None, None, 'mean'", {{real({3, 4}), constant({3, 4}, 0, 1)}}}}},
      {OPERATION(kl_div, T(CT, CT, Reduction, bool)),
       .torch = "lambda x, t, r, log: F.kl_div(x, t, reduction=r, log_target=log)"},
      {OPERATION(poisson_nll_loss, T(CT, CT, bool, bool, double, Reduction)),
       .torch = "lambda x, t, log, full, e, r: F.poisson_nll_loss(x, t, log, full, eps=e, reduction=r)",
       .examples = {{"poisson_nll_loss", "x0, x1, True, False, 1e-8, 'mean'", {{real({5}), constant({5}, 0, 3)}}}}},
  };
}

std::vector<Operation> margins() {
  const Cases signs = {{real({6}), constant({6}, -1, 1)}};
  return {
      {OPERATION(margin_ranking_loss, T(CT, CT, CT, double, Reduction)),
       .torch = "lambda a, b, t, m, r: F.margin_ranking_loss(a, b, t, m, reduction=r)",
       .tests = {op("margin_ranking_loss", "F.margin_ranking_loss(x0, x1, x2.sign(), 0.1)",
                    [](const Tensors& x) { return margin_ranking_loss(x[0], x[1], x[2].sign(), 0.1); },
                    {{real({6}), real({6}), constant({6}, -1, 1)}})}},
      {OPERATION(hinge_embedding_loss, T(CT, CT, double, Reduction)),
       .torch = "lambda x, t, m, r: F.hinge_embedding_loss(x, t, m, reduction=r)",
       .tests = {op(
           "hinge_embedding_loss", "F.hinge_embedding_loss(x0, x1.sign())",
           [](const Tensors& x) { return hinge_embedding_loss(x[0], x[1].sign()); }, signs)}},
      {OPERATION(soft_margin_loss, T(CT, CT, Reduction)),
       .torch = "lambda x, t, r: F.soft_margin_loss(x, t, reduction=r)",
       .tests = {op(
           "soft_margin_loss", "F.soft_margin_loss(x0, x1.sign())",
           [](const Tensors& x) { return soft_margin_loss(x[0], x[1].sign()); }, signs)}},
      {OPERATION(cosine_embedding_loss, T(CT, CT, CT, double, Reduction)),
       .torch = "lambda a, b, t, m, r: F.cosine_embedding_loss(a, b, t, m, reduction=r)",
       .tests = {op("cosine_embedding_loss", "F.cosine_embedding_loss(x0, x1, x2.sign())",
                    [](const Tensors& x) { return cosine_embedding_loss(x[0], x[1], x[2].sign()); },
                    {{real({6, 3}, 0.1, 1), real({6, 3}), constant({6}, -1, 1)}})}},
      {OPERATION(triplet_margin_loss, T(CT, CT, CT, double, double, double, bool, Reduction)),
       .torch = "lambda a, b, c, m, p, e, s, r: F.triplet_margin_loss(a, b, c, m, p, e, s, reduction=r)",
       .examples = {{"triplet_margin_loss",
                     "x0, x1, x2, 1.0, 2.0, 1e-6, False, 'mean'",
                     {{real({4, 3}), real({4, 3}, 1, 2), real({4, 3}, -2, -1)}}}}},
  };
}

std::vector<Operation> distances() {
  return {
      {OPERATION(cdist, T(CT, CT, double, optional<I>)), .torch = "lambda x, y, p, mode: torch.cdist(x, y, p)",
       .examples = {{"cdist", "x0, x1, 2.0, None", {{real({3, 2}, 1, 2), real({2, 2})}}}}},
      {OPERATION(pdist, T(CT, double)), .torch = "F.pdist"},
      {OPERATION(pairwise_distance, T(CT, CT, double, double, bool)), .torch = "F.pairwise_distance",
       .examples = {{"pairwise_distance", "x0, x1, 2.0, 1e-6, False", {{real({3, 2}, 1, 2), real({3, 2})}}}}},
      {OPERATION(cosine_similarity, T(CT, CT, I, double)), .torch = "F.cosine_similarity",
       .examples = {{"cosine_similarity", "x0, x1, 1, 1e-8", {{real({3, 4}, 0.2, 1), real({3, 4})}}}}},
      {.name = "normalize",
       .tests = {op("normalize", "F.normalize(x0, dim=1)",
                    [](const Tensors& x) { return nn::functional::normalize(x[0]); }, {{real({3, 4}, 0.2, 1)}})}},
  };
}

}  // namespace

std::vector<Operation> loss_operations() { return joined({classes, elementwise, margins, distances}); }

}  // namespace tandem::testing
