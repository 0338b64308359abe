// The frame of the page, and its overview, configuration and profile. The Content-Security-Policy forbids every
// connection, and every script but the page's own.
#include "tandem/cli/report/page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/cli/data/find_data.h"
#include "tandem/cli/data/sha256.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/json.h"
#include "tandem/cli/message.h"
#include "tandem/cli/report/curves.h"
#include "tandem/cli/report/html.h"
#include "tandem/core/base/number_text.h"

namespace tandem::cli {
namespace {

constexpr std::size_t kMaxText = 300;                      // of one value in a table
constexpr std::size_t kMaxHashes = 500, kHashDigits = 12;  // of a run, its last ones; of each

// `name`: of its column, which a narrow screen shows beside it.
std::string cell(const std::string& text, const char* css = "", const std::string& name = "") {
  return concat("<td", *css != 0 ? concat(" class=\"", css, "\"") : "",
                name.empty() ? "" : concat(" data-name=\"", html_escaped(name), "\""), ">", html_escaped(text),
                "</td>");
}

std::string head(const std::string& text, const char* css = "") {
  return concat("<th scope=\"col\"", *css != 0 ? concat(" class=\"", css, "\"") : "", ">", html_escaped(text), "</th>");
}

std::string shortened(const std::string& text) {
  if (text.size() <= kMaxText) return text;
  std::size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + " …";
}

double epochs_done(const RunRecord& run) {
  return run.lines.empty() ? 0 : RunRecord::figure(run.lines.back(), "epoch");
}

bool has_all_epochs(const RunRecord& run) {
  return run.axis() != "epoch" || static_cast<double>(run.number("epochs")) <= epochs_done(run);
}

// "10"; or "3 of 10", for a run that has not finished or has stopped early.
std::string progress_of(const RunRecord& run) {
  if (run.axis() != "epoch") return concat(run.lines.size(), " lines");
  const std::string done = number_text(epochs_done(run), 'g', 6);
  return has_all_epochs(run) ? done : concat(done, " of ", run.number("epochs"));
}

std::string data_of(const RunRecord& run) {
  std::string data = run.text("data");
  if (!is_data_name(data))
    if (const std::size_t slash = data.rfind('/'); slash != std::string::npos) data = data.substr(slash + 1);
  return data;
}

// The value of the run's model, and the last or the best one if it is another. NaN, which JSON writes as null, is a
// value, too.
std::string value_cell(const RunRecord& run, const std::string& name) {
  double best = NAN;
  std::string last, best_text;
  const int direction = better_direction(name);
  for (const Json& line : run.lines) {
    if (!line.contains(name)) continue;
    const double value = RunRecord::figure(line, name);
    last = figure_text(name, value);
    if (!std::isfinite(value) || direction * best >= direction * value) continue;
    best = value;
    best_text = last;
  }
  const std::string column = concat(" data-name=\"", html_escaped(figure_title(name)), "\">");
  if (last.empty()) return "<td class=\"number none\"" + column + "–</td>";
  if (run.keeps_best())
    if (const std::size_t kept = run.best_line(); kept < run.lines.size() && run.lines[kept].contains(name)) {
      const std::string value = figure_text(name, RunRecord::figure(run.lines[kept], name));
      return "<td class=\"number\"" + column + "<span>" + html_escaped(value) +
             (value != last ? " <small>last " + html_escaped(last) + "</small>" : "") + "</span></td>";
    }
  std::string out = "<td class=\"number\"" + column + "<span>" + html_escaped(last);
  if (direction != 0 && !best_text.empty() && best_text != last)
    out += " <small>best " + html_escaped(best_text) + "</small>";
  return out + "</span></td>";
}

std::string total_time(const RunRecord& run) {
  double sum = 0;
  bool any = false;
  for (const Json& line : run.lines)
    if (const double seconds = RunRecord::figure(line, "seconds"); std::isfinite(seconds)) sum += seconds, any = true;
  return !any ? "–" : sum < 60 ? fixed(sum, 1) + " s" : clock_time(sum);
}

// The figures of test data or, of runs without any, of training data.
std::vector<std::string> overview_figures(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> tested, trained;
  for (const ReportedRun& run : runs)
    for (const std::string& name : run.record.figures()) {
      const std::string part = part_of(name);
      std::vector<std::string>& list = part == "train" ? trained : tested;
      if (!part.empty() && !is_without_average(name) && std::find(list.begin(), list.end(), name) == list.end())
        list.push_back(name);
    }
  if (tested.empty()) tested = trained;
  std::stable_sort(tested.begin(), tested.end(), [](const std::string& a, const std::string& b) {
    return better_direction(a) > better_direction(b);  // accuracies first
  });
  if (tested.size() > 6) tested.resize(6);
  return tested;
}

// What follows the run's name, in HTML.
std::vector<std::string> notes_on(const RunRecord& run) {
  if (run.lines.empty()) return {" has no metrics yet: no epoch has been completed."};
  std::vector<std::string> notes;
  if (run.stopped_early())
    notes.push_back(": " + html_escaped(text_or_empty(run.lines.back(), "stopped_early")) + ".");
  else if (!has_all_epochs(run))
    notes.emplace_back(" has not finished; this is what it has written so far.");
  if (const double smoothing = RunRecord::figure(run.config, "label_smoothing"); smoothing > 0)
    notes.push_back(concat(": its training loss includes label smoothing of ", number_text(smoothing, 'g', 6),
                           ", so that it may be above the test loss."));
  if (const std::size_t best = run.best_line(); run.keeps_best() && best < run.lines.size())
    notes.push_back(concat(" keeps its best epoch: its model and its figures above are those after epoch ",
                           number_text(RunRecord::figure(run.lines[best], "epoch"), 'g', 6), "."));
  return notes;
}

std::string all_entries(const ReportedRun& run, std::size_t number) {
  std::string out =
      "<details><summary>All of " + run_label(run, number) + "</summary><div class=\"scroll\"><table><tbody>\n";
  for (const auto& [key, value] : run.record.entries())
    out += "<tr><th scope=\"row\">" + html_escaped(key) + "</th>" + cell(shortened(value)) + "</tr>\n";
  return out + "</tbody></table></div></details>\n";
}

// Digits of a line's hash; "" if it has none.
std::string hash_of(const std::vector<Json>& lines, std::size_t line, const char* key) {
  return line < lines.size() ? text_or_empty(lines[line], key) : "";
}

}  // namespace

std::string run_label(const ReportedRun& run, std::size_t number) {
  return concat("<span class=\"run\"><i class=\"swatch c", number % 8, number > 7 ? " again" : "", "\"></i>",
                html_escaped(run.record.name), "</span>");
}

std::string overview_section(const std::vector<ReportedRun>& runs) {
  const std::vector<std::string> figures = overview_figures(runs);
  std::string out = "<section>\n<h2>Overview</h2>\n<div class=\"scroll\"><table class=\"wide overview\">\n<thead><tr>" +
                    head("Run") + head("Model") + head("Data") + head("Epochs", "number");
  for (const std::string& name : figures) out += head(figure_title(name), "number");
  out += head("Training time", "number") + "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i].record;
    out += "<tr><th scope=\"row\">" + run_label(runs[i], i) + "</th>" + cell(run.text("model"), "", "Model") +
           cell(data_of(run), "", "Data") + cell(progress_of(run), "number", "Epochs");
    for (const std::string& name : figures) out += value_cell(run, name);
    out += cell(total_time(run), "number", "Training time") + "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const std::string& note : notes_on(runs[i].record))
      out += "<p class=\"note\">" + run_label(runs[i], i) + note + "</p>\n";
  return out + "</section>\n";
}

std::string configuration_section(const std::vector<ReportedRun>& runs) {
  std::string out = "<section>\n<h2>Configuration</h2>\n";
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> values;  // by key, for each run
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& [key, value] : runs[i].record.entries()) {
      auto& row = values[key];
      if (row.empty()) {
        row.assign(runs.size(), "–");
        order.push_back(key);
      }
      row[i] = shortened(value);
    }
  std::string rows;
  for (const std::string& key : order) {
    const auto& row = values[key];
    if (key.ends_with("_sha256") || key == "data_sum") continue;  // for programs
    if (std::all_of(row.begin(), row.end(), [&](const std::string& v) { return v == row[0]; })) continue;
    rows += "<tr><th scope=\"row\">" + html_escaped(key) + "</th>";
    for (const std::string& value : row) rows += cell(value);
    rows += "</tr>\n";
  }
  if (runs.size() > 1 && rows.empty()) out += "<p>The runs have the same configuration.</p>\n";
  if (!rows.empty()) {
    out += "<p>Where the runs differ:</p>\n<div class=\"scroll\"><table class=\"wide\"><thead><tr><th></th>";
    for (std::size_t i = 0; i < runs.size(); ++i) out += "<th scope=\"col\">" + run_label(runs[i], i) + "</th>";
    out += "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n";
  }
  for (std::size_t i = 0; i < runs.size(); ++i) out += all_entries(runs[i], i);
  return out + "</section>\n";
}

