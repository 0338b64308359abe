// Writes event files for tensorboard_test.py: tensorboard_files FOLDER
#include <cmath>
#include <cstdio>

#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/nn/files/tensorboard/summary_writer.h"

using namespace tandem;

namespace {

void write(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/first", {.purge_step = nullopt, .filename_suffix = ".part"});
  for (int step = 0; step < 5; ++step) writer.add_scalar("train/loss", 1.0 / (1 + step), step, 1000.5 + step);
  writer.add_scalar("one value", full({1}, 2.5), -1);
  writer.add_scalar("not finite", NAN, 3);
  writer.add_scalars("both", {{"train", 1.0}, {"te/st", 2.0}}, 7);
  writer.add_histogram("values", tensor({-2.0, -1e-13, 0.0, 0.5, 0.5, 3e20, double(NAN), double(INFINITY)}, kDouble),
                       2);
  writer.add_histogram("nothing", full({3}, NAN), 2);
  writer.add_histogram("integers", arange(4, kLong), 2);
  writer.add_image("gray", full({1, 2, 3}, 0.5), 1);
  writer.add_image("rows", tensor({{0.0, 1.0, 2.0, -1.0}}, kDouble), 1, nullopt, "HW");
  writer.add_image("last", full({2, 3, 3}, 7, kByte), 1, nullopt, "HWC");
  writer.add_images("grid", arange(10, kByte).view({10, 1, 1, 1}), 1);
  const Tensor wide = arange(12, kByte).view({2, 1, 2, 3});
  writer.add_images("wide", wide, 1);
  writer.add_images("wide, channels last", wide.permute({0, 2, 3, 1}), 1, nullopt, "NHWC");
  writer.add_text("note", "some *text*: \xc3\xa4", 4);
  writer.flush();
  writer.close();
  writer.add_scalar("train/loss", 9, 9);  // in a new file
}

void resume(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/first", {.purge_step = 3});
  writer.add_scalar("train/loss", 30, 3);
}

template <class F>
void expect_error(const char* what, const F& f) {
  try {
    f();
    std::printf("no error: %s\n", what);
  } catch (const Error&) {
  }
}

void misuse(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder + "/misuse");
  expect_error("several values", [&] { writer.add_scalar("x", full({2}, 1.0)); });
  expect_error("two channels", [&] { writer.add_image("x", full({2, 4, 4}, 1.0)); });
  expect_error("integers", [&] { writer.add_image("x", full({1, 4, 4}, 1, kLong)); });
  expect_error("a format", [&] { writer.add_image("x", full({1, 4, 4}, 1.0), 0, nullopt, "WHC"); });
  expect_error("dimensions", [&] { writer.add_image("x", full({4, 4}, 1.0)); });
  expect_error("no images", [&] { writer.add_images("x", full({0, 1, 4, 4}, 1.0)); });
  expect_error("complex values", [&] { writer.add_histogram("x", full({2}, 1.0, kComplexFloat)); });
  expect_error("an empty name", [] { tensorboard::SummaryWriter none(""); });
  expect_error("a folder that cannot exist", [] { tensorboard::SummaryWriter none("/dev/null/x"); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  write(argv[1]);
  resume(argv[1]);
  misuse(argv[1]);
}
