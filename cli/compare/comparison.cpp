// Perfect scaling divides every phase of a step by the ratio of device counts. The time that a phase takes beyond that
// is its cost; the costliest phase is reported as the limit, unless there is so little work that fixed costs decide.
#include "tandem/cli/compare/comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tandem/cli/draw/plot.h"
#include "tandem/core/error.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

double median_of(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string ms(double seconds) { return fixed(1e3 * seconds, seconds < 0.1 ? 2 : 1); }
std::string share(double part, double whole) { return concat(ms(part), " of ", ms(whole), " ms"); }

constexpr double kLittleLost = 0.95;  // of the possible speed

// Number of devices relative to the first list.
double factor(const Comparison& c, const Measured& run) {
  return static_cast<double>(run.workers()) / static_cast<double>(c.runs.front().workers());
}

// Seconds of each phase beyond perfect scaling.
PhaseSeconds beyond(const Comparison& c, const Measured& run) {
  const Measured& first = c.runs.front();
  const double work = static_cast<double>(run.batch) / static_cast<double>(first.batch) / factor(c, run);
  PhaseSeconds out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = run.step[i] - first.step[i] * work;
  return out;
}

// A cause that the machine or other programs are, rather than the work: "" if there is none.
std::string outer_cause(const Comparison& c, const Measured& run) {
  const int threads = run.threads * static_cast<int>(run.workers());
  if (run.on_cpu && threads > c.cores)
    return concat("the devices have only ", counted(c.cores, "core", "cores"), " for ", threads, " threads");
  if (run.disturbed(c.cores))
    return concat("other programs use the cores: the run had ", fixed(median_of(run.cores), 2), " of the ", threads,
                  " that it can use");
  return run.one_gpu ? "the devices are parts of one GPU and share its multiprocessors" : "";
}

std::string slow_compute(const Comparison& c, const Measured& run) {
  const Measured& first = c.runs.front();
  const double part = (run.step[kForward] + run.step[kBackward]) / (first.step[kForward] + first.step[kBackward]);
  const double ideal = static_cast<double>(run.batch) / static_cast<double>(first.batch) / factor(c, run);
  const std::string text = concat("forward and backward on each device take ", fixed(part, 2), " of the time on ",
                                  first.label, ", not ", fixed(ideal, 2));
  return text + (run.on_cpu ? ": the devices share one CPU's clock, caches and memory"
                            : ": pieces this small do not fill a device");
}

// Seconds that a device works in a step. Of unequal devices the slower one works while the other waits, so the mean is
// not small if a step takes long because of it.
double work_in_step(const Measured& run) { return run.step_seconds() - run.step[kIdle]; }

// Sharing a step wakes threads or starts kernels several times, which takes tens of microseconds each, whatever the work
// is. Beside so little work that is a good part of the time, and in which phase it shows is chance.
constexpr double kLittleWork = 1e-3;

bool too_little_to_share(const Comparison& c, const Measured& run) {
  const bool late_images = run.step[kDataWait] + run.step[kCopyIn] > run.step_seconds() / 2;
  return work_in_step(run) < kLittleWork && !late_images && outer_cause(c, run).empty();
}

// Describes the costliest part beyond perfect scaling.
std::string main_cost(const Comparison& c, const Measured& run) {
  const PhaseSeconds b = beyond(c, run), &s = run.step;
  const double whole = run.step_seconds();
  const double compute = b[kForward] + b[kBackward], data = b[kDataWait] + b[kCopyIn], idle = b[kIdle];
  const double talk = b[kReduce] + b[kOptimizer] + b[kBroadcast] + b[kOther];
  const double most = std::max({compute, data, idle, talk});
  if (most == compute || most == idle)
    if (std::string cause = outer_cause(c, run); !cause.empty()) return cause;
  if (most == compute) return slow_compute(c, run);
  if (most == data)
    return concat("each step waits ", share(s[kDataWait] + s[kCopyIn], whole),
                  " for its images (--workers loads batches ahead)");
  if (most == idle)
    return concat("the devices wait for each other for ", share(s[kIdle], whole),
                  " per step: they do not finish together");
  return concat("summing gradients, the optimizer and broadcasting parameters take ",
                share(s[kReduce] + s[kOptimizer] + s[kBroadcast] + s[kOther], whole),
                " per step; a larger batch needs fewer steps");
}

std::string spread(const Measured& run) {
  return run.seconds.size() < 2 ? "" : fixed(run.least(), 2) + " to " + fixed(run.most(), 2);
}

Table columns_of(const Comparison& c) {
  std::vector<Table::Column> columns{{""}};
  for (const Measured& run : c.runs) columns.push_back({run.label, Table::Align::kRight});
  return Table(std::move(columns));
}

}  // namespace