std::string hashes_section(const std::vector<ReportedRun>& runs) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Json>& lines = runs[i].record.lines;
    std::string rows;
    for (std::size_t k = lines.size() - std::min(lines.size(), kMaxHashes); k < lines.size(); ++k) {
      const std::string state = hash_of(lines, k, "state_sha256");
      if (state.empty()) continue;
      std::string same;
      for (std::size_t j = 0; j < runs.size(); ++j)
        if (j != i && hash_of(runs[j].record.lines, k, "state_sha256") == state) same += run_label(runs[j], j) + " ";
      rows += "<tr>" + cell(concat(k + 1), "number") + cell(state.substr(0, kHashDigits)) +
              cell(hash_of(lines, k, "chain").substr(0, kHashDigits)) + "<td>" + same + "</td></tr>\n";
    }
    if (rows.empty()) continue;
    out += "<details><summary>" + run_label(runs[i], i) + "</summary>\n<p>Computes it again: <code>tandem verify " +
           html_escaped(printable(quoted_for_shell(runs[i].record.folder))) +
           "</code></p>\n<div class=\"scroll\"><table>\n<thead><tr>" + head("Epoch", "number") + head("State") +
           head("Chain") + head(runs.size() > 1 ? "Same state" : "") + "</tr></thead>\n<tbody>\n" + rows +
           "</tbody></table></div></details>\n";
  }
  if (out.empty()) return "";
  return "<section>\n<h2>Hashes</h2>\n<p class=\"note\">The first digits of SHA-256. State: parameters and optimizer "
         "after the epoch. Chain: this line of metrics.jsonl and all before.</p>\n" +
         out + "</section>\n";
}

