// Recorder: makes a graph of the kernels that a thread calls.
//
// For every storage it knows which values its contents are. A kernel's argument is a view of a storage: read() adds the
// nodes that make it from the contents. write() notes what a kernel leaves in a storage, or in a part of it. What no
// kernel has written is a constant: a tensor of the module's state, or another one.
//
// Storages are kept until the recording ends, so that no address means two of them.
#pragma once
#include <optional>
#include <unordered_map>

#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/onnx/export/geometry.h"

namespace tandem::onnx::exporter {

class Recorder final : public KernelRecorder {
 public:
  // ---- the start and the end of a recording
  void add_input(const Tensor& t, std::string name);
  /// A parameter or buffer of the module.
  void add_state(const Tensor& t, std::string name);
  void add_output(const Tensor& t);
  /// Removes what no output needs. Throws Error naming the kernels that have no translation.
  Graph finish();

  // ---- KernelRecorder
  void called(const KernelCall& call) override;
  void read_on_host(const Tensor& t, const char* reader) override;

  // ---- for translations
  /// The elements of t, with its sizes.
  Id read(const Tensor& t);
  Id read(const Tensor& t, Ints sizes);  ///< contiguous t with other sizes
  /// The contents of contiguous t with the sizes that its memory has, if `fits` allows; otherwise with these sizes.
  template <class Fits>
  Id read_as(const Tensor& t, const Ints& sizes, Fits fits) {
    const Part* whole = whole_of(t);
    return whole != nullptr && fits(whole->geometry.sizes) ? whole->value : read(t, sizes);
  }
  /// t as the tensor of another dtype whose bytes it shows, or undefined.
  Tensor as_stored(const Tensor& t);
  /// `value` has the sizes of `out`, or as many elements if out is contiguous.
  void write(const Tensor& out, Id value);
  /// The kernel writes `out` for backward only: nothing may read it.
  void skip(const Tensor& out);
  /// The kernel has no translation for these arguments.
  void lack(const std::string& what);
  /// A view of a value as if it were row-major memory.
  Id view(Id value, const Geometry& geometry);
  Id reshape(Id value, Ints sizes);
  Id transpose(Id value, const std::vector<int>& order);
  Id expand(Id value, Ints sizes);
  Id flip(Id value, const std::vector<int64_t>& dims);
  Id cast(Id value, ScalarType dtype);

  Id add(const std::string& op, std::vector<Id> inputs, Attributes attributes, ScalarType dtype, Ints sizes);
  /// With the dtype and sizes of a tensor.
  Id add(const std::string& op, std::vector<Id> inputs, Attributes attributes, const Tensor& like);
  /// With the dtype and sizes of the first input.
  Id add(const std::string& op, std::vector<Id> inputs, Attributes attributes = {});
  /// With several outputs, whose dtypes and sizes the caller sets.
  std::vector<Id> add_many(const std::string& op, std::vector<Id> inputs, Attributes attributes,
                           std::vector<std::pair<ScalarType, Ints>> outputs);
  /// A function of the domain "tandem" (functions.h).
  Id call(const std::string& function, std::vector<Id> inputs, Attributes attributes, ScalarType dtype, Ints sizes);
  Id call(const std::string& function, std::vector<Id> inputs, Attributes attributes, const Tensor& like);
  std::vector<Id> call_many(const std::string& function, std::vector<Id> inputs, Attributes attributes,
                            std::vector<std::pair<ScalarType, Ints>> outputs);
  Id ints(Ints values);
  Id number(const Scalar& value, ScalarType dtype);  ///< of no dimension
  Id filled(const Scalar& value, ScalarType dtype, Ints sizes);
  Id constant(const Tensor& t);
  Id constant(const Ints& values, Ints sizes);  ///< int64
  const Value& operator[](Id id) const { return graph_[id]; }

  /// The node that computes a value, or nullptr.
  const Node* producer(Id id) const { return graph_.producer(id); }

  /// The offsets that the kernel "index_offsets" has left in a storage, in terms of what they are computed from.
  struct Offsets {
    std::vector<Id> indices;
    Ints sizes, strides;  ///< of the indexed dimensions
    Ints shape;           ///< of the positions
  };
  void note_offsets(const Tensor& out, Offsets offsets);
  const Offsets* offsets_in(const Tensor& t) const;

 private:
  struct Part {
    Geometry geometry;
    Id value;
  };
  struct Contents {
    Storage storage;
    std::vector<Part> state;    // tensors of the module's state in this storage, while nothing has been written
    bool constant = true;       // no kernel has written it
    Part whole{{}, kNoValue};   // dense, covers the storage
    std::vector<Part> written;  // over it, in this order
    std::vector<Part> views;    // made before
    std::vector<Id> constants;  // whose tensors use the memory
    std::optional<Offsets> offsets;
  };
  Contents& contents_of(const Tensor& t);
  /// What fills exactly the memory of contiguous t, row-major, or nullptr.
  const Part* whole_of(const Tensor& t);
  Id read_constant(Contents& from, const Tensor& t, const Geometry& geometry);
  void begin_writing(Contents& to, const Geometry& geometry);
  void join(Contents& contents);
  bool join_parts(Contents& contents);
  void join_part(Contents& contents, const Part& part);
  Id derive(const Part& from, const Geometry& view);
  std::optional<Scalar> fill_of(Id value) const;

  Graph graph_;
  std::unordered_map<const StorageImpl*, Contents> storages_;
  const char* kernel_ = "";
};

/// What a translation does with a call: reads its arguments, adds nodes, and writes its results.
using Translation = void (*)(Recorder& r, const KernelCall& call);
/// nullptr if there is none.
Translation find_translation(const KernelCall& call);

}  // namespace tandem::onnx::exporter
