// A network as an ONNX model.
#include "tandem/onnx/onnx.h"
#include "tandem/onnx/save.h"
#include "tandem/tests/faults/scenarios/formats.h"

namespace tandem::faults {
namespace {

const AddScenarios added(of_formats({
    {"onnx", "net.onnx",
     [](const std::string& path, const State& state) {
       manual_seed(static_cast<uint64_t>(state["large"][0].item<double>()));
       onnx::save(nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2)), {zeros({3, 4})}, path);
     },
     [](const std::string& path, Sum& sum) {
       sum.add(onnx::load(path)->forward(ones({3, 4})));
     }},
}));

}  // namespace
}  // namespace tandem::faults
