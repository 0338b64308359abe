// Events for TensorBoard. Their file's name and first event hold the time, so only its size is compared.
#include "tandem/nn/files/tensorboard/summary_writer.h"
#include "tandem/tandem.h"
#include "tandem/tests/faults/scenario.h"
#include "tandem/tests/faults/state.h"

namespace tandem::faults {
namespace {

void write_events(const std::string& folder) {
  tensorboard::SummaryWriter writer(folder);
  for (int step = 0; step < 3; ++step) writer.add_scalar("loss", 1.0 / (step + 1), step, 1000.0);
  writer.add_histogram("weights", arange(100, kFloat), 2, 1000.0);
  writer.add_image("picture", ones({1, 4, 4}), 2, 1000.0);
  writer.close();
}

void add_size_and_remove(const std::string& folder, Sum& sum) {
  const Pause pause;
  for (const auto& [name, content] : files_in(folder)) sum.add(std::to_string(content.size()));
  clear_folder(folder);
}

const AddScenarios added({{
    .name = "tensorboard",
    .kinds = kWriting,
    .run =
        [](const std::string& folder, Sum& sum) {
          try {
            write_events(folder);
          } catch (...) {
            add_size_and_remove(folder, sum);
            throw;
          }
          add_size_and_remove(folder, sum);
        },
}});

}  // namespace
}  // namespace tandem::faults
