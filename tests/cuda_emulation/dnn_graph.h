// What cuDNN's graph API is made of: descriptors, the convolution that they describe, engines.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "tandem/tests/cuda_emulation/dnn.h"

namespace tandem::cuda_emulation::graph {

using Name = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;
using Note = cudnnBackendNumericalNote_t;

struct Engine {
  cudnnBackendHeurMode_t mode;
  std::vector<Note> notes;
  bool forward, backward, works;
  std::size_t workspace;

  bool has(Note note) const { return std::ranges::count(notes, note) > 0; }
};

struct Object;
struct Attribute {
  Type type;
  int64_t count;
  std::vector<std::byte> values;
  std::shared_ptr<const Object> object;  // a copy of the descriptor

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(values.data());
  }
};

// A convolution in a graph.
struct Operation {
  Pass pass = Pass::kForward;
  Convolution convolution;
  int64_t ids[3] = {}, alignments[3] = {};  // of x, w and y
  cudnnHandle_t handle = nullptr;
};

struct Object {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<Name, Attribute> attributes;
  Operation operation;             // of operations and what is made from them
  const Engine* engine = nullptr;  // of configurations, engines and plans

  template <class T>
  const T* get(Name name) const {
    return attributes.at(name).as<T>();
  }
  int64_t count(Name name) const { return attributes.at(name).count; }
  const Object& child(Name name) const { return *attributes.at(name).object; }
};

/// cudnnBackendGetAttribute and cudnnBackendExecute.
cudnnStatus_t get(const Object& object, Name name, Type type, int64_t room, int64_t* count, void* values);
cudnnStatus_t execute(cudnnHandle_t handle, const Object& plan, const Object& pack);

}  // namespace tandem::cuda_emulation::graph
