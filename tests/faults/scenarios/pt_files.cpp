// PyTorch's and NumPy's archives.
#include "tandem/nn/files/pt/npz.h"
#include "tandem/nn/files/pt/pt.h"
#include "tandem/nn/files/pt/weights.h"
#include "tandem/tests/faults/scenarios/formats.h"

namespace tandem::faults {
namespace {

void load_npz(const std::string& path, Sum& sum) { add(serialize::load_npz(path), sum); }

const AddScenarios added(of_formats({
    {"pt", "model.pt", [](const std::string& path, const State& state) { serialize::save_pt(path, state); },
     [](const std::string& path, Sum& sum) { add(serialize::state_dict_of(serialize::load_pt(path)), sum); }},
    {"npz", "arrays.npz", [](const std::string& path, const State& state) { serialize::save_npz(path, state); },
     load_npz},
    {"compressed_npz", "arrays.npz",
     [](const std::string& path, const State& state) {
       serialize::save_npz(path, {{"a", state["a.weight"]}, {"b", state["large"].narrow(0, 0, 1000)}}, true);
     },
     load_npz},
}));

}  // namespace
}  // namespace tandem::faults
