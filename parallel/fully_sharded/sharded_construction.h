// Building a model of which no process ever holds the whole, for FullyShardedDataParallel.
//
//   distributed::ShardedConstruction parts(group);
//   distributed::FullyShardedDataParallel<Net> model(Net(options), {.process_group = group});
//   distributed::load_checkpoint(*model, "gpt2");   // or train with the initial values
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/nn/child_observer.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

class FlatPart;

/// While it lives, a module that this thread adds to a Sequential, ModuleList or ModuleDict has rank 0's parameters cut
/// into slices at once, so the next one is built in the memory of the last; what is in no container stays whole until
/// the model is wrapped. Random numbers are those of the whole model, as no constructor is skipped, and so are the bits.
///
/// Every process builds the same model on the group's device, and wraps it while the construction lives, on the same
/// thread and in the same group. Parameters are empty from the moment when their module was added. The functions of
/// nn::init still give them values, for which they gather the block, say at the end of the model's constructor; a model
/// that changes a value in another way is refused when it is wrapped.
class ShardedConstruction : public nn::detail::ChildObserver {
 public:
  /// Null: the default group. Throws Error if there is none.
  explicit ShardedConstruction(std::shared_ptr<ProcessGroup> group = nullptr);
  ~ShardedConstruction() override;

  // ---- for FullyShardedDataParallel
  /// The innermost one of this thread, or null.
  static ShardedConstruction* current();
  /// Gathers those of the parameters that are cut. Throws Error if one has been changed.
  void gather(const std::vector<std::pair<std::string, Tensor>>& parameters,
              const std::shared_ptr<ProcessGroup>& group);
  /// Frees what gather() has gathered, and forgets parts whose parameters are all in other ones.
  void release();

 private:
  struct Part {
    std::unique_ptr<FlatPart> flat;
    uint32_t version = 0;
  };
  void added(const nn::Module& parent, nn::Module& child) override;
  void initialise(const Tensor& tensor, const std::function<void()>& set) override;

  std::shared_ptr<ProcessGroup> group_;
  std::vector<Part> parts_;
  std::unordered_map<const TensorImpl*, std::size_t> part_of_;
};

}  // namespace tandem::distributed