double Measured::median() const { return median_of(seconds); }
double Measured::least() const { return empty() ? NAN : *std::min_element(seconds.begin(), seconds.end()); }
double Measured::most() const { return empty() ? NAN : *std::max_element(seconds.begin(), seconds.end()); }
const char* Measured::parts() const {
  return one_gpu ? "parts of one GPU" : on_cpu && workers() > 1 ? "parts of one CPU" : "";
}
bool Measured::disturbed(int max_cores) const {
  if (!on_cpu || threads != 1 || empty()) return false;
  const double usable = std::min(static_cast<double>(workers()), static_cast<double>(max_cores));
  const double busy = 1 - step[kIdle] / step_seconds();
  return median_of(cores) < 0.85 * usable * busy;
}
double Measured::cpu_seconds() const {
  std::vector<double> each;
  for (std::size_t i = 0; i < seconds.size() && i < cores.size(); ++i) each.push_back(cores[i] * seconds[i]);
  return median_of(std::move(each));
}
double Measured::step_seconds() const { return std::accumulate(step.begin(), step.end(), 0.0); }

double Comparison::images_per_second(const Measured& run) const { return static_cast<double>(images) / run.median(); }
double Comparison::speed_up(const Measured& run) const { return runs.front().median() / run.median(); }

std::string comparison_table(const Comparison& c, const Terminal& terminal) {
  Table table = columns_of(c);
  const auto row = [&](const char* name, auto&& text) {
    std::vector<std::string> cells{name};
    for (const Measured& run : c.runs) cells.push_back(run.empty() ? "-" : text(run));
    table.add_row(std::move(cells));
  };
  row("images per step", [](const Measured& r) {
    const auto each = static_cast<int64_t>(r.workers());
    return concat(r.batch, each > 1 ? concat(" = ", each, " x ",
                                             fixed(static_cast<double>(r.batch) / static_cast<double>(each),
                                                   r.batch % each == 0 ? 0 : 1))
                                    : "");
  });
  if (std::ranges::any_of(c.runs, [](const Measured& r) { return *r.parts() != '\0'; }))
    row("devices are", [](const Measured& r) { return std::string(r.parts()); });
  row("epochs measured", [](const Measured& r) { return std::to_string(r.seconds.size()); });
  row("seconds per epoch (median)", [](const Measured& r) { return fixed(r.median(), 2); });
  row("  min to max", spread);
  row("CPU seconds per epoch", [](const Measured& r) { return fixed(r.cpu_seconds(), 2); });
  row("images/s", [&](const Measured& r) { return with_commas(std::llround(c.images_per_second(r))); });
  row("speed-up", [&](const Measured& r) { return fixed(c.speed_up(r), 2); });
  row("test accuracy", [](const Measured& r) { return fixed(r.accuracy, 4); });
  table.add_rule();
  row("ms per step", [](const Measured& r) { return ms(r.step_seconds()); });
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    row(("  " + std::string(kPhaseNames[i])).c_str(), [i](const Measured& r) { return ms(r.step[i]); });
  return table.text(terminal);
}

