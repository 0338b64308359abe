// Writes event files for tensorboard_test.py: tensorboard_files FOLDER
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/nn/files/tensorboard/summary_writer.h"

using namespace tandem;

namespace {

// From 1e-14 to 1e22, both signs, and every tenth limit of the buckets with its neighbours.
Tensor many_values() {
  std::vector<double> out;
  for (double v = 1e-14; v < 1e22; v *= 1.37) out.insert(out.end(), {v, -v});
  int i = 0;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
    if (i++ % 10 == 0)
      for (const double v : {limit, std::nextafter(limit, 0.0), std::nextafter(limit, 1e30)})
        out.insert(out.end(), {v, -v});
  return tensor(out, kDouble);
}

void write(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/first", {.purge_step = nullopt, .filename_suffix = ".part"});
  for (int step = 0; step < 5; ++step) writer.add_scalar("train/loss", 1.0 / (1 + step), step, 1000.5 + step);
  writer.add_scalar("one value", full({1}, 2.5), -1);
  writer.add_scalar("not finite", NAN, 3);
  writer.add_scalars("both", {{"train", 1.0}, {"te/st", 2.0}}, 7, 55.5);
  writer.add_histogram("values", tensor({-2.0, -1e-13, 0.0, 0.5, 0.5, 3e20, double(NAN), double(INFINITY)}, kDouble),
                       2);
  writer.add_histogram("nothing", full({3}, NAN), 2);
  writer.add_histogram("integers", arange(4, kLong), 2);
  writer.add_histogram("many", many_values(), 2);
  writer.add_histogram("positive", tensor({0.0, 1e-13}, kDouble), 2);
  writer.add_histogram("large", full({(1 << 20) + 3}, 2), 2);
  writer.add_image("gray", full({1, 2, 3}, 0.5), 1);
  writer.add_image("rows", tensor({{0.0, 1.0, 2.0, -1.0}}, kDouble), 1, nullopt, "HW");
  writer.add_image("last", full({2, 3, 3}, 7, kByte), 1, nullopt, "HWC");
  writer.add_images("grid", arange(10, kByte).view({10, 1, 1, 1}), 1);
  const Tensor wide = arange(12, kByte).view({2, 1, 2, 3});
  writer.add_images("wide", wide, 1);
  writer.add_images("wide, channels last", wide.permute({0, 2, 3, 1}), 1, nullopt, "NHWC");
  writer.add_images("tall", arange(54, kByte).view({9, 1, 2, 3}), 1);
  writer.add_text("note", "some *text*: \xc3\xa4", 4);
  writer.flush();
  writer.close();
  writer.add_scalar("train/loss", 9, 9);  // in a new file
}

void resume(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/first", {.purge_step = 3});
  writer.add_scalar("train/loss", 30, 3);
  writer.close();
  writer.add_scalar("train/loss", 31, 4);
}

// Files whose names sort after those that are there.
void later(const std::string& folder) {
  const auto in = [&](const std::string& name, const std::vector<std::string>& seconds) {
    std::filesystem::create_directories(folder + name);
    for (const std::string& text : seconds) std::ofstream(folder + name + "/events.out.tfevents." + text + ".x");
    std::ofstream(folder + name + "/other.out.tfevents.9999999998.x");
    tensorboard::SummaryWriter(folder + name).add_scalar("x", 1);
  };
  in("/later", {"0000000001", "5000000000", "0000000002"});
  in("/last", {"9999999999"});
}

template <class F>
void expect_error(const std::string& text, const F& f) {
  try {
    f();
    std::printf("no error: %s\n", text.c_str());
  } catch (const Error& error) {
    if (std::string(error.what()).find(text) == std::string::npos)
      std::printf("not \"%s\": %s\n", text.c_str(), error.what());
  }
}

void misuse(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/misuse");
  expect_error("add_scalar: expected one value", [&] { writer.add_scalar("x", full({2}, 1.0)); });
  expect_error("add_image", [&] { writer.add_image("x", full({2, 4, 4}, 1.0)); });
  expect_error("add_image", [&] { writer.add_image("x", full({1, 4, 4}, 1, kLong)); });
  expect_error("add_image", [&] { writer.add_image("x", full({1, 4, 4}, 1.0), 0, nullopt, "WHC"); });
  expect_error("add_image: dataformats", [&] { writer.add_image("x", full({4, 4}, 1.0)); });
  expect_error("add_image", [&] { writer.add_images("x", full({0, 1, 4, 4}, 1.0)); });
  expect_error("add_images", [&] { writer.add_images("x", full({2, 4, 4}, 1.0)); });
  expect_error("add_images: dataformats 'CNHW'", [&] {
    writer.add_images("x", full({1, 1, 4, 4}, 1.0), 0, nullopt, "CNHW");
  });
  expect_error("cannot be created: File name too long", [&] {
    tensorboard::SummaryWriter(folder + "/misuse", {.purge_step = nullopt, .filename_suffix = std::string(300, 'x')})
        .add_scalar("x", 1);
  });
  expect_error("values must be real", [&] { writer.add_histogram("x", full({2}, 1.0, kComplexFloat)); });
  expect_error("the folder's name is empty", [] { tensorboard::SummaryWriter none(""); });
  expect_error("cannot create the folder", [] { tensorboard::SummaryWriter none("/dev/null/x"); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  write(argv[1]);
  resume(argv[1]);
  later(argv[1]);
  misuse(argv[1]);
}
