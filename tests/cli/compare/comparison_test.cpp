// Comparison tables and texts for made-up figures, and names of devices.
#include "tandem/cli/compare/comparison.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tandem/cli/device_list.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/core/threads/parallel_for.h"

using namespace tandem;
using namespace tandem::cli;

namespace {

// A comparison of one device that takes 10 ms per step with two that take `step`.
Comparison compared(const PhaseSeconds& step, double seconds, double cores_used = 2) {
  Comparison c{.model = "lenet",
               .data = "d",
               .recipe = "sgd",
               .note = "1,000 images",
               .images = 1000,
               .epochs = 3,
               .cores = 2,
               .runs = {}};
  Measured one{.devices = {"cpu:0"}, .label = "cpu:0", .stands_on = "CPU", .on_cpu = true, .threads = 1, .batch = 100};
  one.seconds = {1, 1.5, 1};
  one.cores = {1, 1, 1};
  one.step[kForward] = 0.004;
  one.step[kBackward] = 0.006;
  one.accuracy = 0.5;
  Measured two = one;
  two.devices = {"cpu:0", "cpu:1"};
  two.label = "cpu:0,cpu:1";
  two.seconds = {seconds};
  two.cores = {cores_used};
  two.step = step;
  c.runs = {one, two};
  return c;
}

PhaseSeconds halves() {
  PhaseSeconds step{};
  step[kForward] = 0.002;
  step[kBackward] = 0.003;
  return step;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("medians, spread and speed-up") {
  const Comparison c = compared(halves(), 0.5);
  CHECK(c.runs[0].median() == 1);
  CHECK(c.runs[0].most() == 1.5);
  CHECK(c.speed_up(c.runs[1]) == 2);
  CHECK(c.images_per_second(c.runs[1]) == 2000);
  CHECK(c.runs[0].cpu_seconds() == 1);
  CHECK(c.runs[1].cpu_seconds() == 1);
  CHECK(Measured{.seconds = {1, 2}}.median() == 1.5);
  CHECK(std::isnan(c.speed_up(Measured{})));
}

TEST_CASE("the costliest part of a step is reported as the limit") {
  const auto told = [](Phase phase, double seconds, double cores = 2) {
    PhaseSeconds step = halves();
    step[phase] += seconds;
    const Comparison c = compared(step, 0.8, cores);
    return what_limits(c, c.runs[1]);
  };
  CHECK(has(told(kReduce, 0.003), "summing gradients, the optimizer and broadcasting parameters take 3.00 of 8.00 ms"));
  CHECK(has(told(kDataWait, 0.003), "waits 3.00 of 8.00 ms for its images (--workers"));
  CHECK(has(told(kIdle, 0.003), "wait for each other for 3.00 of 8.00 ms"));
  CHECK(has(told(kForward, 0.003), "take 0.80 of the time on cpu:0, not 0.50: the devices share one CPU's"));
  CHECK(has(told(kForward, 0.003, 1.2), "other programs use the cores: the run had 1.20 of the 2"));
  CHECK(has(told(kForward, 0.003), "1.25 times as fast as cpu:0, out of a possible 2. What limits it"));
  const Comparison good = compared(halves(), 0.51);
  CHECK(has(what_limits(good, good.runs[1]), "1.96 times as fast as cpu:0, out of a possible 2. Little is lost"));
  CHECK(what_limits(good, good.runs[0]).empty());
}

TEST_CASE("devices that share a core, and parts of one GPU") {
  PhaseSeconds step = halves();
  step[kForward] += 0.003;
  Comparison c = compared(step, 0.8);
  c.cores = 1;
  CHECK(has(what_limits(c, c.runs[1]), "the devices have only 1 core for 2 threads"));
  c.runs[1].on_cpu = false;
  c.runs[1].one_gpu = true;
  CHECK(has(what_limits(c, c.runs[1]), "parts of one GPU and share its multiprocessors"));
  CHECK(c.runs[1].parts() == std::string("parts of one GPU"));
}

TEST_CASE("a step with too little work to be shared") {
  // 5 ms of work and 3 ms in `phase`, times `scale`.
  const auto told = [](double scale, Phase phase, double cores = 2, double seconds = 0.8) {
    PhaseSeconds step = halves();
    step[phase] += 0.003;
    for (double& part : step) part *= scale;
    Comparison c = compared(step, seconds, cores);
    for (double& part : c.runs[0].step) part *= scale;
    return what_limits(c, c.runs[1]);
  };
  CHECK(has(told(0.1, kIdle),
            "What limits it: a step has only 0.50 ms of work for each device, too little to share; try "
            "a larger --batch-size."));
  for (const Phase phase : {kReduce, kForward}) CHECK(has(told(0.1, phase), "a step has only 0.80 ms of work"));
  CHECK(has(told(0.21, kIdle), "wait for each other for 0.63 of 1.68 ms"));
  CHECK(has(told(0.13, kReduce), "broadcasting parameters take 0.39 of 1.04 ms"));
  // Causes that are not the work's.
  for (const double scale : {0.1, 1.0})
    CHECK(has(told(scale, kIdle, 0.8), "other programs use the cores: the run had 0.80 of the 2"));
  PhaseSeconds late{};
  late[kForward] = 0.0001;
  late[kDataWait] = 0.0005;
  const Comparison c = compared(late, 0.8);
  CHECK(has(what_limits(c, c.runs[1]), "waits 0.50 of 0.60 ms for its images"));
  CHECK(has(told(0.1, kIdle, 2, 0.51), "Little is lost; the main cost: the devices wait"));
}

TEST_CASE("runs with a larger batch are compared per image") {
  PhaseSeconds step{};
  step[kForward] = 0.004;
  step[kBackward] = 0.006;
  step[kBroadcast] = 0.001;
  Comparison c = compared(step, 0.55);
  c.runs[1].weak = true;
  c.runs[1].batch = 200;
  CHECK(has(what_limits(c, c.runs[1]), "cpu:0,cpu:1, 200 images per step: 1.82 times"));
  CHECK(has(what_limits(c, c.runs[1]), "broadcasting parameters take 1.00 of 11.00 ms"));
}

TEST_CASE("other programs that use the cores are reported") {
  CHECK(disturbance(compared(halves(), 0.5)).empty());
  CHECK(has(disturbance(compared(halves(), 0.5, 1.1)), "cpu:0,cpu:1 had 1.10 of the 2"));
}

TEST_CASE("a note explains reduce for several devices without shards") {
  Comparison c = compared(halves(), 0.5);
  CHECK(has(sums_note(c), "reduce is only the wait"));
  CHECK(has(comparison_svg(c), "reduce is only the wait"));
  c.shards = 4;
  CHECK(sums_note(c).empty());
}

TEST_CASE("table, JSON and SVG, also for a comparison that was stopped") {
  Comparison c = compared(halves(), 0.5);
  const Terminal plain;
  const std::string table = comparison_table(c, plain);
  for (const char* part : {"cpu:0,cpu:1", "100 = 2 x 50", "1.00 to 1.50", "parts of one CPU", "2,000", "broadcast"})
    CHECK_MESSAGE(has(table, part), part);
  CHECK(comparison_json(c)["runs"][1]["step_ms"]["forward"] == 2.0);
  const std::string svg = comparison_svg(c);
  CHECK(has(svg, "0.50 s, 2.00 x"));
  CHECK(svg.ends_with("</svg>\n"));
  c.runs[1].seconds.clear();
  CHECK(has(comparison_table(c, plain), " -"));
  CHECK(comparison_json(c)["runs"][1]["median_seconds"].dump() == "null");
  for (const char* part : {"nan", "inf"}) CHECK_FALSE(has(comparison_svg(c), part));
  CHECK(what_limits(c, c.runs[1]).empty());
}

TEST_CASE("names of devices") {
  CHECK(split_names("cpu:0,cpu:1") == std::vector<std::string>{"cpu:0", "cpu:1"});
  CHECK(split_names("a,,b").size() == 3);
  const auto list = [](int count) {
    std::vector<Device> out;
    for (int i = 0; i < count; ++i) out.push_back(Device(kCPU, static_cast<DeviceIndex>(i)));
    return out;
  };
  CHECK(short_names_of(list(2)) == "cpu:0,cpu:1");
  CHECK(short_names_of(list(8)) == "cpu:0 to cpu:7");
  CHECK_THROWS_WITH_AS(use_devices("--devices", {"cpu:0", "cpu"}), "--devices: device cpu:0 is listed twice",
                       UsageError);
  CHECK_THROWS_AS(use_devices("--devices", {"cpux"}), UsageError);
  CHECK_THROWS_AS(use_devices("--devices", {""}), UsageError);
  const int before = cpu::device_count();
  CHECK(use_placement({"cpu:2", "cpu:0"}, "", 0).root == Device("cpu:2"));
  CHECK(cpu::device_count() == 3);
  CHECK(use_placement({"cpu:1", "cpu:0"}, "cpu", 0).root == Device("cpu:0"));
  CHECK_THROWS_WITH_AS(use_placement({"cpu:1"}, "cpu:0", 0), "--root cpu:0: not one of the devices cpu:1", UsageError);
  CHECK_FALSE(use_placement({"cpu:1"}, "", 0).by_server());
  CHECK(use_placement({"cpu:1"}, "", 1).by_server());
  cpu::set_device_count(before);
}