std::string what_limits(const Comparison& c, const Measured& run) {
  const Measured& first = c.runs.front();
  if (run.empty() || first.empty() || &run == &first) return "";
  const double speed = c.speed_up(run), most = factor(c, run);
  std::string name = run.label;
  if (run.weak) name += concat(", ", run.batch, " images per step");
  std::string text = concat(name, ": ", fixed(speed, 2), " times as fast as ", first.label);
  if (most <= 1) return text + ", with no more devices.";
  text += concat(", out of a possible ", fixed(most, most == std::floor(most) ? 0 : 2), ". ");
  if (speed >= most) return text + "Nothing is lost.";
  if (speed >= kLittleLost * most) return text + "Little is lost; the main cost: " + main_cost(c, run) + ".";
  if (!too_little_to_share(c, run)) return text + "What limits it: " + main_cost(c, run) + ".";
  return text + concat("What limits it: a step has only ", ms(work_in_step(run)),
                       " ms of work for each device, too little to share; try a larger --batch-size.");
}

std::string disturbance(const Comparison& c) {
  std::string who;
  for (const Measured& run : c.runs)
    if (run.disturbed(c.cores))
      who += concat(who.empty() ? "" : "; ", run.label, " had ", fixed(median_of(run.cores), 2), " of the ",
                    std::min(c.cores, static_cast<int>(run.workers())));
  return who.empty() ? "" : concat("Other programs used the cores (", who, "): compare again when they have finished.");
}

std::string same_bits_note(const Comparison& c) {
  const Measured& first = c.runs.front();
  std::string same, other;
  bool several = false;
  for (const Measured& run : c.runs) {
    if (run.parameters.empty() || run.batch != first.batch) continue;
    several = several || run.processes > 1;
    std::string& names = run.parameters == first.parameters ? same : other;
    names += (names.empty() ? "" : "; ") + run.label;
  }
  if (!several) return "";
  if (other.empty())
    return concat("The parameters have the same bits everywhere (SHA-256 ", first.parameters.substr(0, 12), "…).");
  return concat("The parameters differ: those of ", other, " are not those of ", same, ".");
}

std::string sums_note(const Comparison& c) {
  const bool any = std::ranges::any_of(c.runs, [](const Measured& r) { return r.workers() > 1 && !r.empty(); });
  return any && c.shards == 0 ? "The optimizer sums the gradients in its own pass; reduce is only the wait for them."
                              : "";
}

Json comparison_json(const Comparison& c) {
  Json runs = Json::array();
  for (const Measured& run : c.runs) {
    Json step = Json::object();
    for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
      std::string name = kPhaseNames[i];
      std::replace(name.begin(), name.end(), ' ', '_');
      step[name] = 1e3 * run.step[i];
    }
    runs.push_back({{"devices", run.devices},
                    {"stands_on", run.stands_on},
                    {"processes", run.processes},
                    {"parameters_sha256", run.parameters},
                    {"threads_a_device", run.threads},
                    {"scaling", run.weak ? "weak" : "strong"},
                    {"batch_size", run.batch},
                    {"seconds", run.seconds},
                    {"median_seconds", run.median()},
                    {"images_per_second", c.images_per_second(run)},
                    {"speed_up", c.speed_up(run)},
                    {"test_accuracy", run.accuracy},
                    {"cores_used", run.cores},
                    {"processor_seconds", run.cpu_seconds()},
                    {"step_ms", step},
                    {"disturbed", run.disturbed(c.cores)},
                    {"limit", what_limits(c, run)}});
  }
  return {{"model", c.model},   {"data", c.data},
          {"images", c.images}, {"epochs", c.epochs},
          {"recipe", c.recipe}, {"shards", c.shards},
          {"seed", c.seed},     {"cores", c.cores},
          {"note", c.note},     {"stopped_by_signal", c.stopped_by},
          {"runs", runs}};
}

}  // namespace tandem::cli
