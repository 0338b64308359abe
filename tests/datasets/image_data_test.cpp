// Round trips of tensors through IDX files, and data sets with inconsistent files.
#include "tandem/datasets/image_data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "tandem/core/error.h"
#include "tandem/datasets/idx.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::test;
using doctest::Contains;

namespace {

Tensor counting(std::vector<int64_t> sizes, ScalarType dtype) {
  const Tensor tensor = empty_raw(sizes, dtype, Device(kCPU, 0));
  dispatch(dtype, NumericTypes{}, "counting", [&](auto type) {
    using T = typename decltype(type)::type;
    T* data = tensor.data_ptr<T>();
    for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = static_cast<T>(i % 7);
  });
  return tensor;
}

Tensor bytes(std::vector<uint8_t> values) {
  const Tensor tensor = empty_raw({static_cast<int64_t>(values.size())}, kUInt8, Device(kCPU, 0));
  std::copy(values.begin(), values.end(), tensor.data_ptr<uint8_t>());
  return tensor;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

// A data set of four small files, which the tests replace one by one.
struct Files {
  TempFolder folder;
  Files() {
    write_idx(folder / "train-images-idx3-ubyte", counting({5, 4, 3}, kUInt8));
    write_idx(folder / "train-labels-idx1-ubyte", counting({5}, kUInt8));
    write_idx(folder / "t10k-images-idx3-ubyte.gz", counting({2, 4, 3}, kUInt8));
    write_idx(folder / "t10k-labels-idx1-ubyte.gz", counting({2}, kUInt8));
  }
  ImageDataPair read() const { return read_image_data(find_dataset(folder.path())); }
};

}  // namespace

TEST_CASE("tensors of every IDX type round-trip; transposed ones are written in row-major order") {
  TempFolder folder;
  for (ScalarType dtype : {kUInt8, kInt8, kInt16, kInt32, kFloat32, kFloat64}) {
    const Tensor tensor = counting({3, 5}, dtype);
    write_idx(folder / "a.gz", tensor);
    const Tensor back = read_idx(folder / "a.gz");
    CHECK((back.dtype() == dtype));
    CHECK((back.sizes() == IntArrayRef{3, 5}));
    CHECK(same_bytes(back, tensor));
    write_idx(folder / "t", tensor.t());
    CHECK(same_bytes(read_idx(folder / "t"), tensor.t().contiguous()));
  }
  CHECK(error_of([&] { write_idx(folder / "b", counting({3}, kInt64)); }) ==
        "write_idx: IDX files cannot store int64; expected uint8, int8, int16, int32, float32 or float64");
  CHECK_FALSE(std::filesystem::exists(folder / "b"));
}

TEST_CASE("a data set is read with images as bytes and labels as int64") {
  const Files files;
  const ImageDataPair pair = files.read();
  CHECK(pair.train.images.describe() == "[5, 4, 3] uint8 cpu");
  CHECK(pair.train.labels.describe() == "[5] int64 cpu");
  CHECK(pair.train.classes == 5);
  CHECK(pair.test.images.size(0) == 2);
  CHECK(pair.train.labels.data_ptr<int64_t>()[3] == 3);
}

TEST_CASE("inconsistent files are refused") {
  const Files files;
  const TempFolder& folder = files.folder;
  const auto refusal = [&] { return error_of([&] { files.read(); }); };
  write_file(folder / "classes.txt", "a\nb\nc");
  CHECK(refusal() == (folder / "train-labels-idx1-ubyte") + ": label 4 has no name: there are 3 class names");
  std::filesystem::remove(folder / "classes.txt");
  write_idx(folder / "train-labels-idx1-ubyte", bytes({1, 2, 0, 200, 1}));
  CHECK(refusal() == (folder / "train-labels-idx1-ubyte") +
                         ": label 200 occurs, but label 3 does not; if that is right, name the classes in "
                         "classes.txt, one in each line");
  write_idx(folder / "train-labels-idx1-ubyte", bytes({1, 2, 3, 4, 1}));
  CHECK(refusal() == "");
  write_idx(folder / "train-labels-idx1-ubyte", counting({4}, kUInt8));
  CHECK(refusal() == (folder / "train-labels-idx1-ubyte") + ": 4 labels for the 5 images of " +
                         (folder / "train-images-idx3-ubyte"));
  write_idx(folder / "train-labels-idx1-ubyte", counting({5}, kInt32));
  CHECK(refusal().find("expected labels, uint8 [count]; got [5] int32 cpu") != std::string::npos);
  write_idx(folder / "train-labels-idx1-ubyte", counting({5}, kUInt8));
  write_idx(folder / "t10k-images-idx3-ubyte.gz", counting({2, 4, 4}, kUInt8));
  CHECK(refusal() == folder.path() + ": training images are 4 x 3, test images 4 x 4");
  write_idx(folder / "t10k-images-idx3-ubyte.gz", counting({2, 4}, kUInt8));
  CHECK(refusal().find("expected images, uint8 [count, height, width]") != std::string::npos);
  write_idx(folder / "t10k-images-idx3-ubyte.gz", counting({6, 4, 3}, kUInt8));
  write_idx(folder / "t10k-labels-idx1-ubyte.gz", counting({6}, kUInt8));
  CHECK(refusal().find("label 5 does not occur in the training data; the largest training label is 4") !=
        std::string::npos);
  write_idx(folder / "t10k-images-idx3-ubyte.gz", counting({0, 4, 3}, kUInt8));
  write_idx(folder / "t10k-labels-idx1-ubyte.gz", counting({0}, kUInt8));
  CHECK(refusal().find("the file contains no images, sizes [0, 4, 3]") != std::string::npos);
}
