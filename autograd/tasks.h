// The engine's bookkeeping for the nodes of one pass.
#pragma once
#include <utility>
#include <vector>

#include "tandem/autograd/node.h"

namespace tandem::autograd {

// State of one node during a pass.
struct Task {
  Node* node = nullptr;
  int waiting = 0;        // edges that have not delivered yet
  bool needed = true;     // its backward runs: it is on a path to a requested input
  bool captured = false;  // its gradient itself is requested
  bool wanted() const { return needed || captured; }
  SmallVector<Tensor, 1> grads;
};

// Map from Node to Task with open addressing: one probe for most nodes, no allocation per node.
class TaskMap {
 public:
  TaskMap() : slots_(64) {}
  Task& operator[](Node* node) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Task& slot = find(node);
    if (slot.node == nullptr) {
      slot.node = node;
      slot.grads.resize(std::max<std::size_t>(1, node->outputs.size()));
      ++count_;
    }
    return slot;
  }
  Task* get(Node* node) {
    Task& slot = find(node);
    return slot.node != nullptr ? &slot : nullptr;
  }
  bool has(Node* node) { return get(node) != nullptr; }

  /// Nodes with a smaller number have no tasks, apart from roots: no requested input is behind them.
  uint64_t oldest = 0;

 private:
  Task& find(Node* node) {
    std::size_t i = (reinterpret_cast<uintptr_t>(node) >> 6) * 0x9E3779B97F4A7C15u >> 20;
    for (;; ++i)
      if (Task& slot = slots_[i & (slots_.size() - 1)]; slot.node == node || slot.node == nullptr) return slot;
  }
  void grow() {
    std::vector<Task> old(slots_.size() * 4);
    old.swap(slots_);
    for (Task& task : old)
      if (task.node != nullptr) find(task.node) = std::move(task);
  }
  std::vector<Task> slots_;
  std::size_t count_ = 0;
};

/// The tasks of the pass that runs on this thread, if it has chosen inputs.
inline constinit thread_local TaskMap* chosen_tasks = nullptr;

class ChosenTasksGuard {
 public:
  explicit ChosenTasksGuard(TaskMap* tasks) : outer_(std::exchange(chosen_tasks, tasks)) {}
  ~ChosenTasksGuard() { chosen_tasks = outer_; }
  ChosenTasksGuard(const ChosenTasksGuard&) = delete;
  ChosenTasksGuard& operator=(const ChosenTasksGuard&) = delete;

 private:
  TaskMap* outer_;
};

/// Whether the pass that runs on this thread needs gradients that arrive at `node`. True outside of a pass, and for a
/// node that is not part of it.
inline bool pass_wants(Node* node) {
  if (chosen_tasks == nullptr) return true;
  const Task* task = chosen_tasks->get(node);
  return task != nullptr ? task->wanted() : node->sequence >= chosen_tasks->oldest;
}

}  // namespace tandem::autograd
