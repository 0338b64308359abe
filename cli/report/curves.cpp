#include "tandem/cli/report/curves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"
#include "tandem/cli/report/page.h"
#include "tandem/core/base/number_text.h"

namespace tandem::cli {
namespace {

constexpr std::size_t kMaxPoints = 4000;  // of one curve: more than a screen has columns

struct Prefix {
  const char *text, *part;
};
constexpr std::array<Prefix, 5> kPrefixes{{{"train_", "train"},
                                           {"test_", "test"},
                                           {"validation_", "validation"},
                                           {"valid_", "validation"},
                                           {"val_", "validation"}}};

const Prefix* prefix_of(const std::string& name) {
  for (const Prefix& prefix : kPrefixes)
    if (name.starts_with(prefix.text)) return &prefix;
  return nullptr;
}

bool is_share(const std::string& name) { return name.find("accuracy") != std::string::npos; }

// Losses and accuracies come first, times and speeds last.
int rank_of(const std::string& quantity) {
  if (quantity == "loss") return 0;
  if (better_direction(quantity) != 0) return 1;
  return quantity.find("second") != std::string::npos || quantity.find("time") != std::string::npos ? 3 : 2;
}

Json curve_of(const RunRecord& run, std::size_t number, const std::string& name) {
  Json x = Json::array(), y = Json::array();
  const std::string axis = run.axis();
  const std::size_t count = run.lines.size(), step = (count + kMaxPoints - 1) / kMaxPoints;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % step != 0 && i + 1 != count) continue;
    x.push_back(axis == "line" ? static_cast<double>(i + 1) : RunRecord::figure(run.lines[i], axis));
    y.push_back(RunRecord::figure(run.lines[i], name));  // NaN becomes null
  }
  Json out{{"run", number}, {"part", part_of(name)}, {"x", std::move(x)}, {"y", std::move(y)}};
  // A thinned curve may not have the point.
  if (const std::size_t best = run.best_line();
      best < count && step == 1 && better_direction(name) != 0 && !is_without_average(name))
    out["best"] = best;
  return out;
}

// A figure within the epochs: a loss or a rate after each share of an epoch.
Json within_epochs(const RunRecord& run, std::size_t number, const char* name) {
  Json x = Json::array(), y = Json::array();
  for (const Json& line : run.lines) {
    const double epoch = RunRecord::figure(line, "epoch");
    const auto it = line.find("within_epoch");
    if (it == line.end() || !it->is_object() || !it->contains("place") || !it->contains(name)) continue;
    const Json &places = (*it)["place"], &values = (*it)[name];
    for (std::size_t i = 0; places.is_array() && values.is_array() && i < std::min(places.size(), values.size()); ++i) {
      if (!places[i].is_number()) continue;
      x.push_back(epoch - 1 + places[i].get<double>());
      y.push_back(values[i].is_number() ? values[i].get<double>() : std::nan(""));
    }
  }
  if (x.empty() || run.axis() != "epoch") return nullptr;
  if (const std::size_t step = (x.size() + kMaxPoints - 1) / kMaxPoints; step > 1) {
    Json few_x = Json::array(), few_y = Json::array();
    for (std::size_t i = step - 1; i < x.size(); i += step) {
      few_x.push_back(x[i]);
      few_y.push_back(y[i]);
    }
    x = std::move(few_x);
    y = std::move(few_y);
  }
  return {{"run", number}, {"part", "train"}, {"within", true}, {"x", std::move(x)}, {"y", std::move(y)}};
}

// Whether a curve has more than a point.
bool is_a_line(const Json& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const Json& curve) { return curve["x"].size() > 1; });
}

}  // namespace

std::string part_of(const std::string& name) {
  const Prefix* prefix = prefix_of(name);
  return prefix == nullptr ? "" : prefix->part;
}

std::string quantity_of(const std::string& name) {
  const Prefix* prefix = prefix_of(name);
  return prefix == nullptr ? name : name.substr(std::string(prefix->text).size());
}

int better_direction(const std::string& name) {
  if (is_share(name)) return 1;
  for (const char* word : {"loss", "perplexity", "error"})
    if (name.find(word) != std::string::npos) return -1;
  return 0;
}

bool is_without_average(const std::string& name) { return name.ends_with("_without_average"); }

std::string figure_text(const std::string& name, double value) {
  if (!std::isfinite(value)) return fixed(value, 0);
  if (is_share(name)) return fixed(100 * value, 2) + " %";
  if (value == std::floor(value) && std::abs(value) < 1e15) return with_commas(static_cast<long long>(value));
  return std::abs(value) >= 1e-3 && std::abs(value) < 1e6 ? fixed(value, std::abs(value) < 100 ? 4 : 1)
                                                          : number_text(value, 'g', 5);
}

std::string figure_title(const std::string& name) {
  std::string out = name;
  std::replace(out.begin(), out.end(), '_', ' ');
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string curves_section() {
  return R"(<section id="curves">
<h2>Curves</h2>
<div id="legend" class="legend"></div>
<div id="panels" class="panels"></div>
<noscript><p class="note">Curves are drawn by the page's own script, which this browser does not run.</p></noscript>
</section>
)";
}

std::string curves_json(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> quantities;
  for (const ReportedRun& run : runs)
    for (const std::string& name : run.record.figures())
      if (const std::string q = quantity_of(name);
          std::find(quantities.begin(), quantities.end(), q) == quantities.end())
        quantities.push_back(q);
  std::stable_sort(quantities.begin(), quantities.end(),
                   [](const std::string& a, const std::string& b) { return rank_of(a) < rank_of(b); });
  Json panels = Json::array();
  for (const std::string& quantity : quantities) {
    Json curves = Json::array();
    std::string axis;
    for (std::size_t i = 0; i < runs.size(); ++i)
      for (const std::string& name : runs[i].record.figures()) {
        if (quantity_of(name) != quantity) continue;
        curves.push_back(curve_of(runs[i].record, i, name));
        const std::string own = runs[i].record.axis();
        if (axis.empty())
          axis = own;
        else if (axis.find(own) == std::string::npos)
          axis += " or " + own;
      }
    for (std::size_t i = 0; quantity == "loss" && i < runs.size(); ++i)
      if (Json curve = within_epochs(runs[i].record, i, "train_loss"); !curve.is_null()) curves.push_back(curve);
    if (rank_of(quantity) == 3 && !is_a_line(curves)) continue;  // one point says no more than the overview
    panels.push_back({{"title", figure_title(quantity) + (quantity == "seconds" ? " per " + axis : "")},
                      {"share", is_share(quantity)},
                      {"axis", axis},
                      {"curves", curves}});
  }
  Json rates = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (Json curve = within_epochs(runs[i].record, i, "learning_rate"); !curve.is_null()) rates.push_back(curve);
  if (!rates.empty())
    panels.push_back({{"title", "Learning rate"}, {"share", false}, {"axis", "epoch"}, {"curves", rates}});
  Json names = Json::array();
  for (const ReportedRun& run : runs) names.push_back(printable(run.record.name));
  return json_text({{"runs", names}, {"panels", panels}});
}

}  // namespace tandem::cli
