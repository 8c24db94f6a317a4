// NameTable: the two-way binding of names and dense slots. Names live here and at the edges only.
#ifndef GPUSCHED_STATE_NAME_TABLE_H_
#define GPUSCHED_STATE_NAME_TABLE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace gpusched {

// Lookups are O(1). The map is never iterated, so its order reaches no decision and no output.
class NameTable {
 public:
  NameTable() = default;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  // The index points into the names, so a copy gets its own.
  NameTable(const NameTable& other) : names_(other.names_) {
    slots_.reserve(other.slots_.size());
    for (std::uint32_t slot = 0; slot < names_.size(); ++slot) {
      const auto it = other.slots_.find(std::string_view(other.names_[slot]));
      if (it != other.slots_.end() && it->second == slot) Rebind(slot);
    }
  }
  NameTable& operator=(const NameTable&) = delete;

  std::optional<std::uint32_t> Find(std::string_view name) const {
    const auto it = slots_.find(name);
    if (it == slots_.end()) return std::nullopt;
    return it->second;
  }

  // The name last bound to the slot, even after Unbind; empty if there was none.
  std::string_view name(std::uint32_t slot) const {
    return slot < names_.size() ? std::string_view(names_[slot]) : std::string_view();
  }

  // Binds a name that is not bound to a slot that is not bound.
  void Bind(std::string_view name, std::uint32_t slot) {
    if (slot >= names_.size()) names_.resize(slot + std::size_t{1});
    names_[slot].assign(name);
    slots_.emplace(std::string_view(names_[slot]), slot);
  }

  // The slot is that of something without a name. Rebind and Unbind then do nothing.
  void BindNothing(std::uint32_t slot) {
    if (slot < names_.size()) names_[slot].clear();
  }

  // Binds the name that the slot had before.
  void Rebind(std::uint32_t slot) {
    if (!name(slot).empty()) slots_.emplace(std::string_view(names_[slot]), slot);
  }

  void Unbind(std::uint32_t slot) {
    if (!name(slot).empty()) slots_.erase(std::string_view(names_[slot]));
  }

 private:
  std::deque<std::string> names_;  // by slot; a deque, because the index points into it
  absl::flat_hash_map<std::string_view, std::uint32_t> slots_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_NAME_TABLE_H_