std::string profile_section(const std::vector<ReportedRun>& runs) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ReportedRun& run = runs[i];
    if (run.profile_file.empty()) continue;
    out += "<h3>" + run_label(run, i) + "</h3>\n";
    if (!run.profile_problem.empty()) {
      out += "<p class=\"note\">" + html_escaped(run.profile_file + ": " + run.profile_problem) + "</p>\n";
      continue;
    }
    for (const ProfileTrack& track : run.profile) {
      out += "<details" + std::string(&track == run.profile.data() ? " open" : "") + "><summary>" +
             html_escaped(track.name) + "</summary><div class=\"scroll\"><table>\n<thead><tr>" + head("Name") +
             head("Calls", "number") + head("Total (ms)", "number") + head("Self (ms)", "number") +
             head("Share", "number") + "</tr></thead>\n<tbody>\n";
      for (const ProfileRow& row : track.rows)
        out += "<tr><th scope=\"row\">" + html_escaped(row.name) + "</th>" + cell(with_commas(row.calls), "number") +
               cell(fixed(row.total, 2), "number") + cell(fixed(row.own, 2), "number") +
               cell(fixed(100 * row.own / std::max(track.own, 1e-9), 1) + " %", "number") + "</tr>\n";
      out += "</tbody></table></div></details>\n";
    }
  }
  if (out.empty()) return "";
  return "<section>\n<h2>Profile</h2>\n<p class=\"note\">Self: without the time of spans inside.</p>\n" + out +
         "</section>\n";
}

std::string report_page(const std::vector<ReportedRun>& runs, const std::string& written) {
  std::string title = runs.size() == 1 ? runs[0].record.name : concat("Comparison of ", runs.size(), " runs");
  const std::string script = kReportScript;
  Sha256 sum;
  sum.update(script.data(), script.size());
  std::string digest;
  const std::string hex = sum.hex_digest();
  for (std::size_t i = 0; i < hex.size(); i += 2) digest += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'sha256-" +
      base64(digest) +
      "'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>" +
      html_escaped(title) + "</title>\n<style>\n" + kReportStyle + "</style>\n</head>\n<body>\n<main>\n<h1>" +
      html_escaped(title) + "</h1>\n";
  out += overview_section(runs) + curves_section() + configuration_section(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) out += evaluation_section(runs[i], i, i > 0);
  out += hashes_section(runs) + profile_section(runs) + "<footer>" + html_escaped(written) + "</footer>\n</main>\n";
  out += "<script type=\"application/json\" id=\"curves-data\">" + json_in_html(curves_json(runs)) + "</script>\n";
  return out + "<script>" + script + "</script>\n</body>\n</html>\n";
}

}  // namespace tandem::cli
