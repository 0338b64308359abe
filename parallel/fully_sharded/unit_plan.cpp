#include "tandem/parallel/fully_sharded/unit_plan.h"

#include <algorithm>
#include <unordered_map>

#include "tandem/nn/module_dict.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/sequential.h"

namespace tandem::distributed {
namespace {

// These have no forward, so no hook would be called.
bool is_list(const nn::Module& module) {
  return module.as<nn::ModuleList>() != nullptr || module.as<nn::ModuleDictImpl>() != nullptr;
}
struct Planner {
  using Chain = std::vector<std::size_t>;  // units from the root to a module
  struct Owned {
    std::string name;
    Tensor parameter;
    Chain units;  // that contain all owners
  };

  const UnitRule& rule;
  std::vector<PlannedUnit> units = std::vector<PlannedUnit>(1);
  std::unordered_map<const nn::Module*, std::size_t> numbers = {};
  std::vector<Owned> owned = {};
  std::unordered_map<const TensorImpl*, std::size_t> places = {};

  bool is_unit(const std::string& name, const nn::Module& module, bool block, const Chain& around) const {
    if (is_list(module) || module.parameters().empty()) return false;
    return rule ? rule(name, module) : block && around.size() == 1;
  }

  void visit_children(const std::string& name, nn::Module& module, const Chain& around) {
    const bool blocks = is_container(module);
    for (const auto& child : module.named_children())
      visit(name.empty() ? child.key() : name + "." + child.key(), child.value(), blocks, around);
  }

  void visit(const std::string& name, const std::shared_ptr<nn::Module>& module, bool block, Chain chain) {
    if (is_unit(name, *module, block, chain)) {
      const auto [at, added] = numbers.emplace(module.get(), units.size());
      if (added) units.push_back({name, module, {}});
      chain.push_back(at->second);
    }
    own(name + ".", *module, chain);
    visit_children(name, *module, chain);
  }

  void own(const std::string& prefix, const nn::Module& module, const Chain& chain) {
    for (const auto& [name, parameter] : module.named_parameters(/*recurse=*/false)) {
      const auto [at, added] = places.emplace(parameter.impl(), owned.size());
      if (added) {
        owned.push_back({prefix + name, parameter, chain});
      } else {
        Chain& common = owned[at->second].units;
        common.erase(std::mismatch(common.begin(), common.end(), chain.begin(), chain.end()).first, common.end());
      }
    }
  }
};

}  // namespace

bool is_container(const nn::Module& module) { return is_list(module) || module.as<nn::SequentialImpl>() != nullptr; }

std::vector<PlannedUnit> plan_units(nn::Module& root, const UnitRule& rule) {
  Planner planner{rule};
  planner.own("", root, {0});
  planner.visit_children("", root, {0});
  for (const Planner::Owned& each : planner.owned)
    planner.units[each.units.back()].parameters.emplace_back(each.name, each.parameter);
  std::vector<PlannedUnit> out;
  for (PlannedUnit& unit : planner.units)
    if (out.empty() || !unit.parameters.empty()) out.push_back(std::move(unit));
  return out;
}

}  // namespace tandem::distributed
