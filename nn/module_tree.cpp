// The tree of modules: children, their links to their parents, and which module an error came from:
// "in Net.layer1.0.conv1: ".
//
// The innermost call names the path up to the root through the links that children hold to their parents, so the path
// is also complete where `net->forward(x)` was called without the holder. Where the links end (no parent, or several),
// the calls further out continue, which know through which parent they came.
#include <algorithm>
#include <mutex>
#include <typeinfo>
#include <unordered_set>

#include "tandem/nn/any_value.h"
#include "tandem/nn/call.h"
#include "tandem/nn/child_observer.h"

namespace tandem::nn {

void detail::check_name(const char* what, const std::string& name) {
  check(!name.empty(), what, " name must not be empty");
  check(name.find('.') == std::string::npos, what, " name must not contain a dot (got '", name, "')");
}

/// Of a module that has or had children; they share it.
struct detail::ParentLink {
  const Module* module;  // null once it is destroyed
};

/// Access to the tree, for this file.
struct detail::ModuleTree {
  // Guards all links, and the children of linked modules: a thread may register a module in a second parent while
  // another thread calls it through the first. No module may be destroyed under the lock: its destructor takes it.
  static constinit inline std::mutex mutex;

  static const std::string* key_of(const Module& parent, const Module& child) {
    for (const auto& item : parent.children_)
      if (item.value().get() == &child) return &item.key();
    return nullptr;
  }
  /// The only parent, or null.
  static const Module* parent_of(const Module& module) {
    const Module* only = nullptr;
    for (const auto& link : module.parents_) {
      if (link->module == nullptr || key_of(*link->module, module) == nullptr) continue;  // destroyed, or replaced
      if (only != nullptr) return nullptr;
      only = link->module;
    }
    return only;
  }
  /// Prepends the names from the root down to `module`, and adds it and its parents.
  static void climb(const Module& module, ErrorPlace& place) {
    const Module* at = &module;
    place.modules.push_back(at);
    while (const Module* parent = parent_of(*at)) {
      prepend(*key_of(*parent, *at), place);
      place.modules.push_back(at = parent);
    }
    place.root = span_name(*at);
  }
  static void prepend(const std::string& name, ErrorPlace& place) {
    place.path = place.path.empty() ? name : name + "." + place.path;
  }
  /// Prepends the names from `from` down to `to`, and adds the modules between them.
  static bool descend(const Module& from, const void* to, ErrorPlace& place, std::unordered_set<const void*>& seen) {
    for (const auto& child : from.children_) {
      const Module& module = *child.value();
      if (&module != to && (!seen.insert(&module).second || !descend(module, to, place, seen))) continue;
      if (&module != to) place.modules.push_back(&module);
      prepend(child.key(), place);
      return true;
    }
    return false;
  }
};

Module::~Module() {
  if (link_ == nullptr) return;
  const std::lock_guard lock(detail::ModuleTree::mutex);
  link_->module = nullptr;
}

void Module::link(Module& child) {
  auto& parents = child.parents_;
  std::erase_if(parents, [](const auto& link) { return link->module == nullptr; });
  if (link_ == nullptr) link_ = std::make_shared<detail::ParentLink>(detail::ParentLink{this});
  if (std::find(parents.begin(), parents.end(), link_) == parents.end()) parents.push_back(link_);
}

Module& Module::operator=(const Module& other) {
  if (this == &other) return *this;
  parameters_ = other.parameters_;
  buffers_ = other.buffers_;
  name_ = other.name_;
  is_training_ = other.is_training_;
  hooks_ = other.hooks_ ? std::make_shared<detail::ForwardHooks>(*other.hooks_) : nullptr;
  auto children = other.children_;
  const std::lock_guard lock(detail::ModuleTree::mutex);
  std::swap(children_, children);
  for (const auto& child : children_) link(*child.value());
  return *this;
}

void Module::check_child(const std::string& name, const Module& module) const {
  std::unordered_set<const Module*> seen;
  std::string path = name;
  const auto leads_here = [&](const Module& at, const auto& self) -> bool {
    if (&at == this) return true;
    if (at.children_.is_empty() || !seen.insert(&at).second) return false;
    for (const auto& child : at.children_) {
      const std::size_t length = path.size();
      path += "." + child.key();
      if (self(*child.value(), self)) return true;
      path.resize(length);
    }
    return false;
  };
  if (!leads_here(module, leads_here)) return;
  const std::string own = name_ ? *name_ : detail::type_name(typeid(*this));
  fail("Submodule '", name, "' of ", own, " would close a cycle: '", path,
       "' is the module itself. Its parameters would be enumerated forever and its memory never freed; "
       "store a raw or weak pointer to a parent instead of registering it");
}

namespace {

thread_local detail::ChildObserver* observer = nullptr;

}  // namespace

detail::ChildObserver::ChildObserver() : outer_(observer) { observer = this; }
detail::ChildObserver::~ChildObserver() { observer = outer_; }
detail::ChildObserver* detail::ChildObserver::current() { return observer; }

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  detail::check_name("Submodule", name);
  check(module != nullptr, "Submodule '", name, "' must not be empty");
  check(!parameters_.contains(name) && !buffers_.contains(name), "Submodule '", name,
        "' already defined as a parameter or a buffer");
  check_child(name, *module);
  const std::shared_ptr<Module> kept = module;
  {
    const std::lock_guard lock(detail::ModuleTree::mutex);
    link(*children_.insert(std::move(name), std::move(module)));
  }
  if (observer != nullptr) observer->added(*this, *kept);
}
void Module::set_child(const std::string& name, std::shared_ptr<Module> module) {
  check(module != nullptr, "Submodule '", name, "' must not be empty");
  check_child(name, *module);
  std::shared_ptr<Module>& place = children_[name];
  const std::lock_guard lock(detail::ModuleTree::mutex);
  place.swap(module);
  link(*place);
}
void Module::unregister_module(const std::string& name) {
  check(children_.contains(name), "No Module with name `", name, "` is registered");
  const std::shared_ptr<Module> kept = children_[name];
  const std::lock_guard lock(detail::ModuleTree::mutex);
  children_.erase(name);
}

void detail::locate(Error& error, const Module& module) noexcept try {
  if (error.is_shared()) return;
  ErrorPlace place = error.place();
  if (std::find(place.modules.begin(), place.modules.end(), &module) != place.modules.end()) return;
  const std::lock_guard lock(ModuleTree::mutex);
  if (!place.modules.empty()) {
    std::unordered_set<const void*> seen;
    if (!ModuleTree::descend(module, place.modules.back(), place, seen))
      ModuleTree::prepend("<" + place.root + ">", place);  // not registered
  }
  ModuleTree::climb(module, place);
  error.set_place(std::move(place));
} catch (...) {  // no memory: the error keeps its message
}

}  // namespace tandem::nn
