// Data sets are read, and batches of them made by threads.
#include "tandem/datasets/data_loader.h"
#include "tandem/datasets/idx.h"
#include "tandem/datasets/loader.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"

namespace tandem::faults {
namespace {

const std::vector<Kind> kLoading = {Kind::kMemory, Kind::kMap, Kind::kThread};

// A data set whose examples take memory in the workers.
struct Squares : data::datasets::Dataset<Squares> {
  data::Example<> get(size_t index) override {
    return {full({3}, static_cast<double>(index * index)), full({}, static_cast<int64_t>(index), kLong)};
  }
  optional<size_t> size() const override { return 11; }
};

void loader(const std::string&, Sum& sum) {
  const auto batches = data::make_data_loader<data::samplers::RandomSampler>(
      Squares().map(data::transforms::Stack<>()), data::DataLoaderOptions(3).workers(2).seed(7));
  for (auto& batch : *batches) sum.add({batch.data, batch.target});
}

void batch_loader(const std::string&, Sum& sum) {
  data::BatchLoader batches({arange(40, kFloat).view({20, 2}), arange(20)},
                            {.batch_size = 3, .shuffle = true, .workers = 2, .seed = 5},
                            [](std::vector<Tensor>& batch) { batch[0] = batch[0] * 2; });
  while (const auto batch = batches.next()) sum.add(*batch);
}

void write_idx_files(const std::string& folder) {
  const Tensor images = arange(5 * 8 * 8).view({5, 8, 8}).to(kByte);
  data::write_idx(folder + "/a.idx", images);
  data::write_idx(folder + "/b.idx.gz", images);
}

void read_idx_files(const std::string& folder, Sum& sum) {
  sum.add(data::read_idx(folder + "/a.idx"));
  sum.add(data::read_idx(folder + "/b.idx.gz"));
}

const AddScenarios added({
    {.name = "data_loader", .kinds = kLoading, .run = loader},
    {.name = "batch_loader", .kinds = kLoading, .run = batch_loader},
    {.name = "read_idx", .kinds = kReading, .run = read_idx_files, .prepare = write_idx_files},
    {.name = "write_idx", .kinds = kWriting, .run = [](const std::string& folder, Sum&) { write_idx_files(folder); }},
});

}  // namespace
}  // namespace tandem::faults
