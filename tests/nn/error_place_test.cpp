// The place of an error: the modules around the call that failed.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

struct BlockImpl : nn::Module {
  BlockImpl() { fc = register_module("fc", nn::Linear(4, 4)); }
  Tensor forward(const Tensor& x) { return fc(x); }
  nn::Linear fc{nullptr};
};
TANDEM_MODULE(Block);

/// `how` chooses what is called, and whether through the holder or directly.
struct NetImpl : nn::Module {
  NetImpl() {
    block = register_module("block", Block());
    list = register_module("list", nn::ModuleList(Block(), Block()));
    sequence = register_module("sequence", nn::Sequential(nn::ReLU(), Block()));
    any = nn::AnyModule(Block());
    register_module("any", any.ptr());
  }
  Tensor forward(const Tensor& x, const std::string& how) {
    if (how == "holder") return block(x);
    if (how == "direct") return block->forward(x);
    if (how == "list") return nn::call(*list[1]->as<Block>(), x);
    if (how == "list directly") return list[1]->as<Block>()->forward(x);
    if (how == "sequence") return sequence(x);
    if (how == "sequence directly") return sequence->forward(x);
    if (how == "any") return any.forward(x);
    if (how == "unregistered") return unregistered(x);
    if (how == "index") check_index(false, "no such row");
    if (how == "std") throw std::invalid_argument("not Tandem's");
    return x.view({-5});
  }
  Block block{nullptr};
  nn::ModuleList list{nullptr};
  nn::Sequential sequence{nullptr};
  nn::AnyModule any;
  Block unregistered;
};
TANDEM_MODULE(Net);

template <class Kind = Error, class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const std::exception& error) {
    CHECK(typeid(error) == typeid(Kind));
    return error.what();
  }
  return "no error";
}
/// The message's place: what is before the operation's name.
template <class F>
std::string place(const F& f) {
  const std::string text = message(f);
  const auto end = text.find("linear: ");
  CHECK(end != std::string::npos);
  CHECK(text.find("linear: ", end + 1) == std::string::npos);
  return text.substr(0, end);
}

const Tensor wrong = ones({2, 3});

}  // namespace

TEST_CASE("an error names the path of the module from the root") {
  Net net;
  const std::vector<std::pair<std::string, std::string>> cases{{"holder", "block.fc"},
                                                               {"direct", "block.fc"},
                                                               {"list", "list.1.fc"},
                                                               {"list directly", "list.1.fc"},
                                                               {"sequence", "sequence.1.fc"},
                                                               {"sequence directly", "sequence.1.fc"},
                                                               {"any", "any.fc"}};
  for (const auto& item : cases) {
    CAPTURE(item.first);
    CHECK(place([&] { net(wrong, item.first); }) == "in Net." + item.second + ": ");
    CHECK(place([&] { net->forward(wrong, item.first); }) == "in Net." + item.second + ": ");
  }
  CHECK(message([&] { net(wrong, "own"); }) == "in Net: view: bad size -5 in [-5]");
  CHECK(message([&] { net->forward(wrong, "own"); }) == "view: bad size -5 in [-5]");
}

TEST_CASE("a module that is not registered has its type in the path") {
  Net net;
  CHECK(place([&] { net(wrong, "unregistered"); }) == "in Net.<Block>.fc: ");
  CHECK(place([&] { net->forward(wrong, "unregistered"); }) == "in Block.fc: ");
  nn::Linear alone(4, 4);
  CHECK(place([&] { alone(wrong); }) == "in Linear: ");
}

TEST_CASE("errors keep their types, and their message without the place") {
  Net net;
  CHECK(message<IndexError>([&] { net(wrong, "index"); }) == "in Net: no such row");
  CHECK(message<std::invalid_argument>([&] { net(wrong, "std"); }) == "not Tandem's");
  try {
    net(wrong, "own");
  } catch (const Error& error) {
    CHECK(error.msg() == "in Net: view: bad size -5 in [-5]");
    CHECK(error.place().root == "Net");
    Error other = error;
    other.set_place({"replica 1: ", "A", "b", {}});
    CHECK(other.what() == std::string("replica 1: in A.b: view: bad size -5 in [-5]"));
    CHECK(error.what() == std::string("in Net: view: bad size -5 in [-5]"));
  }
}

TEST_CASE("an error of a hook names its module") {
  Block block;
  block->fc->register_forward_hook([](nn::Module&, const std::vector<Tensor>&, const Tensor&) { fail("stop"); });
  CHECK(message([&] { block(ones({2, 4})); }) == "in Block.fc: stop");
}

TEST_CASE("a module with two parents is named by the one that called it") {
  struct UserImpl : nn::Module {
    explicit UserImpl(nn::Linear shared) { fc = register_module("fc", shared); }
    Tensor forward(const Tensor& x) { return fc(x); }
    nn::Linear fc{nullptr};
  };
  TANDEM_MODULE(User);
  struct OtherImpl : nn::Module {
    explicit OtherImpl(nn::Linear shared) { own = register_module("own", nn::Sequential(shared)); }
    Tensor forward(const Tensor& x) { return own(x); }
    nn::Sequential own{nullptr};
  };
  TANDEM_MODULE(Other);
  nn::Linear shared(4, 4);
  User user(shared);
  {
    Other other(shared);
    CHECK(place([&] { user(wrong); }) == "in User.fc: ");
    CHECK(place([&] { other(wrong); }) == "in Other.own.0: ");
    CHECK(place([&] { user->forward(wrong); }) == "in Linear: ");  // no call says which parent
    CHECK(place([&] { shared(wrong); }) == "in Linear: ");
  }
  CHECK(place([&] { user->forward(wrong); }) == "in User.fc: ");  // the other parent is gone
  user = nullptr;
  CHECK(place([&] { shared(wrong); }) == "in Linear: ");
}

TEST_CASE("a module that leaves its parent leaves the path") {
  Net net;
  const auto old = net->block.ptr();
  const auto place_of = [](const auto& block) { return place([&] { block->fc(wrong); }); };
  CHECK(place_of(old) == "in Net.block.fc: ");
  net->replace_module("block", Block());
  CHECK(place_of(old) == "in Block.fc: ");
  const auto last = std::dynamic_pointer_cast<BlockImpl>(net->list->ptr(1));
  net->list->insert(0, Block());
  CHECK(place_of(last) == "in Net.list.2.fc: ");
  net->unregister_module("list");
  CHECK(place_of(last) == "in ModuleList.2.fc: ");
}

TEST_CASE("a copy, which shares the modules of the original, is one of their parents") {
  const Block block;
  Block copy(std::make_shared<BlockImpl>(*block));
  CHECK_THROWS_WITH_AS(copy(ones({2, 5})), doctest::Contains("in Block.fc: linear: "), Error);
}

TEST_CASE("the modules of a clone are in the clone") {
  struct TreeImpl : nn::Cloneable<TreeImpl> {
    TreeImpl() { TreeImpl::reset(); }
    void reset() override {
      inner = register_module("inner", nn::Sequential(nn::ReLU(), nn::Sequential(nn::Linear(4, 4))));
    }
    Tensor forward(const Tensor& x) { return inner(x); }
    nn::Sequential inner{nullptr};
  };
  TANDEM_MODULE(Tree);
  auto tree = std::make_shared<TreeImpl>();
  const auto copy = std::dynamic_pointer_cast<TreeImpl>(tree->clone());
  CHECK(place([&] { tree->forward(wrong); }) == "in Tree.inner.1.0: ");
  tree = nullptr;
  CHECK(place([&] { copy->forward(wrong); }) == "in Tree.inner.1.0: ");
}
