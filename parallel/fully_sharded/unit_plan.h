// Which parameters are gathered together. Internal to FullyShardedDataParallel.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/module.h"

namespace tandem::distributed {

/// Whether the parameters of a module, which has forward hooks called and is named `name`, are a unit.
using UnitRule = std::function<bool(const std::string& name, const nn::Module& module)>;

struct PlannedUnit {
  std::string name;                                        // of the module; "" for the root
  std::shared_ptr<nn::Module> module;                      // null for the root
  std::vector<std::pair<std::string, Tensor>> parameters;  // with their first names in the root
};

/// Whether the children of a module are blocks: a Sequential, a ModuleList or a ModuleDict.
bool is_container(const nn::Module& module);

/// The root's unit comes first, then those of other modules with parameters, in the order of the tree. A parameter is in
/// the unit of the innermost module that contains all its owners and is a unit. Without a rule the blocks of a
/// Sequential, a ModuleList or a ModuleDict are units, but not those within them.
std::vector<PlannedUnit> plan_units(nn::Module& root, const UnitRule& rule);

}  // namespace tandem::distributed
