// The confusion matrix, as a table or, with many classes, as a picture with the most frequent confusions;
// the worst mistakes.
#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/report/html.h"
#include "tandem/cli/report/page.h"
#include "tandem/core/base/number_text.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/image_file.h"

namespace tandem::cli {
namespace {

constexpr std::size_t kMaxInTable = 20, kMaxConfusions = 12;

std::string percent(double share, int decimals = 1) { return fixed(100 * share, decimals) + " %"; }

int64_t images_of(const Evaluation& e, std::size_t label) {
  int64_t sum = 0;
  for (std::size_t p = 0; p < e.classes.size(); ++p) sum += e.count(label, p);
  return sum;
}

std::string class_name(const Evaluation& e, int64_t number) {
  return html_escaped(e.classes[static_cast<std::size_t>(number)]);
}

std::string matrix_table(const Evaluation& e) {
  std::string out =
      "<div class=\"part\"><p class=\"note\">Rows: the true class; columns: the prediction. Colours show "
      "shares of the row.</p>\n"
      "<div class=\"scroll\"><table class=\"confusion\">\n<thead><tr><th></th>";
  for (const std::string& name : e.classes) out += "<th scope=\"col\"><span>" + html_escaped(name) + "</span></th>";
  out += "<th scope=\"col\" class=\"right\"><span>correct</span></th></tr></thead>\n<tbody>\n";
  for (std::size_t label = 0; label < e.classes.size(); ++label) {
    const auto total = static_cast<double>(std::max<int64_t>(1, images_of(e, label)));
    out += "<tr><th scope=\"row\">" + html_escaped(e.classes[label]) + "</th>";
    for (std::size_t p = 0; p < e.classes.size(); ++p) {
      const int64_t count = e.count(label, p);
      const double share = static_cast<double>(count) / total;
      out += concat("<td class=\"", label == p ? "hit" : "miss",
                    "\" style=\"--share:", number_text(std::sqrt(share), 'f', 3), "\" title=\"",
                    html_escaped(e.classes[label]), " taken for ", html_escaped(e.classes[p]), ": ", with_commas(count),
                    " (", percent(share), ")\">", count == 0 ? "" : with_commas(count), "</td>");
    }
    out += "<td class=\"right\">" + percent(static_cast<double>(e.count(label, label)) / total) + "</td></tr>\n";
  }
  return out + "</tbody></table></div></div>\n";
}

// White where a row has no images, black for the whole row: the style sheet inverts it on dark pages.
std::string matrix_picture(const Evaluation& e) {
  const auto side = static_cast<int64_t>(e.classes.size());
  const Tensor pixels = full({1, side, side}, 255, TensorOptions(kByte));
  uint8_t* at = pixels.data_ptr<uint8_t>();
  for (std::size_t label = 0; label < e.classes.size(); ++label) {
    const auto total = static_cast<double>(std::max<int64_t>(1, images_of(e, label)));
    for (std::size_t p = 0; p < e.classes.size(); ++p)
      *at++ = static_cast<uint8_t>(255 - std::lround(235 * std::sqrt(static_cast<double>(e.count(label, p)) / total)));
  }
  return concat("<figure class=\"matrix\"><img alt=\"Confusion matrix of ", side,
                " classes\" src=\"data:image/png;base64,", base64(vision::encode_png(pixels)),
                "\"><figcaption>Rows: the true class; columns: the prediction; both in the order of the "
                "classes.</figcaption>"
                "</figure>\n");
}

std::string most_frequent(const Evaluation& e) {
  struct Pair {
    std::size_t label, predicted;
    int64_t count;
  };
  std::vector<Pair> pairs;
  for (std::size_t label = 0; label < e.classes.size(); ++label)
    for (std::size_t p = 0; p < e.classes.size(); ++p)
      if (label != p && e.count(label, p) > 0) pairs.push_back({label, p, e.count(label, p)});
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.count > b.count; });
  if (pairs.size() > kMaxConfusions) pairs.resize(kMaxConfusions);
  if (pairs.empty()) return "";
  std::string out =
      "<div class=\"part\"><p class=\"note\">The most frequent confusions, and their share of the class</p>\n"
      "<div class=\"scroll\"><table class=\"overview\">\n<thead><tr><th scope=\"col\">True class</th>"
      "<th scope=\"col\">Prediction</th><th scope=\"col\" class=\"number\">Images</th>"
      "<th scope=\"col\" class=\"number\">Share</th></tr></thead>\n<tbody>\n";
  for (const Pair& pair : pairs)
    out += concat("<tr><td>", html_escaped(e.classes[pair.label]), "</td><td>", html_escaped(e.classes[pair.predicted]),
                  "</td><td class=\"number\">", with_commas(pair.count), "</td><td class=\"number\">",
                  percent(static_cast<double>(pair.count) / static_cast<double>(images_of(e, pair.label))),
                  "</td></tr>\n");
  return out + "</tbody></table></div></div>\n";
}

std::string mistakes(const Evaluation& e) {
  if (e.worst.empty()) return "<p>No test image is classified wrongly.</p>\n";
  std::string out =
      "<h3>Worst mistakes</h3>\n<p class=\"note\">Wrong predictions with the highest probabilities, and the "
      "true classes.</p>\n"
      "<ul class=\"mistakes\">\n";
  for (const Mistake& m : e.worst) {
    const std::string predicted = class_name(e, m.predicted), label = class_name(e, m.label);
    out += concat("<li><figure><img width=\"", m.width, "\" height=\"", m.height, "\" class=\"",
                  std::max(m.width, m.height) < Mistake::kMaxSide ? "small" : "", "\" alt=\"Test image ", m.index,
                  "\" src=\"data:image/png;base64,", base64(m.png), "\"><figcaption><b>", predicted,
                  "</b> <span class=\"nowrap\">", percent(m.probability), "</span><br>is ", label, "<br><small>image ",
                  m.index, "</small></figcaption></figure></li>\n");
  }
  return out + "</ul>\n";
}

}  // namespace

std::string evaluation_section(const ReportedRun& run, std::size_t number, bool folded) {
  const Evaluation& e = run.evaluation;
  std::string out = concat("<section>\n<details class=\"whole\"", folded ? "" : " open",
                           "><summary><h2>Predictions of ", run_label(run, number), "</h2></summary>\n");
  if (e.missing.empty()) {
    out += concat("<p>", with_commas(e.images), " test images of ", html_escaped(e.data), ": accuracy <b>",
                  percent(e.accuracy, 2), "</b>, loss <b>", fixed(e.loss, 4), "</b></p>\n");
    const bool few = e.classes.size() <= kMaxInTable;
    out += "<div class=\"beside\">" + (few ? matrix_table(e) : matrix_picture(e)) + most_frequent(e) + "</div>\n";
    out += mistakes(e);
  } else {
    out += "<p class=\"note\">No confusion matrix and no mistakes: " + html_escaped(e.missing) + "</p>\n";
  }
  return out + "</details>\n</section>\n";
}

}  // namespace tandem::cli
