#include "tandem/parallel/fully_sharded/sharded_construction.h"

#include <algorithm>

#include "tandem/core/memory/released_memory.h"
#include "tandem/parallel/fully_sharded/flat_part.h"
#include "tandem/parallel/fully_sharded/unit_plan.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::distributed {

ShardedConstruction::ShardedConstruction(std::shared_ptr<ProcessGroup> group)
    : group_(given_or_default(group, "ShardedConstruction")) {}
ShardedConstruction::~ShardedConstruction() = default;

ShardedConstruction* ShardedConstruction::current() {
  return dynamic_cast<ShardedConstruction*>(nn::detail::ChildObserver::current());
}

void ShardedConstruction::added(const nn::Module& parent, nn::Module& child) {
  if (!is_container(parent)) return;
  std::vector<std::pair<std::string, Tensor>> whole;
  std::vector<Tensor> values;
  for (const auto& [name, parameter] : child.named_parameters()) {
    if (part_of_.contains(parameter.impl())) continue;
    check(parameter.is_leaf() && (group_->size() == 1 || parameter.device() == group_->device()),
          "ShardedConstruction: parameter ", name, " of ", child.name(), " is not a leaf on ", group_->device());
    whole.emplace_back(name, parameter);
    values.push_back(parameter);
  }
  if (whole.empty()) return;
  broadcast_from(*group_, values, 0);
  for (auto& flat : cut_parameters(std::move(whole), group_)) {
    for (const FlatPart::Place& place : flat->places()) part_of_.emplace(place.parameter.impl(), parts_.size());
    const uint32_t version = flat->whole()->version();
    parts_.push_back({std::move(flat), version});
  }
}

void ShardedConstruction::initialise(const Tensor& tensor, const std::function<void()>& set) {
  const auto at = part_of_.find(tensor.impl());
  Part* const part = at == part_of_.end() ? nullptr : &parts_[at->second];
  if (part == nullptr || part->flat == nullptr || !(tensor.storage() == part->flat->whole())) {
    check(
        !tandem::detail::is_released(*tensor.storage()),
        "ShardedConstruction: the tensor is a part of a parameter that has been cut into slices; initialise the whole");
    return set();
  }
  const bool unchanged = part->flat->whole()->version() == part->version;
  part->flat->start_gather();
  part->flat->finish_gather();
  set();
  broadcast_from(*group_, {tensor}, 0);
  part->flat->take_values();
  part->flat->release();
  if (unchanged) part->version = part->flat->whole()->version();
}

void ShardedConstruction::gather(const std::vector<std::pair<std::string, Tensor>>& parameters,
                                 const std::shared_ptr<ProcessGroup>& group) {
  for (const auto& [name, parameter] : parameters) {
    const auto at = part_of_.find(parameter.impl());
    if (at == part_of_.end()) continue;
    const Part& part = parts_[at->second];
    check(group == group_, "FullyShardedDataParallel: the model was built in another group than it is wrapped in");
    check(part.flat != nullptr && parameter.storage() == part.flat->whole() &&
              part.flat->whole()->version() == part.version,
          "FullyShardedDataParallel: parameter ", name,
          ", or another one of its block, was changed after the block had ",
          "been added to its container, where a ShardedConstruction had cut it into slices");
    part.flat->start_gather();
    part.flat->finish_gather();
  }
}

void ShardedConstruction::release() {
  for (Part& part : parts_) {
    if (part.flat == nullptr || !part.flat->is_gathered()) continue;
    part.flat->release();
    const auto& places = part.flat->places();
    if (std::none_of(places.begin(), places.end(),
                     [&](const FlatPart::Place& place) { return place.parameter.storage() == part.flat->whole(); }))
      part.flat.reset();
  }
}

}  // namespace tandem::distributed
