// The pickles in PyTorch's files, read without Python: data only, no code. Internal to the sources of this folder.
//
// A pickle is a program for a stack machine that builds objects. This machine builds None, numbers, strings, lists,
// tuples, dictionaries and tensors. A pickle names functions and classes ("globals") that it calls: kNames lists those
// that are known; each is a few lines here, and nothing is looked up by name. An object of LibTorch or TorchScript
// (`__torch__…`) is the dictionary of its attributes; the file's code for it is not read. What any other class makes is
// a dictionary if items are put into it, and otherwise refused.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize::pt {

/// Limits that real files do not reach: a file within them needs at most some hundred MB in addition to its tensors.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{1} << 26, kMaxNodes = std::size_t{1} << 22;
inline constexpr int kMaxLevels = 100;

/// One storage in the file.
struct StorageInfo {
  ScalarType dtype = kFloat;
  std::string key;
  int64_t numel = 0;
};
/// Returns the elements of a storage, 1-d on the CPU; the same tensor for the same storage.
using StorageReader = std::function<Tensor(const StorageInfo&)>;

/// The functions and types that a pickle may name.
enum class Name : int8_t {
  kOrderedDict,
  kRebuildTensor,
  kRebuildTyped,
  kRebuildParameter,
  kSize,
  kIntList,
  kDoubleList,
  kTensorList,
  kBoolList,
  kTypeTag,
  kStorageType,
  kDtype,
  kDevice,
  kSet,
  kObject,
  kUnknown,
};

struct Node {
  enum Kind : int8_t { kNone, kBool, kInt, kDouble, kString, kList, kTuple, kDict, kName, kStorage, kTensor };
  Kind kind = kNone;
  Name name = Name::kOrderedDict;  ///< kName; of a list: the function that gave its elements' type
  bool typed = false;              ///< a list with a type; a kDict with the attributes of an object
  int64_t integer = 0;             ///< kBool, kInt; of a kStorageType or kDtype: its ScalarType
  double number = 0;
  std::string text{};          ///< kString; the name of an unknown class
  std::vector<Node*> items{};  ///< kList, kTuple; keys and values of a kDict in turn
  Tensor tensor{};             ///< kTensor; kStorage: its elements
};

/// "an int", "None", …
const char* kind_name(Node::Kind kind);
/// Why an unknown class is refused.
std::string refusal_of(const Node& unknown);

/// The machine. Nodes live as long as it does; they may form cycles, as lists can contain themselves.
class PickleMachine {
 public:
  /// `pickle` may be followed by other bytes. Errors name `file`.
  PickleMachine(std::string_view pickle, const std::string& file, const StorageReader& storages);
  /// Runs the pickle and returns its result. Throws Error on anything unknown, refused or out of bounds.
  Node* run();
  /// Computes the tensors that PyTorch conjugates or negates lazily. Call it once, after run() and when the storages
  /// have their elements.
  void resolve();
  /// The bytes of the pickle, after run().
  std::size_t consumed() const { return size_ - rest_.size(); }

 private:
  bool step(unsigned char code);
  bool step_constant(unsigned char code);
  bool step_container(unsigned char code);
  bool step_memo(unsigned char code);
  bool step_object(unsigned char code);

  // The calls that a pickle may make, in pickle_calls.cpp.
  void name(std::string_view module, std::string_view function);
  void call();
  Node* call(const Node& function, const std::vector<Node*>& arguments);
  Node* rebuild_tensor(const std::vector<Node*>& arguments);
  Node* rebuild_typed(std::vector<Node*> arguments);
  const Tensor& marked(const Tensor& elements, const Node& metadata);
  Node* rebuild_parameter(const std::vector<Node*>& arguments);
  Node* typed_list(Name type, const std::vector<Node*>& arguments);
  void persistent();

  std::string_view take(uint64_t bytes);
  uint64_t number(int bytes);
  std::string_view line();
  Node* make(Node::Kind kind);
  Node* make_int(int64_t value);
  void push(Node* node) {
    expect(stack_.size() < kMaxNodes, "the pickle's stack is too large");
    stack_.push_back(node);
  }
  Node* pop();
  Node* pop(Node::Kind kind, const char* what);
  Node* top(Node::Kind kind, const char* what);
  std::vector<Node*> pop_to_mark();
  /// What a few bytes of a pickle can copy is limited in all.
  void count_copied(std::size_t values) {
    copied_ += values;
    expect(copied_ <= kMaxNodes, "the pickle copies too many values");
  }
  /// Appends to `node`, which is not the source.
  void copy_items(const std::vector<Node*>& items, Node* node);
  void set_items(const std::vector<Node*>& items);
  void put(uint64_t index);
  void get(uint64_t index);
  [[noreturn]] void refuse(const std::string& problem) const;
  void expect(bool condition, const char* problem) const {
    if (!condition) refuse(problem);
  }

  std::string_view rest_;
  std::size_t size_;
  const std::string& file_;
  const StorageReader& storages_;
  std::deque<Node> nodes_;
  std::vector<Node*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<uint64_t, Node*> memo_;
  // For each storage, dtype, conj and neg: its elements and, after resolve(), the values that they stand for.
  struct Marked {
    Tensor elements, values;
  };
  std::map<std::tuple<const StorageImpl*, ScalarType, bool, bool>, Marked> marked_;
  std::vector<std::pair<const Node*, const Node*>> unknown_;  // dictionaries, and the unknown classes that made them
  std::size_t copied_ = 0;
};

/// The value of a node. Throws Error on what an IValue cannot be, on cycles and on more than kMaxLevels levels.
IValue value_of(Node* node, const std::string& file);

/// A pickle of `value` that refers to storages by their positions in `storages`; tensors that share a storage share it
/// in the file. Throws Error for more than kMaxLevels levels.
std::string pickle(const IValue& value, std::vector<Tensor>& storages);

/// Throws Error if `elements` are bool and one is neither 0 nor 1.
void check_bools(const Tensor& elements, const std::string& key, const std::string& file);

/// The name of a dtype's storage class in PyTorch, such as FloatStorage.
const char* storage_type(ScalarType type);

}  // namespace tandem::serialize::pt
