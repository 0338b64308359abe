// The state of a Reducer, and the steps of a backward pass. Internal.
#pragma once
#include <exception>
#include <mutex>
#include <optional>

#include "tandem/parallel/distributed_data_parallel/reducer.h"
#include "tandem/parallel/shared/backward_anchor.h"
#include "tandem/parallel/shared/buckets.h"

namespace tandem::distributed {

struct Reducer::Impl {
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  std::shared_ptr<ProcessGroup> group;
  ReducerOptions options;

  std::vector<parallel::Bucket> buckets;
  std::vector<parallel::BucketPlace> places;  // by parameter
  bool rebuilt = false;                       // the first step is over; the buckets follow rank 0's backward
  bool learned = false;                       // static_graph: `remembered` is known
  std::vector<std::size_t> remembered;
  std::vector<std::size_t> times;        // static_graph: by parameter, gradients per step
  std::vector<char> used_anywhere;       // by parameter, by any process; under static_graph in the first step
  std::vector<char> used_before;         // by parameter, by passes that stayed on this process
  std::optional<BackwardAnchor> anchor;  // for steps in which this process uses no parameter

  // ---- one backward pass
  std::mutex mutex;        // parameters on several devices are ready on several threads
  bool expecting = false;  // prepare() was called and the gradients have not been reduced yet
  bool queued = false;     // end_pass() will run at the end of the pass
  std::size_t depth = 0;   // how many passes forward ran in
  std::vector<char> ready;
  std::vector<std::size_t> order;  // in which gradients arrived
  std::vector<std::size_t> unused;
  std::vector<std::size_t> begun;    // by parameter, gradients that came or are being accumulated
  std::vector<std::size_t> missing;  // static_graph: by parameter, gradients still to come
  parallel::BucketQueue queue;
  std::vector<HookResult> started;
  std::exception_ptr failure;  // of an earlier reduction; the group has failed too

  bool may_lack_gradients() const { return options.find_unused_parameters || options.static_graph; }
  bool learning() const { return options.static_graph && !learned; }
  void check_finished();
  void check_parameters() const;
  void begin();
  bool averages() const;
  void arriving(std::size_t parameter, const std::shared_ptr<Impl>& self);
  void arrived(optional<std::size_t> parameter, const std::shared_ptr<Impl>& self);
  void begin_backward(const std::shared_ptr<Impl>& self);
  void add_gradient(std::size_t parameter);
  bool count_gradient(std::size_t parameter);
  void mark_ready(std::size_t parameter, bool used = true);
  void start_complete();
  void start(parallel::Bucket& bucket);
  void end_pass();
  void finish();
  void learn_unused();
  void add_missing();
  void follow_order();
  bool uses_nothing(const Tensors& outputs);
  void keep_unused();
  std::vector<char> gather_used();
  void fail(const std::exception_ptr& error);
};

}  // namespace tandem::distributed
